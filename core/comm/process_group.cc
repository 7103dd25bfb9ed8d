#include "core/comm/process_group.h"

#include <numeric>
#include <utility>
#include <vector>

namespace rehearse {

ProcessGroup::ProcessGroup(RankContext& context, Group group, Duration timeout)
    : context_(&context), group_(std::move(group)), timeout_(timeout) {
  CHECK_GE(group_.rank, 0);
  CHECK_LT(group_.rank, group_.size());
  CHECK_EQ(group_.world_rank(group_.rank), context.rank());
}

ProcessGroup ProcessGroup::world(RankContext& context, Duration timeout, std::uint32_t id) {
  std::vector<int> ranks(static_cast<std::size_t>(context.world_size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ProcessGroup(context, Group(id, context.generation(), std::move(ranks), context.rank()), timeout);
}

}  // namespace rehearse
