#include "core/comm/hierarchical_all_reduce.h"

#include <utility>
#include <vector>

#include "core/comm/chunks.h"
#include "core/comm/ring_all_gather.h"
#include "core/comm/ring_all_reduce.h"
#include "core/comm/ring_reduce_scatter.h"

namespace rehearse {
namespace {

// `count` ranks of the group from `first` on, `stride` apart, of which this one is the `own`-th. The name is the
// group's: two ranks meet in one of these alone, so that messages of the parts cannot be confused.
Group part_of(const Group& group, int first, int stride, int count, int own) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(group.world_rank(first + i * stride));
  return Group(group.id, group.generation, std::move(ranks), own);
}

}  // namespace

Task<> hierarchical_all_reduce(Communicator& comm, Call call, BufferView buffer, int ranks_per_host) {
  const Group& group = *call.group;
  CHECK_GE(ranks_per_host, 1);
  CHECK_EQ(group.size() % ranks_per_host, 0);
  if (group.size() == 1 || buffer.count == 0) co_return;
  const int place = group.rank % ranks_per_host;
  const int host = group.rank / ranks_per_host;
  const Group inside = part_of(group, host * ranks_per_host, 1, ranks_per_host, place);
  const Group across = part_of(group, place, ranks_per_host, group.size() / ranks_per_host, host);
  const Chunks chunks(buffer, ranks_per_host);

  Call inside_call = call;
  inside_call.group = &inside;
  Call across_call = call.at(chunks.range(place).offset);
  across_call.group = &across;
  co_await ring_reduce_scatter(comm, inside_call, buffer);
  co_await ring_all_reduce(comm, across_call, chunks[place]);
  co_await ring_all_gather(comm, inside_call, buffer);
}

}  // namespace rehearse
