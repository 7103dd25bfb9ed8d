#pragma once

#include "core/runtime/rank_context.h"

namespace rehearse {

// Two parts of one collective call at the same time, `first` as an activity named `name` that shows in the deadlock
// table; done when both are. When one of them fails with CommError, the call's generation is aborted on this rank
// (Communicator::abort), because the other part may wait for somebody who has given up, and what it would write to must
// not outlive the call; then the error of the part that failed first is thrown.
Task<> side_by_side(RankContext& context, Call call, const char* name, Task<> first, Task<> second);

}  // namespace rehearse
