#include "tools/rehearse/recording.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/checkpoint/names.h"
#include "sim/config/loader.h"
#include "sim/config/reshard.h"
#include "sim/trace/log_reader.h"
#include "tools/rehearse/build_info.h"
#include "tools/rehearse/checkpoint_directory.h"
#include "tools/rehearse/own_files.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

std::string in(const std::string& directory, const char* name) { return (fs::path(directory) / name).string(); }

// A log of another scenario, in its place.
void check_header(const Recording& recording) {
  const Scenario& scenario = recording.scenario;
  const auto compare = [&](const char* name, const std::string& found, const std::string& wanted) {
    if (found == wanted) return;
    throw InputError(recording.events_path + ": is damaged: the header says " + name + " " + found +
                     ", the scenario beside it " + wanted);
  };
  compare("scenario", recording.header.scenario, scenario.name);
  compare("arithmetic_sha256", recording.header.arithmetic_sha256, scenario.arithmetic_sha256);
  compare("seed", std::to_string(recording.header.seed), std::to_string(scenario.seed));
  compare("ranks", std::to_string(recording.header.ranks), std::to_string(scenario.ranks));
}

}  // namespace

bool is_recording(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(in(path, kEventsFile), error);
}

Recording read_recording(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) throw InputError("cannot read " + path + ": it is no directory");
  Recording recording;
  recording.path = path;
  recording.events_path = in(path, kEventsFile);
  if (!is_recording(path)) {
    throw InputError("cannot read " + recording.events_path + ": no such file; a run leaves it with --out");
  }
  LogReader log(recording.events_path, &recording.altered);
  EventRecord record;
  while (log.next(record)) {
  }
  recording.header = log.header();
  recording.outcome = log.outcome();
  recording.records = log.records();
  recording.event_digest = log.event_digest();
  constexpr std::array kOutcomes = {Outcome::kDone, Outcome::kStopped, Outcome::kFailed, Outcome::kDeadlock,
                                    Outcome::kInterrupted};
  if (std::none_of(kOutcomes.begin(), kOutcomes.end(),
                   [&](Outcome outcome) { return name_of(outcome) == recording.outcome; })) {
    throw InputError(recording.events_path + ": is damaged: it ends with the outcome \"" + recording.outcome + "\"");
  }

  const std::string scenario_path = in(path, kScenarioFile);
  recording.scenario = load_scenario(scenario_path);
  if (recording.scenario.scenario_sha256 != recording.header.scenario_sha256) {
    throw InputError(scenario_path + ": it, or a file it names, is not what was recorded: its SHA-256 is " +
                     recording.scenario.scenario_sha256 + ", that of the run " + recording.header.scenario_sha256);
  }
  check_header(recording);
  if (recording.header.resumed_from.has_value()) {
    const std::string start = in(path, kResumedFromFolder);
    CheckpointOnDisk checkpoint = read_checkpoint_directory(start);
    if (checkpoint.manifest.step != *recording.header.resumed_from) {
      throw InputError(start + ": is of step " + std::to_string(checkpoint.manifest.step) +
                       "; the run continued from " + std::to_string(*recording.header.resumed_from));
    }
    recording.resume.emplace();
    recording.resume->step = checkpoint.manifest.step;
    if (checkpoint.manifest.arithmetic_sha256 != recording.scenario.arithmetic_sha256) {
      const Scenario saved = load_checkpoint_scenario(checkpoint, start);
      if (job_sha256(saved) == job_sha256(recording.scenario)) {
        recording.resume->reshard_from = saved.arithmetic_sha256;
      }
    }
    recording.resume->files = std::move(checkpoint.files);
  }
  return recording;
}

LogHeader make_log_header(const Scenario& scenario, const std::optional<ResumeFrom>& resume) {
  LogHeader header;
  header.scenario = scenario.name;
  header.scenario_sha256 = scenario.scenario_sha256;
  header.arithmetic_sha256 = scenario.arithmetic_sha256;
  header.seed = scenario.seed;
  header.ranks = scenario.ranks;
  if (resume.has_value()) header.resumed_from = resume->step;
  header.build = build_id();
  header.cpu = cpu_name();
  return header;
}

std::string changed_since(const LogHeader& header) {
  std::string text;
  if (header.build != build_id()) text += "another build of rehearse (it was " + header.build + ")";
  if (header.cpu != cpu_name()) {
    text += (text.empty() ? "" : " and ") + ("another processor (it was " + header.cpu + ")");
  }
  return text;
}

}  // namespace rehearse
