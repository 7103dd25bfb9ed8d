#include "sim/cluster/run_outcome.h"

#include <algorithm>
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

double exposed_of(const TrainingRecord& record) {
  double all = 0;
  double computed = 0;
  for (const StepRecord& step : record.steps) {
    all += static_cast<double>(step.step_seconds.ps());
    computed += static_cast<double>(std::min(step.computed, step.step_seconds).ps());
  }
  return all == 0 ? 0 : 1 - computed / all;
}

double goodput_of(const TrainingRecord& record) {
  Duration useful;
  TimePoint counted;  // a rank may begin a step before another has ended the one before
  for (const StepRecord& step : record.steps) {
    const TimePoint began = TimePoint::at(step.report.ended.since_start() - step.step_seconds);
    const TimePoint from = std::max(began, counted);
    if (step.report.ended <= from) continue;
    useful = useful + (step.report.ended - from);
    counted = step.report.ended;
  }
  const Duration all = record.simulated.since_start();
  return all.ps() == 0 ? 0 : static_cast<double>(useful.ps()) / static_cast<double>(all.ps());
}

void tell_supervisor_links(const ControlLinks& links, TimePoint end, TrainingRecord& record) {
  for (const SupervisorLinkFault& fault : links.faults_of_run()) {
    const std::string what = text_of(fault) + (fault.delay.has_value() ? " takes " + to_string(*fault.delay) + " longer"
                                                                       : std::string(" loses everything"));
    if (fault.from > end) {
      record.faults_not_struck.push_back(what + " from " + to_string(fault.from.since_start()) + " on");
      continue;
    }
    FaultRecord told;
    told.at.rank = -1;
    told.time = fault.from;
    told.what = what + (fault.until.has_value() ? ", until " + to_string(fault.until->since_start()) : "");
    record.faults.push_back(told);
  }
  std::stable_sort(record.faults.begin(), record.faults.end(),
                   [](const FaultRecord& a, const FaultRecord& b) { return a.time < b.time; });
}

}  // namespace rehearse
