#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/export/phase_times.h"

namespace rehearse {

// Messages and bytes of one operation by formula: at the start, and a step.
struct FormulaTraffic {
  std::string operation;
  std::int64_t start_messages = 0;
  std::int64_t start_bytes = 0;
  std::int64_t step_messages = 0;
  std::int64_t step_bytes = 0;
};

// What a run left in a directory, as texts.
struct ReportInput {
  std::string name;      // of the directory
  std::string summary;   // summary.json
  std::string metrics;   // metrics.jsonl; empty for a job that is counted
  std::string scenario;  // scenario.textproto
  std::string header;    // what ran, as the run's own first lines say it
  std::optional<PhaseTimes> phases;
  std::vector<FormulaTraffic> formulas;  // empty where there are none
  std::vector<std::string> repeat;       // commands
};

// The step to show rank by rank: of those that count, the one whose time is the median; not one of every `saves_every`,
// after which a checkpoint is saved, where there are others (0: none is). 0 where there is no step. Throws as
// write_report does.
std::int64_t typical_step(const ReportInput& input, std::int64_t saves_every);

// One page in HTML that needs nothing else: no network, no other file. Numbers are those of the summary, which is in
// the page as it is; an element with data-field="F" shows the summary's value of F, which stands in data-value as JSON.
// Light and dark by the reader's setting. Throws InputError where summary or metrics are not a run's.
std::string write_report(const ReportInput& input);

// The same for two runs beside each other.
std::string write_comparison(const ReportInput& a, const ReportInput& b);

}  // namespace rehearse
