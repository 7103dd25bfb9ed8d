#include "tools/rehearse/fuzz_command.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <limits>
#include <optional>

#include "core/base/error.h"
#include "sim/config/origins.h"
#include "tools/rehearse/option_values.h"

namespace rehearse {
namespace {

namespace po = boost::program_options;

constexpr std::int64_t kMostMinutes = 100'000;
constexpr std::uint64_t kMostSeeds = 100'000'000;

[[noreturn]] void refuse(const std::string& what) { rehearse::refuse("fuzz", what); }

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::int64_t whole_number(const std::string& option, const std::string& text, std::int64_t most) {
  const std::optional<std::int64_t> number = number_of<std::int64_t>(text);
  if (!number || *number < 1 || *number > most) {
    refuse(option + ": found '" + text + "'; allowed: a whole number from 1 to " + std::to_string(most));
  }
  return *number;
}

void parse_seeds(const std::string& text, FuzzCommand& command) {
  const std::size_t dots = text.find("..");
  std::optional<std::uint64_t> first;
  std::optional<std::uint64_t> last;
  if (dots != std::string::npos) {
    first = number_of<std::uint64_t>(text.substr(0, dots));
    last = number_of<std::uint64_t>(text.substr(dots + 2));
  }
  if (!first || !last || *last < *first || *last == std::numeric_limits<std::uint64_t>::max()) {
    refuse("--seeds: found '" + text + "'; allowed: the first and the last, as in 1..1000");
  }
  if (*last - *first >= kMostSeeds) {
    refuse("--seeds: found '" + text + "'; allowed: at most " + std::to_string(kMostSeeds) + " seeds");
  }
  command.first_seed = *first;
  command.last_seed = *last;
}

po::variables_map read_options(const std::vector<std::string>& words) {
  po::options_description all;
  auto add = all.add_options();
  add("help,h", "");
  for (const char* name : {"seeds", "jobs", "minutes", "out", "replay", "format"}) add(name, po::value<std::string>());
  const po::positional_options_description no_positions;
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(words).options(all).positional(no_positions).style(style).run(), values);
  } catch (const po::unknown_option& error) {
    const std::string option = error.get_option_name().substr(0, error.get_option_name().find('='));
    refuse("unknown option '" + option + "'; " + suggestion(option, fuzz_option_names()));
  } catch (const po::multiple_occurrences& error) {
    refuse(error.get_option_name() + " is given more than once");
  } catch (const po::too_many_positional_options_error&) {
    refuse("takes options alone, as in --seeds 1..1000");
  } catch (const po::error& error) {
    refuse(error.what());
  }
  return values;
}

}  // namespace

std::vector<std::string> fuzz_option_names() {
  return {"--format", "--help", "--jobs", "--minutes", "--out", "--replay", "--seeds"};
}

std::optional<FuzzCommand> parse_fuzz(const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), "--help") != words.end()) return std::nullopt;
  const po::variables_map values = read_options(words);
  if (values.count("help") != 0) return std::nullopt;
  FuzzCommand command;
  const auto text_of = [&values](const char* name) { return values[name].as<std::string>(); };
  const bool replays = values.count("replay") != 0;
  if (replays == (values.count("seeds") != 0)) refuse("needs --seeds A..B, or --replay SEED, and takes one of the two");
  if (!replays) parse_seeds(text_of("seeds"), command);
  if (replays) command.replay = text_of("replay");
  if (replays && command.replay.empty()) refuse("--replay: found nothing; allowed: a seed, or the path of a scenario");
  if (!command.replay.empty() && command.replay.find_first_not_of("0123456789") == std::string::npos &&
      !number_of<std::uint64_t>(command.replay)) {
    refuse("--replay: found '" + command.replay + "'; allowed: a seed up to 18446744073709551615, or a path");
  }
  for (const char* name : {"jobs", "minutes"}) {
    if (replays && values.count(name) != 0) refuse(std::string("--") + name + " has no meaning with --replay");
  }
  if (values.count("jobs") != 0) command.jobs = parse_jobs("fuzz", text_of("jobs"));
  if (values.count("minutes") != 0) command.minutes = whole_number("--minutes", text_of("minutes"), kMostMinutes);
  if (values.count("out") != 0) {
    command.out = text_of("out");
    if (command.out.empty()) refuse("--out: found an empty path");
  }
  if (values.count("format") == 0) return command;
  const std::string format = text_of("format");
  if (format != "text" && format != "json") refuse("--format: found '" + format + "'; allowed: text, json");
  command.format = format == "json" ? Format::kJson : Format::kText;
  return command;
}

}  // namespace rehearse
