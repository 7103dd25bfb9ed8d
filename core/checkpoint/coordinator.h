#pragma once

#include <string>
#include <vector>

#include "core/runtime/payload.h"
#include "core/runtime/task.h"

namespace rehearse {

// How the ranks of a job agree while they save or load: rank 0 hears of everybody and decides, and tells everybody. An
// interface, because this folder knows nothing of collectives; core/parallel makes one on a process group. Every rank
// calls the same sequence. Failures of communication are CommError and leave through the save or load.
class CheckpointCoordinator {
 public:
  virtual ~CheckpointCoordinator() = default;
  // Every rank's text, in order of rank, on rank 0; nothing on the others. Texts may differ in length and be empty.
  virtual Task<std::vector<std::string>> gather(std::string mine) = 0;
  // Rank 0's text, on every rank; what others pass is ignored.
  virtual Task<std::string> broadcast(std::string from_rank_0) = 0;
};

// The same for ranks that keep shards for each other.
class ShardCarrier : public CheckpointCoordinator {
 public:
  // Everybody's payload goes to the rank `distance` further on; gives that of the rank as far before.
  virtual Task<Payload> pass_on(Payload mine, int distance) = 0;
  // What rank `from` has goes to the ranks `to`, itself not among them, and is given to all of these; nothing to
  // others, whose `own` is ignored. Every rank names the same ones.
  virtual Task<Payload> carry(Payload own, int from, std::vector<int> to) = 0;
};

}  // namespace rehearse
