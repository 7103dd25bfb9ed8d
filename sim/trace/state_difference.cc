#include "sim/trace/state_difference.h"

#include <array>
#include <map>
#include <tuple>

namespace rehearse {
namespace {

int order_of(StateComponent component) {
  constexpr std::array kCauses = {
      StateComponent::kBatchIndex, StateComponent::kLearningRate, StateComponent::kAppliedSteps, StateComponent::kLoss,
      StateComponent::kGradients,  StateComponent::kFirstMoment,  StateComponent::kSecondMoment};
  for (std::size_t i = 0; i < kCauses.size(); ++i) {
    if (kCauses[i] == component) return static_cast<int>(i);
  }
  return static_cast<int>(kCauses.size());
}

using Key = std::tuple<int, int, int, std::int64_t>;  // component, rank, tensor, offset
using States = std::map<Key, EventRecord>;

// The states of a log, an attempt at a step at a time: no rank reports of a step before all have reported all of the
// one before.
class StateGroups {
 public:
  explicit StateGroups(RecordSource& source) : source_(source) { advance(); }

  // False at the end.
  bool next(States& states) {
    states.clear();
    if (!has_) return false;
    const std::int64_t step = record_.step;
    const std::uint32_t generation = record_.generation;
    for (; has_ && record_.step == step && record_.generation == generation; advance()) {
      states[Key(order_of(record_.component), record_.rank, record_.index, record_.offset)] = record_;
    }
    return true;
  }

 private:
  void advance() {
    do {
      has_ = source_.next(record_);
    } while (has_ && record_.kind != EventKind::kState);
  }

  RecordSource& source_;
  EventRecord record_;
  bool has_ = false;
};

StateDifference difference_of(const EventRecord* a, const EventRecord* b) {
  const EventRecord& any = a != nullptr ? *a : *b;
  StateDifference difference;
  difference.step = any.step;
  difference.rank = any.rank;
  difference.component = any.component;
  difference.tensor = any.index;
  difference.offset = any.offset;
  if (a != nullptr) difference.a = *a;
  if (b != nullptr) difference.b = *b;
  return difference;
}

bool same_state(const EventRecord& a, const EventRecord& b) {
  return a.step == b.step && a.size == b.size && a.digest == b.digest;
}

}  // namespace

LastAttempts::LastAttempts(const std::function<std::unique_ptr<RecordSource>()>& open, std::int64_t start_step)
    : source_(open()), start_step_(start_step) {
  const std::unique_ptr<RecordSource> first_pass = open();
  EventRecord record;
  while (first_pass->next(record)) {
    if (is_of_an_attempt(record)) last_generation_[record.step] = record.generation;
  }
}

bool LastAttempts::is_of_an_attempt(const EventRecord& record) const {
  if (record.kind != EventKind::kState) return false;
  const bool at_start = record.phase == Phase::kLoad || record.phase == Phase::kStart;
  return record.generation == 0 || !at_start || record.step == start_step_;
}

bool LastAttempts::next(EventRecord& record) {
  while (source_->next(record)) {
    if (is_of_an_attempt(record) && last_generation_.at(record.step) == record.generation) return true;
  }
  return false;
}

std::optional<StateDifference> first_state_difference(RecordSource& a, RecordSource& b) {
  StateGroups groups_a(a);
  StateGroups groups_b(b);
  States states_a;
  States states_b;
  for (;;) {
    const bool has_a = groups_a.next(states_a);
    const bool has_b = groups_b.next(states_b);
    if (!has_a && !has_b) return std::nullopt;
    auto at_a = states_a.begin();
    auto at_b = states_b.begin();
    while (at_a != states_a.end() || at_b != states_b.end()) {
      if (at_b == states_b.end() || (at_a != states_a.end() && at_a->first < at_b->first)) {
        return difference_of(&at_a->second, nullptr);
      }
      if (at_a == states_a.end() || at_b->first < at_a->first) return difference_of(nullptr, &at_b->second);
      if (!same_state(at_a->second, at_b->second)) return difference_of(&at_a->second, &at_b->second);
      ++at_a;
      ++at_b;
    }
  }
}

}  // namespace rehearse
