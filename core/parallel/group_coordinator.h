#pragma once

#include <string>
#include <vector>

#include "core/checkpoint/coordinator.h"
#include "core/comm/process_group.h"

namespace rehearse {

// The ranks of a process group agree on checkpoints: texts travel by the group's gather and broadcast, lengths first;
// shards from rank to rank.
class GroupCoordinator : public ShardCarrier {
 public:
  explicit GroupCoordinator(ProcessGroup& group) : group_(group) {}
  Task<std::vector<std::string>> gather(std::string mine) override;
  Task<std::string> broadcast(std::string from_rank_0) override;
  Task<Payload> pass_on(Payload mine, int distance) override;
  Task<Payload> carry(Payload own, int from, std::vector<int> to) override;

 private:
  ProcessGroup& group_;
};

}  // namespace rehearse
