#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/comm/process_group.h"
#include "core/parallel/checkpoint_io.h"

namespace rehearse {

// Publishes the snapshots of a rank beside its training, one at a time. The ranks agree about a save on a group of
// their own, so that its messages and those of the training may interleave in any way.
class BackgroundSave {
 public:
  // A message of a save that is waited for longer than `timeout` fails it. The context outlives this. `group`: the id
  // of its group, another one for each that a rank has.
  BackgroundSave(RankContext& context, Duration timeout, std::uint32_t group);

  // A save was started and its end not yet taken.
  bool is_open() const { return activity_.has_value(); }
  // finish() will not wait.
  bool is_done() const { return state_->done; }
  // Requires that none is open. Every rank starts the same ones.
  void start(SaveRequest request);
  // Waits for the end of the one that is open. Throws what the save threw.
  Task<SaveResult> finish();

 private:
  // What the activity uses: it may outlive this where the rank's program ends with an error.
  struct State {
    State(RankContext& context, Duration timeout, std::uint32_t id);
    ProcessGroup group;
    bool done = false;
  };
  static Task<SaveResult> publish(std::shared_ptr<State> state, SaveRequest request);

  RankContext& context_;
  std::shared_ptr<State> state_;
  std::optional<Activity<SaveResult>> activity_;
};

}  // namespace rehearse
