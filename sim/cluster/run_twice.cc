#include "sim/cluster/run_twice.h"

#include "core/model/layout.h"
#include "sim/trace/describe.h"
#include "sim/trace/record_comparison.h"

namespace rehearse {
namespace {

constexpr std::uint64_t kEventsATurn = 8;

// Memory of odd sizes, in use and free, so that what the second run is given lies elsewhere and was used before.
class DisturbedHeap {
 public:
  DisturbedHeap() {
    for (std::size_t i = 1; i < 600; ++i) {
      blocks_.emplace_back(i * 37 % 4099 + 8, std::byte{0xA5});
      if (i % 3 == 0) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(blocks_.size() / 2));
    }
  }

 private:
  std::vector<std::vector<std::byte>> blocks_;
};

std::string part_text(const Scenario& scenario, const RecordDifference& difference) {
  const ParameterLayout layout(scenario.train.model);
  const auto text = [&](const std::optional<EventRecord>& record) {
    return record ? describe(*record, &layout) : std::string("nothing more");
  };
  return "a second run in this process differs in record " + std::to_string(difference.index) + ": first " +
         text(difference.expected) + "; then " + text(difference.found);
}

}  // namespace

TrainingRecord run_twice(const Scenario& scenario, const std::optional<ResumeFrom>& resume,
                         const TrainingHooks& hooks) {
  RecordQueue queue;
  RecordComparison comparison(queue);
  TrainingHooks first_hooks = hooks;
  first_hooks.log_events = true;
  first_hooks.listeners.push_back(&queue);
  TrainingHooks second_hooks;
  second_hooks.listeners = {&comparison};

  TrainingSession first(scenario, resume, first_hooks);
  const DisturbedHeap heap;
  TrainingSession second(scenario, resume, second_hooks);
  bool first_runs = true;
  bool second_runs = true;
  while (first_runs || second_runs) {
    if (first_runs) first_runs = first.advance(kEventsATurn);
    if (second_runs) second_runs = second.advance(kEventsATurn) && !comparison.difference().has_value();
    if (comparison.difference().has_value()) queue.close();
    if (hooks.interrupted && hooks.interrupted()) break;
  }
  const bool ended = !first_runs && !second_runs;
  if (ended) comparison.finish();
  TrainingRecord record = first.finish();
  SecondRun second_run;
  second_run.compared = comparison.compared();
  if (comparison.difference().has_value()) second_run.difference = part_text(scenario, *comparison.difference());
  record.second_run = second_run;
  return record;
}

}  // namespace rehearse
