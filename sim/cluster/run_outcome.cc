#include "sim/cluster/run_outcome.h"

#include <exception>
#include <new>

#include "core/base/error.h"
#include "core/runtime/communicator.h"

namespace rehearse {
namespace {

// What ended a failed run: the input's fault before anything that followed from it, else the first rank's error that is
// not about a peer's.
std::exception_ptr cause_of_failure(const World& world) {
  std::exception_ptr comm_error;
  std::exception_ptr other;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    const std::exception_ptr error = world.error(rank);
    if (error == nullptr) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      return error;
    } catch (const CommError&) {
      if (comm_error == nullptr) comm_error = error;
    } catch (...) {
      if (other == nullptr) other = error;
    }
  }
  return other != nullptr ? other : comm_error;
}

bool is_input_error(const std::exception_ptr& error) {
  if (error == nullptr) return false;
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void conclude(World& world, RunEnd end, bool interrupted, TrainingRecord& record) {
  const std::exception_ptr error = cause_of_failure(world);
  // With what the user gave wrong, that ranks wait says nothing.
  if (end == RunEnd::kDeadlock && !is_input_error(error)) {
    record.outcome = Outcome::kDeadlock;
    record.failure = "nothing is left that could wake the unfinished ranks";
    record.waiting = world.kernel().waiting();
    return;
  }
  if (interrupted) {
    record.outcome = Outcome::kInterrupted;
    record.failure = "interrupted";
    return;
  }
  if (error == nullptr) return;
  record.outcome = Outcome::kFailed;
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw InputError("out of memory: the scenario needs more than there is; 'rehearse check' says how much");
  } catch (const std::exception& failure) {
    record.failure = failure.what();
  }
}

}  // namespace rehearse
