#include "core/parallel/unit_flow.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

std::string words_of(const char* what, UnitRange units) {
  std::string text = std::string(what) + " unit " + std::to_string(units.first);
  if (units.end - units.first > 1) text += " to " + std::to_string(units.end - 1);
  return text;
}

}  // namespace

template <class T>
void UnitFlow<T>::begin_step(bool keep_whole) {
  CHECK(!prefetch_.has_value() && !reductions_.has_value());
  keep_whole_ = keep_whole || !acts();
  left_ = UnitRange(0, static_cast<int>(parallel_.plan().units().size()));
  parallel_.zero_gradients();
}

template <class T>
void UnitFlow<T>::begin_pass(PassKind kind, int then, bool completes) {
  kind_ = kind;
  then_ = then;
  completes_ = completes;
}

template <class T>
int UnitFlow<T>::next_of(int stage) const {
  const int last = kind_ == PassKind::kForward ? parallel_.stage_units().stages() - 1 : 0;
  if (stage == last) return then_;
  return kind_ == PassKind::kForward ? stage + 1 : stage - 1;
}

// Units of a stage that are whole already are those that it shares with the stage before, at one end of the range.
template <class T>
UnitRange UnitFlow<T>::open_parameters(UnitRange units) {
  while (!units.empty() && parallel_.has_open_parameters(units.first)) ++units.first;
  while (!units.empty() && parallel_.has_open_parameters(units.end - 1)) --units.end;
  for (int unit = units.first; unit < units.end; ++unit) parallel_.open_parameters(unit);
  return units;
}

// All memory is taken before anything is waited for, so that how much is held does not depend on time.
template <class T>
Task<> UnitFlow<T>::before(int stage) {
  const UnitRange used = parallel_.stage_units().of(stage);
  UnitRange missing;
  UnitRange next;
  if (parallel_.shards_parameters()) {
    missing = open_parameters(used);
    if (overlap_ && next_of(stage) >= 0) next = open_parameters(parallel_.stage_units().of(next_of(stage)));
  }
  if (parallel_.shards_gradients() && kind_ == PassKind::kBackward) {
    for (int unit = used.first; unit < used.end; ++unit) {
      if (!parallel_.has_open_gradients(unit)) parallel_.open_gradients(unit);
    }
  }
  if (prefetch_.has_value()) {
    Activity<void> prefetch = *prefetch_;
    prefetch_.reset();
    co_await prefetch.join();
  }
  co_await gather(missing);
  if (!next.empty()) prefetch_.emplace(context_.spawn(words_of("gather", next), gather(next)));
}

template <class T>
Task<> UnitFlow<T>::after(int stage) {
  if (parallel_.shards_parameters()) {
    const UnitRange used = parallel_.stage_units().of(stage);
    const UnitRange kept = next_of(stage) < 0 ? UnitRange() : parallel_.stage_units().of(next_of(stage));
    for (int unit = used.first; unit < used.end; ++unit) {
      if (!kept.contains(unit)) parallel_.close_parameters(unit);
    }
  }
  if (kind_ == PassKind::kForward || !completes_ || keep_whole_) co_return;
  const UnitRange final = parallel_.stage_units().final_after(stage);
  left_.first = final.first;
  if (stage == 0 || final.empty()) co_return;
  left_.first = final.end;
  if (on_final_) on_final_(final);
  if (!overlap_) {
    co_await parallel_.reduce_units(final);
    co_return;
  }
  if (parallel_.shards_gradients()) co_await join_reductions();
  std::optional<Activity<void>> earlier = std::exchange(reductions_, std::nullopt);
  Task<> task = reduce_after(std::move(earlier), final);
  reductions_.emplace(context_.spawn(words_of("reduce", final), std::move(task)));
}

template <class T>
Task<> UnitFlow<T>::finish(ProgramError error) {
  co_await join_reductions();
  co_await parallel_.reduce_units(left_, error);
}

template <class T>
Task<> UnitFlow<T>::join_reductions() {
  if (!reductions_.has_value()) co_return;
  Activity<void> reductions = *reductions_;
  reductions_.reset();
  co_await reductions.join();
}

template <class T>
Task<> UnitFlow<T>::reduce_after(std::optional<Activity<void>> earlier, UnitRange units) {
  if (earlier.has_value()) co_await earlier->join();
  co_await parallel_.reduce_units(units);
}

template <class T>
Task<> UnitFlow<T>::gather(UnitRange units) {
  for (int unit = units.first; unit < units.end; ++unit) co_await parallel_.gather_unit(unit);
}

template <class T>
Task<> UnitFlow<T>::gather_all() {
  if (!parallel_.shards_parameters()) co_return;
  const UnitRange all(0, static_cast<int>(parallel_.plan().units().size()));
  const UnitRange opened = open_parameters(all);
  co_await gather(opened);
}

template <class T>
void UnitFlow<T>::release_all() {
  if (!parallel_.shards_parameters()) return;
  for (int unit = 0; unit < static_cast<int>(parallel_.plan().units().size()); ++unit) parallel_.close_parameters(unit);
}

template class UnitFlow<float>;
template class UnitFlow<double>;

}  // namespace rehearse
