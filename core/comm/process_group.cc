#include "core/comm/process_group.h"

#include <utility>

namespace rehearse {

ProcessGroup::ProcessGroup(RankContext& context, Group group, Duration timeout)
    : context_(&context), group_(std::move(group)), timeout_(timeout) {
  CHECK_GE(group_.rank, 0);
  CHECK_LT(group_.rank, group_.size());
  CHECK_EQ(group_.world_rank(group_.rank), context.rank());
}

ProcessGroup ProcessGroup::world(RankContext& context, Duration timeout, std::uint32_t id) {
  const GroupRanks ranks = GroupRanks::every(0, 1, context.world_size());
  return ProcessGroup(context, Group(id, context.generation(), ranks, context.rank()), timeout);
}

}  // namespace rehearse
