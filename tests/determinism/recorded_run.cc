#include "tests/determinism/recorded_run.h"

#include "core/base/check.h"
#include "sim/config/loader.h"
#include "sim/trace/describe.h"

namespace rehearse::testing_determinism {
namespace {

class Keeper : public EventListener {
 public:
  explicit Keeper(std::vector<EventRecord>& events) : events_(events) {}
  void on_record(const EventRecord& record) override { events_.push_back(record); }

 private:
  std::vector<EventRecord>& events_;
};

class States : public RecordSource {
 public:
  States(const RecordedRun& run, const Wanted& wanted) : events_(run.events), wanted_(wanted) {}
  bool next(EventRecord& record) override {
    while (at_ < events_.size()) {
      record = events_[at_++];
      if (record.kind == EventKind::kState && wanted_(record)) return true;
    }
    return false;
  }

 private:
  const std::vector<EventRecord>& events_;
  const Wanted& wanted_;
  std::size_t at_ = 0;
};

}  // namespace

RecordedRun run_recorded(const Scenario& scenario, const std::optional<ResumeFrom>& resume, std::int64_t last_step) {
  RecordedRun run;
  Keeper keeper(run.events);
  TrainingHooks hooks;
  bool enough = false;
  hooks.listeners = {&keeper};
  hooks.on_step = [&](const StepRecord& step, std::int64_t) { enough = step.report.step == last_step; };
  hooks.interrupted = [&] { return enough; };
  run.record = run_training(scenario, resume, hooks);
  return run;
}

Scenario shipped(const std::string& name, const std::vector<std::string>& overrides) {
  LoadOptions options;
  options.overrides = overrides;
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/" + name + ".textproto";
  std::string text = read_real_file(path, kScenarioFileLimit);
  // The last group of every file; with overrides it may not fit any more.
  const std::size_t expect = text.find("\nexpect {");
  CHECK(expect != std::string::npos);
  text.resize(expect + 1);
  return parse_scenario(text, path, read_real_file, options);
}

std::optional<StateDifference> first_difference_of(const RecordedRun& a, const RecordedRun& b, const Wanted& wanted) {
  States one(a, wanted);
  States other(b, wanted);
  return first_state_difference(one, other);
}

std::int64_t count_states(const RecordedRun& run, const Wanted& wanted) {
  States states(run, wanted);
  EventRecord record;
  std::int64_t count = 0;
  while (states.next(record)) ++count;
  return count;
}

std::string text_of(const std::optional<StateDifference>& difference) {
  if (!difference) return "no state differs";
  return "step " + std::to_string(difference->step) + ", rank " + std::to_string(difference->rank) + ", " +
         describe_state(difference->a ? *difference->a : *difference->b);
}

}  // namespace rehearse::testing_determinism
