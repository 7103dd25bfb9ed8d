#include "tools/rehearse/report.h"

#include <algorithm>

#include "sim/cluster/interval_report.h"
#include "tools/rehearse/interval_lines.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/straggler_lines.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

// The line of the run's main promise, where the scenario asks for it.
std::string resume_line(const FinishedRun& run, const Style& style) {
  const std::optional<std::int64_t>& from = run.scenario->expect.resume_from;
  if (!from) return "";
  const auto verdict = std::find_if(run.verdicts.begin(), run.verdicts.end(),
                                    [](const Verdict& one) { return one.name.starts_with("resume_from"); });
  if (verdict == run.verdicts.end()) return "";
  const std::string steps =
      "continued from step " + std::to_string(*from) + " to " + std::to_string(run.scenario->train.steps);
  std::string line = "\n";
  line += verdict->held ? style.good("RESUME VERIFIED") : style.bad("RESUME FAILED");
  return line + (verdict->held ? ": " + steps + ", weights and losses byte-equal\n" : ": " + verdict->detail + "\n");
}

std::string outcome_text(const FinishedRun& run, const Style& style) {
  const int code = static_cast<int>(run.exit_code);
  std::string text = name_of(run.record.outcome);
  if (!run.record.failure.empty()) text += ": " + run.record.failure;
  text += " (exit code " + std::to_string(code) + ")";
  return code == 0 ? style.good(text) : style.bad(text);
}

}  // namespace

std::string result_report(const FinishedRun& run, const std::string& repeat, const Style& style) {
  const TrainingRecord& record = run.record;
  const bool cost_only = run.scenario->cost_only;
  std::string out = (cost_only ? step_table(record, style) : loss_table(record, style)) + memory_table(run, style) +
                    communication_table(record, style) + transport_lines(record, style) +
                    checkpoint_table(record, style) + fault_lines(record, style) +
                    straggler_lines(struck_lemons(*run.scenario, failures_of(record)), record.stragglers, style) +
                    interval_lines(interval_report(*run.scenario, record), style) + deadlock_table(record, style) +
                    verdict_lines(run, style) + resume_line(run, style) + "\n";
  out += field_line("outcome", outcome_text(run, style));
  out += field_line("simulated", to_string(record.simulated.since_start()) + " in " + decimals(run.wall_seconds, 3) +
                                     " s of wall time");
  out +=
      field_line("traffic", grouped(record.messages) + " messages, " + grouped(record.bytes_on_wire.count()) +
                                " bytes on the wire, " + grouped(static_cast<std::int64_t>(record.events)) + " events");
  // Names of summary.json, whole, so that a script may look for them.
  if (!record.weights_sha256.empty()) out += "  weights_sha256  " + record.weights_sha256 + "\n";
  if (!record.event_digest.empty()) out += "  event_digest    " + record.event_digest + "\n";
  out += field_line("repeat", repeat);
  return out;
}

}  // namespace rehearse
