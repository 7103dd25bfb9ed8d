#pragma once

#include <string>

#include "tools/rehearse/console.h"
#include "tools/rehearse/summary.h"

namespace rehearse {

// What came of a run, for people: losses, memory, communication, checkpoints, what was expected, and the totals.
// `repeat` is the command that runs the same again.
std::string result_report(const FinishedRun& run, const std::string& repeat, const Style& style);

// The parts, each with its title and a blank line before it; empty where the run has none of it.
std::string loss_table(const TrainingRecord& record, const Style& style);
// Of a run without numbers.
std::string step_table(const TrainingRecord& record, const Style& style);
std::string memory_table(const FinishedRun& run, const Style& style);
std::string communication_table(const TrainingRecord& record, const Style& style);
std::string transport_lines(const TrainingRecord& record, const Style& style);
std::string checkpoint_table(const TrainingRecord& record, const Style& style);
// Faults and recoveries in the order of time.
std::string fault_lines(const TrainingRecord& record, const Style& style);
std::string deadlock_table(const TrainingRecord& record, const Style& style);
std::string verdict_lines(const FinishedRun& run, const Style& style);

}  // namespace rehearse
