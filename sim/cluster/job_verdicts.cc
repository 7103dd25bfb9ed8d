#include "sim/cluster/job_verdicts.h"

#include <algorithm>

namespace rehearse {
namespace {

Verdict verdict(const std::string& name, bool held, const std::string& detail) {
  Verdict one;
  one.name = name;
  one.held = held;
  one.detail = detail;
  return one;
}

}  // namespace

std::vector<Verdict> judge_job(const Scenario& scenario, const JobRecord& record) {
  const Expectations& expect = scenario.expect;
  std::vector<Verdict> verdicts;
  std::string ended = std::string("ended ") + name_of(record.outcome);
  if (record.outcome != expect.outcome) ended += std::string(", expected ") + name_of(expect.outcome);
  if (!record.failure.empty()) ended += ": " + record.failure;
  verdicts.push_back(verdict("outcome", record.outcome == expect.outcome, ended));
  if (expect.recoveries.has_value()) {
    const auto found = static_cast<std::int64_t>(record.recoveries.size());
    verdicts.push_back(verdict("recoveries", found == *expect.recoveries,
                               "restarted " + std::to_string(found) + (found == 1 ? " time" : " times")));
  }
  judge_cause(expect, record.failure, record.recoveries, verdicts);
  judge_work(expect, record.lost_steps, goodput_of(record), verdicts);
  if (expect.final_step.has_value()) {
    verdicts.push_back(verdict("final_step", record.steps == *expect.final_step,
                               "last finished step is " + std::to_string(record.steps)));
  }
  if (expect.event_digest.has_value()) {
    const bool held = *expect.event_digest == record.event_digest;
    verdicts.push_back(verdict(
        "event_digest", held,
        held ? "the one that is expected" : "expected " + *expect.event_digest + ", found " + record.event_digest));
  }
  return verdicts;
}

Verdict judge_second_run(const JobRecord& first, const JobRecord& second) {
  const bool same = first.event_digest == second.event_digest && first.simulated == second.simulated;
  return verdict("determinism", same, same ? "a second run had the same events" : "a second run had other events");
}

ExitCode exit_code_of(const std::vector<Verdict>& verdicts) {
  const bool held = std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& one) { return one.held; });
  return held ? ExitCode::kDone : ExitCode::kExpectationFailed;
}

}  // namespace rehearse
