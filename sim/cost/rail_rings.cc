#include "sim/cost/rail_rings.h"

#include <deque>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/comm/collectives.h"

namespace rehearse {
namespace {

// Ring `rail`, as the rank sees it.
Group ring_of(const RankContext& context, const RailRings& rings, int rail) {
  std::vector<int> order;
  int own = -1;
  for (int first = 0; first < context.world_size(); first += rings.ranks_per_host) {
    for (int i = 0; i < rings.ranks_per_host; ++i) {
      const int rank = first + (rail + i) % rings.ranks_per_host;
      if (rank == context.rank()) own = static_cast<int>(order.size());
      order.push_back(rank);
    }
  }
  return Group(static_cast<std::uint32_t>(rail) + 1, context.generation(), std::move(order), own);
}

Task<> collective(ProcessGroup& ring, Operation operation, BufferView part) {
  switch (operation) {
    case Operation::kAllReduce:
      return all_reduce(ring, part);
    case Operation::kReduceScatter:
      return reduce_scatter(ring, part);
    case Operation::kAllGather:
      return all_gather(ring, part);
    default:
      check_failed(__FILE__, __LINE__, "no collective of rings");
  }
}

}  // namespace

Task<> run_rail_rings(RankContext& context, RailRings rings, Operation operation, std::int64_t elements) {
  CHECK_EQ(context.world_size() % rings.ranks_per_host, 0);
  CHECK_LE(rings.rails, rings.ranks_per_host);
  std::deque<ProcessGroup> groups;
  std::vector<Activity<void>> activities;
  for (int rail = 0; rail < rings.rails; ++rail) {
    ProcessGroup& ring = groups.emplace_back(context, ring_of(context, rings, rail));
    BufferView part;
    part.count = elements / rings.rails + (rail < elements % rings.rails ? 1 : 0);
    activities.push_back(context.spawn("a ring", collective(ring, operation, part)));
  }
  for (Activity<void>& activity : activities) co_await activity.join();
}

}  // namespace rehearse
