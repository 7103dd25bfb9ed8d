#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "sim/trace/log_reader.h"

namespace rehearse {

// The first state that two runs do not share. One side is missing where the other run has no such state.
struct StateDifference {
  std::int64_t step = 0;
  int rank = 0;
  StateComponent component = StateComponent::kNone;
  int tensor = -1;
  std::int64_t offset = -1;  // of the digest's first element in the tensor
  std::optional<EventRecord> a;
  std::optional<EventRecord> b;
};

// The states of a log in which a job may have gone back: of each step the last attempt alone, as the job's result has
// it. Reads the log twice.
class LastAttempts : public RecordSource {
 public:
  // `open` gives the log from its beginning; its run started after `start_step`.
  explicit LastAttempts(const std::function<std::unique_ptr<RecordSource>()>& open, std::int64_t start_step = 0);
  bool next(EventRecord& record) override;

 private:
  // What a restarted job starts with is what an earlier attempt ended with, unless it starts from the very start.
  bool is_of_an_attempt(const EventRecord& record) const;

  std::unique_ptr<RecordSource> source_;
  std::int64_t start_step_;
  std::map<std::int64_t, std::uint32_t> last_generation_;  // by step
};

// Compares the states of two logs by what they are of, not by when they were: this is what D2 and D3 are about, where
// events differ and arithmetic may not. First by step; within a step in the order of cause: batch index, learning rate
// and applied steps, loss, gradients, moments, parameters; then by rank and tensor.
std::optional<StateDifference> first_state_difference(RecordSource& a, RecordSource& b);

}  // namespace rehearse
