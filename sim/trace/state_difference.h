#pragma once

#include <cstdint>
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

// Compares the states of two logs by what they are of, not by when they were: this is what D2 and D3 are about, where
// events differ and arithmetic may not. First by step; within a step in the order of cause: batch index, learning rate
// and applied steps, loss, gradients, moments, parameters; then by rank and tensor.
std::optional<StateDifference> first_state_difference(RecordSource& a, RecordSource& b);

}  // namespace rehearse
