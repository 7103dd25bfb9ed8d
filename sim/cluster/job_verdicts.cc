#include "sim/cluster/job_verdicts.h"

#include <algorithm>

namespace rehearse {
std::vector<Verdict> judge_job(const Scenario& scenario, const JobRecord& record) {
  const Expectations& expect = scenario.expect;
  std::vector<Verdict> verdicts;
  judge_outcome(expect, record.outcome, record.failure, verdicts);
  judge_restarts(expect, std::ssize(record.recoveries), verdicts);
  judge_cause(expect, record.failure, record.recoveries, verdicts);
  judge_work(expect, record.lost_steps, goodput_of(record), verdicts);
  judge_final_step(expect, record.steps, verdicts);
  judge_event_digest(expect, record.event_digest, verdicts);
  return verdicts;
}

Verdict judge_second_run(const JobRecord& first, const JobRecord& second) {
  const bool same = first.event_digest == second.event_digest && first.simulated == second.simulated;
  Verdict verdict;
  verdict.name = "determinism";
  verdict.held = same;
  verdict.detail = same ? "a second run had the same events" : "a second run had other events";
  return verdict;
}

ExitCode exit_code_of(const std::vector<Verdict>& verdicts) {
  const bool held = std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& one) { return one.held; });
  return held ? ExitCode::kDone : ExitCode::kExpectationFailed;
}

}  // namespace rehearse
