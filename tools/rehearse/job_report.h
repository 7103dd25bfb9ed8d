#pragma once

#include <string>
#include <vector>

#include "sim/cluster/job_model.h"
#include "sim/cluster/verdicts.h"
#include "tools/rehearse/console.h"

namespace rehearse {

// What is known when a job is over.
struct FinishedJob {
  const Scenario* scenario = nullptr;
  JobRecord record;
  std::vector<Verdict> verdicts;
  ExitCode exit_code = ExitCode::kDone;
  double wall_seconds = 0;
};

// What is about to run: as header_report, for a scenario with a job.
std::string job_header(const Scenario& scenario, const Style& style);
// What came of it: failures by cause, recoveries, where the time went, how often to save, and the totals.
std::string job_report(const FinishedJob& job, const std::string& repeat, const Style& style);
// summary.json, with the names of any other run's where it has the same.
std::string write_job_summary(const FinishedJob& job);

// Failures of one cause.
struct CauseCount {
  std::string cause;
  FailureKind kind = FailureKind::kProcess;
  std::int64_t failures = 0;
};
// The most frequent first.
std::vector<CauseCount> failures_by_cause(const JobRecord& record);

}  // namespace rehearse
