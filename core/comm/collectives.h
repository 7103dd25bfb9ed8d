#pragma once

#include <vector>

#include "core/comm/algorithms.h"
#include "core/comm/process_group.h"

namespace rehearse {

// The collectives a program calls: co_await all_reduce(group, BufferView(gradients)). Each runs one algorithm, the one
// named in its line or the one asked for (algorithms.h; its header has steps, messages, bytes, time and order of
// summation), takes the group's next sequence number at once (process_group.h), and tells the tracer when it begins
// and, unless it fails, ends. The size told is the buffer's, S in the headers. All ranks of a group ask for the same
// algorithm and options.
//
// Views must stay valid until the Task is done. In cost-only mode they have no storage; messages and times are the
// same. All throw CommError.

// In place: chunk r of the buffer (chunks.h) becomes the sum on group rank r; the others are scratch.
// ring_reduce_scatter.h
Task<> reduce_scatter(ProcessGroup& group, BufferView buffer);
// In place: chunk r, given by group rank r, comes to all. ring_all_gather.h
Task<> all_gather(ProcessGroup& group, BufferView buffer);
// In place: the sum comes to all, with the same bits as reduce_scatter and all_gather. ring_all_reduce.h
Task<> all_reduce(ProcessGroup& group, BufferView buffer);
// In place: group rank `root`'s buffer comes to all. binomial_broadcast.h
Task<> broadcast(ProcessGroup& group, BufferView buffer, int root);
// own of group rank r comes to into[r] on group rank `root`; `into` is empty elsewhere. The size told to the tracer is
// the total on the root, own's elsewhere. direct_gather.h
Task<> gather(ProcessGroup& group, BufferView own, std::vector<BufferView> into, int root);
// Nobody leaves before all have come. dissemination_barrier.h
Task<> barrier(ProcessGroup& group);

// The same with a chosen algorithm. all_reduce by kDoubleBinaryTree takes two sequence numbers. Requires can_do.
Task<> reduce_scatter(ProcessGroup& group, BufferView buffer, ReduceScatterAlgorithm algorithm);
Task<> all_gather(ProcessGroup& group, BufferView buffer, AllGatherAlgorithm algorithm);
Task<> all_reduce(ProcessGroup& group, BufferView buffer, AllReduceAlgorithm algorithm,
                  const AlgorithmOptions& options = AlgorithmOptions());
Task<> broadcast(ProcessGroup& group, BufferView buffer, int root, BroadcastAlgorithm algorithm,
                 const AlgorithmOptions& options = AlgorithmOptions());
// In place: the sum comes to group rank `root`; elsewhere the buffer is scratch.
Task<> reduce(ProcessGroup& group, BufferView buffer, int root, ReduceAlgorithm algorithm = ReduceAlgorithm::kBinomial,
              const AlgorithmOptions& options = AlgorithmOptions());
// from[r] on group rank `root` comes to own of group rank r; `from` is empty elsewhere. The size told to the tracer is
// the total on the root, own's elsewhere. direct_scatter.h
Task<> scatter(ProcessGroup& group, std::vector<BufferView> from, BufferView own, int root);
// out[q] of group rank r comes to into[r] on group rank q. The size told to the tracer is the total of `out`.
// direct_exchange.h
Task<> all_to_all(ProcessGroup& group, std::vector<BufferView> out, std::vector<BufferView> into,
                  AllToAllAlgorithm algorithm = AllToAllAlgorithm::kPairwise);

}  // namespace rehearse
