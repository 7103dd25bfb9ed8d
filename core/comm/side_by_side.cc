#include "core/comm/side_by_side.h"

#include <exception>
#include <utility>

namespace rehearse {
namespace {

// Keeps the first error of the two, which is the one that says what happened: the other is kAborted.
Task<> guarded(Communicator& comm, std::uint32_t generation, Task<> part, std::exception_ptr& error) {
  try {
    co_await std::move(part);
  } catch (const CommError&) {
    if (error != nullptr) co_return;
    error = std::current_exception();
    comm.abort(generation);
  }
}

}  // namespace

Task<> side_by_side(RankContext& context, Call call, const char* name, Task<> first, Task<> second) {
  std::exception_ptr error;
  Task<> beside = guarded(context.comm(), call.group->generation, std::move(first), error);
  Activity<void> activity = context.spawn(name, std::move(beside));
  co_await guarded(context.comm(), call.group->generation, std::move(second), error);
  co_await activity.join();
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace rehearse
