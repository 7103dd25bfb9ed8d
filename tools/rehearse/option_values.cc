#include "tools/rehearse/option_values.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "core/base/error.h"

namespace rehearse {
namespace {

constexpr std::uint64_t kMostSeeds = 1'000'000;
constexpr int kMostJobs = 1024;

}  // namespace

void refuse(const std::string& command, const std::string& what) {
  throw InputError(command + ": " + what + "; see 'rehearse " + command + " --help'");
}

std::uint64_t parse_seed(const std::string& command, const std::string& text, const std::string& option) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse(command, option + ": found '" + text + "'; allowed: a whole number from 0 to 18446744073709551615");
  }
  return seed;
}

int parse_jobs(const std::string& command, const std::string& text) {
  int jobs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (error != std::errc() || end != text.data() + text.size() || jobs < 1 || jobs > kMostJobs) {
    refuse(command, "--jobs: found '" + text + "'; allowed: a whole number from 1 to " + std::to_string(kMostJobs));
  }
  return jobs;
}

ExportOptions::Steps parse_steps(const std::string& command, const std::string& text) {
  const std::size_t dots = text.find("..");
  ExportOptions::Steps steps;
  const auto number = [](std::string_view digits, std::int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const std::string_view whole = text;
  const bool read = dots != std::string::npos && number(whole.substr(0, dots), steps.first) &&
                    number(whole.substr(dots + 2), steps.last);
  if (!read || steps.first < 1 || steps.last < steps.first) {
    refuse(command, "--trace-steps: found '" + text + "'; allowed: the first and the last step, as in 10..12");
  }
  return steps;
}

Sweep parse_sweep(const std::string& command, const std::string& text) {
  Sweep sweep;
  const std::size_t equals = text.find('=');
  sweep.path = text.substr(0, equals);
  for (std::size_t start = equals; start != std::string::npos;) {
    const std::size_t end = text.find(',', start + 1);
    sweep.values.push_back(text.substr(start + 1, end == std::string::npos ? end : end - start - 1));
    start = end;
  }
  const bool empty = std::any_of(sweep.values.begin(), sweep.values.end(), [](const auto& one) { return one.empty(); });
  if (sweep.path.empty() || sweep.values.empty() || empty) {
    refuse(command, "--sweep: found '" + text + "'; allowed: a field and its values, as in path=a,b,c");
  }
  return sweep;
}

void parse_seeds(const std::string& command, const std::string& text, Sweep& sweep) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    refuse(command, "--seeds: found '" + text + "'; allowed: the first and the last, as in 1..16");
  }
  sweep.first_seed = parse_seed(command, text.substr(0, dots), "--seeds");
  sweep.last_seed = parse_seed(command, text.substr(dots + 2), "--seeds");
  if (sweep.last_seed < *sweep.first_seed) {
    refuse(command, "--seeds: found '" + text + "'; allowed: the first and the last, as in 1..16");
  }
  if (sweep.last_seed - *sweep.first_seed >= kMostSeeds) {
    refuse(command, "--seeds: found '" + text + "'; allowed: at most " + std::to_string(kMostSeeds) + " seeds");
  }
}

}  // namespace rehearse
