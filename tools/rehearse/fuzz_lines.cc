#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/base/error.h"
#include "sim/config/loader.h"
#include "tools/rehearse/fuzz.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/real_files.h"
#include "tools/rehearse/version.h"

namespace rehearse {
namespace {

Outcome outcome_of(const std::string& name) {
  for (const Outcome outcome : {Outcome::kDone, Outcome::kStopped, Outcome::kFailed, Outcome::kDeadlock}) {
    if (name == name_of(outcome)) return outcome;
  }
  return Outcome::kInterrupted;
}

std::string first_line() {
  Json json;
  json["results_of"] = "rehearse fuzz";
  json["version"] = version();
  return json.dump();
}

}  // namespace

std::string line_of(const SeedResult& one) {
  Json json;
  json["seed"] = one.seed;
  json["outcome"] = name_of(one.result.outcome);
  json["events"] = one.result.events;
  json["event_digest"] = one.result.event_digest;
  json["reference"] = one.result.reference;
  json["strikes"] = Json::array();
  for (const auto& [kind, phase] : one.result.reached.strikes) json["strikes"].push_back(Json::array({kind, phase}));
  json["paths"] = one.result.reached.paths;
  json["findings"] = Json::array();
  for (const Finding& finding : one.result.findings) {
    Json found;
    found["invariant"] = finding.invariant;
    found["detail"] = finding.detail;
    json["findings"].push_back(std::move(found));
  }
  return json.dump();
}

SeedResult seed_result_of(const std::string& line, const std::string& source) {
  SeedResult one;
  try {
    const Json json = Json::parse(line);
    one.seed = json.at("seed").get<std::uint64_t>();
    one.result.outcome = outcome_of(json.at("outcome").get<std::string>());
    one.result.events = json.at("events").get<std::uint64_t>();
    one.result.event_digest = json.at("event_digest").get<std::string>();
    one.result.reference = json.at("reference").get<std::string>();
    for (const Json& strike : json.at("strikes")) {
      one.result.reached.strikes.emplace(strike.at(0).get<std::string>(), strike.at(1).get<std::string>());
    }
    one.result.reached.paths = json.at("paths").get<std::set<std::string>>();
    for (const Json& found : json.at("findings")) {
      one.result.findings.push_back(
          Finding{found.at("invariant").get<std::string>(), found.at("detail").get<std::string>()});
    }
  } catch (const Json::exception& error) {
    throw InputError(source + ": found a line that is no result of a seed; allowed: what rehearse fuzz has written (" +
                     error.what() + ")");
  }
  return one;
}

ResultsFile::ResultsFile(std::string path) : path_(std::move(path)) {
  if (!std::filesystem::exists(path_)) {
    write_file_atomically(path_, first_line() + "\n");
    return;
  }
  const std::string text = read_real_file(path_, Bytes(std::int64_t{1} << 32));
  const std::string first = first_line();
  if (!text.starts_with(first + "\n")) {
    throw InputError(path_ +
                     ":1: found no results of this version of rehearse fuzz; allowed: a new file, or one that "
                     "begins with " +
                     first);
  }
  // The last line of a campaign that was killed may be cut.
  const std::size_t whole = text.rfind('\n') + 1;
  if (whole < text.size()) write_file_atomically(path_, std::string_view(text).substr(0, whole));
  std::istringstream lines(text.substr(first.size() + 1, whole - first.size() - 1));
  std::string line;
  for (std::int64_t number = 2; std::getline(lines, line); ++number) {
    earlier_.push_back(seed_result_of(line, path_ + ":" + std::to_string(number)));
  }
}

void ResultsFile::append(const std::string& lines) {
  std::ofstream file(path_, std::ios::binary | std::ios::app);
  file << lines << std::flush;
  if (!file) throw RealIoError("cannot write to " + path_);
}

}  // namespace rehearse
