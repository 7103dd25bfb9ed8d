#include "tools/rehearse/replay_job.h"

#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/checkpoint/names.h"
#include "sim/cluster/job_model.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/job_report.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/own_files.h"
#include "tools/rehearse/report_header.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

// What a run of a job left of itself.
struct RecordedJob {
  std::string outcome;
  std::string event_digest;
};

RecordedJob read_recorded_job(const Scenario& scenario, const std::string& path) {
  const Json json = parse_json_or_discarded(read_real_file(path, kInputFileLimit));
  const auto text = [&](const char* name) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    if (!json.is_object() || found == json.end() || !found->is_string()) {
      throw InputError(path + ": is damaged: it has no " + name);
    }
    return found->get<std::string>();
  };
  if (text("scenario_sha256") != scenario.scenario_sha256) {
    throw InputError(path + ": is of another scenario than the one beside it: its scenario_sha256 is " +
                     text("scenario_sha256") + ", the scenario's " + scenario.scenario_sha256);
  }
  RecordedJob recorded;
  recorded.outcome = text("outcome");
  recorded.event_digest = text("event_digest");
  if (recorded.outcome == name_of(Outcome::kInterrupted)) {
    throw InputError(path + ": is of a job that was interrupted; only one that ended is counted again");
  }
  return recorded;
}

}  // namespace

std::optional<Scenario> recorded_job(const std::string& directory) {
  std::error_code error;
  const std::string scenario_path = (fs::path(directory) / kScenarioFile).string();
  if (!fs::is_regular_file(scenario_path, error)) return std::nullopt;
  if (!fs::is_regular_file(fs::path(directory) / kSummaryFile, error)) return std::nullopt;
  Scenario scenario = load_scenario(scenario_path);
  if (!scenario.job.has_value()) return std::nullopt;
  return scenario;
}

ExitCode replay_job(const ReplayCommand& command, const Scenario& scenario, Console& console) {
  const Style style(console.colors);
  const bool text = command.format == Format::kText;
  const RecordedJob recorded = read_recorded_job(scenario, (fs::path(command.directory) / kSummaryFile).string());
  if (text) console.out << job_header(scenario, style) << std::flush;
  const JobRecord record = run_job(scenario, nullptr, console.interrupted);
  if (record.outcome == Outcome::kInterrupted) return ExitCode::kInterrupted;
  const bool same = record.event_digest == recorded.event_digest && name_of(record.outcome) == recorded.outcome;
  if (!text) {
    Json json;
    json["scenario"] = scenario.name;
    json["identical"] = same;
    json["recorded"] = Json{{"outcome", recorded.outcome}, {"event_digest", recorded.event_digest}};
    json["now"] = Json{{"outcome", name_of(record.outcome)}, {"event_digest", record.event_digest}};
    console.out << json.dump(2) << "\n";
    return same ? ExitCode::kDone : ExitCode::kExpectationFailed;
  }
  if (same) {
    console.out << "\n" + style.good("REPRODUCED") + ": every event of the job as it was\n  event_digest    " +
                       record.event_digest + "\n";
    return ExitCode::kDone;
  }
  console.out << "\n" + style.bad("NOT REPRODUCED") + ": the program or the summary has changed since\n";
  console.out << field_line("recorded", recorded.outcome + ", event_digest " + recorded.event_digest);
  console.out << field_line("now", std::string(name_of(record.outcome)) + ", event_digest " + record.event_digest);
  return ExitCode::kExpectationFailed;
}

}  // namespace rehearse
