// A RecoveryPolicy of one's own: after each failure the job waits twice as long before it starts again, and gives up
// after the third. Argument: a scenario in which a rank dies.

#include <cstdio>

#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

using namespace rehearse;

namespace {

class PatientPolicy : public StandardPolicy {
 public:
  explicit PatientPolicy(const GuardConfig& guards) : StandardPolicy(guards, 3, Duration()) {}

  RestartDecision on_failure(const JobFailure& failure) const override {
    RestartDecision decision;
    decision.restart = failure.restarts < 3;
    decision.delay = Duration::seconds(std::int64_t{1} << failure.restarts);
    return decision;
  }
};

}  // namespace

int main(int, char** arguments) {
  const Scenario scenario = load_scenario(arguments[1]);
  const PatientPolicy policy(scenario.train.guards);
  TrainingHooks hooks;
  hooks.policy = &policy;
  const TrainingRecord record = run_training(scenario, std::nullopt, hooks);
  if (record.recoveries.size() != 1) return 1;
  const RecoveryRecord& recovery = record.recoveries.front();
  const Duration waited = recovery.restarted - recovery.detected;
  std::printf("%s, %zu steps; started again %s after the failure was heard of\n", name_of(record.outcome),
              record.steps.size(), to_string(waited).c_str());
  // A second, and the time in which the ranks are told to stop.
  const bool as_asked = waited >= Duration::seconds(1) && waited < Duration::milliseconds(1001);
  return record.outcome == Outcome::kDone && as_asked ? 0 : 1;
}
