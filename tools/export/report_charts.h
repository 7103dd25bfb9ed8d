#pragma once

#include <string>

#include "tools/export/report_run.h"

// The pictures of a report, each in HTML with its legend; empty where the run has nothing to show in it.

namespace rehearse {

// The loss by step: what stands as a line, what was undone in dashes, with an arc for each way back; held-out losses as
// dots.
std::string loss_chart(const ReportRun& run);
// Two runs' losses over each other.
std::string loss_chart(const ReportRun& a, const ReportRun& b);
// Each step that stands, cut into what its ranks did, averaged over ranks.
std::string step_chart(const ReportRun& run);
// Simulated time as a whole, cut in the same way, beside what was lost and the time in which the job was down.
std::string time_table(const ReportRun& run);
// Each rank's bytes, kind by kind.
std::string memory_chart(const ReportRun& run);
// Each rank's phases in one step.
std::string gantt_chart(const ReportRun& run);
// Bytes from each rank to each other.
std::string heat_map(const ReportRun& run);
// Faults, recoveries and guards over the whole time.
std::string event_chart(const ReportRun& run);

}  // namespace rehearse
