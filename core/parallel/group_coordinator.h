#pragma once

#include <string>
#include <vector>

#include "core/checkpoint/coordinator.h"
#include "core/comm/process_group.h"

namespace rehearse {

// The ranks of a process group agree on checkpoints: texts travel by the group's gather and broadcast, lengths first.
class GroupCoordinator : public CheckpointCoordinator {
 public:
  explicit GroupCoordinator(ProcessGroup& group) : group_(group) {}
  Task<std::vector<std::string>> gather(std::string mine) override;
  Task<std::string> broadcast(std::string from_rank_0) override;

 private:
  ProcessGroup& group_;
};

}  // namespace rehearse
