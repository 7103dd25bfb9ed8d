#pragma once

#include <string>

#include "tools/export/report_run.h"

// The words and tables of a report in HTML; empty where the run has nothing to say in one.

namespace rehearse {

// How the run ended, in a line.
std::string outcome_line(const ReportRun& run);
// The numbers that people look for first.
std::string tiles(const ReportRun& run);
std::string expectation_table(const ReportRun& run);
// Largest and mean bytes of a rank.
std::string memory_table(const ReportRun& run);
// Each operation's calls, messages, bytes and time, with messages and bytes by formula beside them.
std::string communication_table(const ReportRun& run);
// Faults, guards and recoveries in the order of time.
std::string event_table(const ReportRun& run);
// Of a job that is counted, where its time went.
std::string job_time_table(const ReportRun& run);
// What both summaries have, number by number.
std::string comparison_table(const ReportRun& a, const ReportRun& b);

}  // namespace rehearse
