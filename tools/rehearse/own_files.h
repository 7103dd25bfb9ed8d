#pragma once

#include <string>
#include <vector>

namespace rehearse {

// What a run writes in its directory, beside scenario.textproto and inputs/.
inline constexpr const char* kSummaryFile = "summary.json";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kEventsFile = "events.bin";
// What is made of a run's directory, or beside it, and may stand in it.
inline constexpr const char* kTraceFile = "trace.json";
inline constexpr const char* kReportFile = "report.html";
inline constexpr const char* kResumedFromFolder = "resumed_from";
inline constexpr const char* kCheckpointsFolder = "checkpoints";

// What in a directory was not written by a run with --out, and so is not ours to delete: paths relative to `directory`,
// each with what is wrong with it; empty where all of it is a run's. A directory is a run's by what only a run writes,
// a summary.json, metrics.jsonl or events.bin of ours; then inputs/ may hold what its scenario.textproto names,
// checkpoints/ and resumed_from/ what a checkpoint is made of; a trace.json and a report.html that begin as ours are a
// run's, too. Symbolic links are never a run's. Throws
// std::filesystem::filesystem_error where the directory cannot be read.
//
// Not covered: a file that bears a run's name in a run's directory, but was changed since.
std::vector<std::string> foreign_entries(const std::string& directory);

// Names of a run's directory, and the order in which they go: the summary first, because a directory that has one is
// complete; the metrics and events last, so that what an interrupted removal leaves is still known as a run's.
std::vector<std::string> in_order_of_removal(std::vector<std::string> names);

}  // namespace rehearse
