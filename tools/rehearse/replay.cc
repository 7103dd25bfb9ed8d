#include <string>

#include "core/model/layout.h"
#include "sim/cluster/world.h"
#include "sim/trace/describe.h"
#include "sim/trace/record_comparison.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/exports.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/recording.h"
#include "tools/rehearse/replay_job.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

struct Replayed {
  std::uint64_t compared = 0;
  std::optional<RecordDifference> difference;
  std::vector<WaitingRow> waiting;
  bool interrupted = false;
  std::optional<TrainingRecord> record;  // where something is exported
};

Replayed run_again(const Recording& recording, Exports& exports, Console& console) {
  std::string known = recording.altered;
  LogReader log(recording.events_path, &known);
  Replayed replayed;
  RecordComparison comparison(log);
  TrainingHooks hooks;
  hooks.listeners = {&comparison};
  hooks.on_step = [&exports](const StepRecord& step, std::int64_t) { exports.on_step(step); };
  hooks.on_checkpoint = [&exports](const CheckpointRecord& checkpoint) { exports.on_checkpoint(checkpoint); };
  hooks.on_recovery = [&exports](const RecoveryRecord& recovery) { exports.on_recovery(recovery); };
  exports.attach(hooks);
  TrainingSession session(recording.scenario, recording.resume, hooks);
  // The recording of a run that was interrupted ends where the run did.
  const auto all_compared = [&] {
    return recording.outcome == name_of(Outcome::kInterrupted) && comparison.compared() >= recording.records;
  };
  // One event at a time, so that what the ranks were doing is seen where it differs.
  while (!comparison.difference().has_value() && !all_compared() && session.advance(1)) {
    replayed.interrupted = console.interrupted();
    if (replayed.interrupted) break;
  }
  if (comparison.difference().has_value()) replayed.waiting = session.waiting();
  if (!replayed.interrupted && !all_compared()) comparison.finish();
  replayed.compared = comparison.compared();
  replayed.difference = comparison.difference();
  if (exports.any()) replayed.record = session.finish();
  return replayed;
}

std::string likely_cause(const Recording& recording) {
  if (!recording.altered.empty()) return "the file was changed: " + recording.altered;
  const std::string changed = changed_since(recording.header);
  if (!changed.empty()) return "this is " + changed;
  return "neither program nor processor has changed: please report this as a bug, with the directory";
}

std::string difference_text(const Recording& recording, const Replayed& replayed, const Style& style) {
  const RecordDifference& difference = *replayed.difference;
  const ParameterLayout layout(recording.scenario.train.model);
  std::string out = section_title("The records before", style);
  for (const EventRecord& record : difference.before) out += "  " + describe(record, &layout) + "\n";
  out += section_title("The first that differs, record " + std::to_string(difference.index), style);
  const auto line = [&](const std::optional<EventRecord>& record, const char* none) {
    return (record ? describe(*record, &layout) : std::string(none)) + "\n";
  };
  out += "  recorded  " + line(difference.expected, "nothing: the recording ends here");
  out += "  now       " + line(difference.found, "nothing: the run ends here");
  if (difference.expected && difference.found) {
    out += "  differs in " + differing_fields(*difference.expected, *difference.found) + "\n";
  }
  out += section_title("What each rank was doing", style);
  out += replayed.waiting.empty() ? "  nothing: all have ended\n" : describe_waiting(replayed.waiting);
  out += "\n" + style.bad("NOT REPRODUCED") + ": the likely cause: " + likely_cause(recording) + "\n";
  return out;
}

Json replay_json(const Recording& recording, const Replayed& replayed, bool same) {
  Json json;
  json["scenario"] = recording.header.scenario;
  json["identical"] = same;
  json["records"] = recording.records;
  json["compared"] = replayed.compared;
  if (replayed.difference) {
    const RecordDifference& difference = *replayed.difference;
    Json one;
    one["record"] = difference.index;
    if (difference.expected) one["event"] = difference.expected->sequence;
    if (difference.expected) one["recorded"] = describe(*difference.expected);
    if (difference.found) one["now"] = describe(*difference.found);
    json["difference"] = std::move(one);
    json["likely_cause"] = likely_cause(recording);
  }
  if (!recording.altered.empty()) json["altered"] = recording.altered;
  return json;
}

}  // namespace

ExitCode execute_replay(const ReplayCommand& command, Console& console) {
  const Style style(console.colors);
  const auto job = recorded_job(command.directory);
  if (job && command.exports.any()) {
    throw InputError(
        "replay: --trace and its like are not offered for a job that is counted (job { }): nothing runs on its ranks");
  }
  if (job) return replay_job(command, *job, console);
  const Recording recording = read_recording(command.directory);
  const bool text = command.format == Format::kText;
  if (text) {
    console.out << header_report(recording.scenario, recording.resume ? recording.resume->step : 0, style);
    const std::string changed = changed_since(recording.header);
    if (!changed.empty()) console.out << field_line("note", "this is " + changed);
    console.out << std::flush;
  }
  Exports exports(command.exports, recording.scenario);
  const Replayed replayed = run_again(recording, exports, console);
  if (replayed.interrupted) return ExitCode::kInterrupted;
  const bool same = !replayed.difference.has_value() && recording.altered.empty();
  if (!text) {
    console.out << replay_json(recording, replayed, same).dump(2) << "\n";
  } else if (replayed.difference.has_value()) {
    console.out << difference_text(recording, replayed, style);
  } else if (!same) {
    console.out << "\n" + style.bad("NOT REPRODUCED") +
                       ": every record is as it was, but the file was changed: " + recording.altered + "\n";
  } else {
    console.out << "\n" + style.good("REPRODUCED") + ": " + grouped(static_cast<std::int64_t>(replayed.compared)) +
                       " records, every one as recorded" +
                       (recording.outcome == name_of(Outcome::kInterrupted) ? ", up to where the run was interrupted"
                                                                            : "") +
                       "\n  event_digest    " + recording.event_digest + "\n";
  }
  // What was seen up to a difference is worth a look, too; an export that is refused comes after the verdict.
  if (replayed.record.has_value()) {
    const std::string exported = exports.finish(*replayed.record);
    if (text) console.out << exported;
  }
  return same ? ExitCode::kDone : ExitCode::kExpectationFailed;
}

}  // namespace rehearse
