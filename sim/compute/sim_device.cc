#include "sim/compute/sim_device.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "sim/kernel/activity_listener.h"

namespace rehearse {

SimDevice::SimDevice(Process& process, const DeviceConfig& config, bool run_work)
    : process_(process), config_(config), run_work_(run_work) {
  for (const RankSlowdown& slowdown : config.slowdowns) {
    if (slowdown.rank != process.rank()) continue;
    CHECK_GT(slowdown.numerator, 0);
    CHECK_GT(slowdown.denominator, 0);
    slowdown_numerator_ = slowdown.numerator;
    slowdown_denominator_ = slowdown.denominator;
  }
}

Duration SimDevice::plain_time_of(const ComputeCost& cost) const {
  if (!config_.roofline.has_value()) return compute_time(cost.flops, config_.rate);
  return cost.kernels.empty() ? config_.roofline->time_of(cost.flops, cost.bytes)
                              : config_.roofline->time_of(cost.kernels);
}

Duration SimDevice::time_of(const ComputeCost& cost) const {
  const Duration plain = plain_time_of(cost);
  // One factor after the other, each rounded up: the product of all three might not fit 128 bits.
  const auto times = [](__int128 ps, std::int64_t numerator, std::int64_t denominator) {
    return (ps * numerator + denominator - 1) / denominator;
  };
  __int128 ps = times(plain.ps(), slowdown_numerator_, slowdown_denominator_);
  if (ps > std::numeric_limits<std::int64_t>::max()) virtual_time_overflow();
  ps = times(ps, more_numerator_, more_denominator_);
  if (ps > std::numeric_limits<std::int64_t>::max()) virtual_time_overflow();
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

void SimDevice::set_slowdown(std::int64_t numerator, std::int64_t denominator) {
  CHECK_GT(numerator, 0);
  CHECK_GT(denominator, 0);
  more_numerator_ = numerator;
  more_denominator_ = denominator;
}

void SimDevice::start_run(const ComputeCost& cost, WorkRef work, Stream stream, Completion<> done) {
  Kernel& kernel = process_.kernel();
  PendingOp& op = process_.begin(WaitInfo(EventKind::kDevice), std::move(done));
  TimePoint& free_at = free_at_[static_cast<std::size_t>(stream)];
  const TimePoint start = std::max(kernel.now(), free_at);
  const Duration time = time_of(cost);
  free_at = start + time;
  computed_ = computed_ + time;
  if (kernel.activities() != nullptr && time > Duration()) {
    kernel.activities()->on_compute(process_.rank(), start, free_at);
  }
  std::int64_t& queued = queued_[static_cast<std::size_t>(stream)];
  // Work that takes no time leaves the stream free at the moment for which others still queue: not before them.
  if (start == kernel.now() && queued == 0) {
    try {
      if (run_work_) work();
    } catch (...) {
      op.error = std::current_exception();
    }
    kernel.complete_at(free_at, op);
    return;
  }
  ++queued;
  op.stream = static_cast<int>(stream);
  if (run_work_) op.effect = work;
  op.not_before = free_at;
  kernel.schedule(start, this, handle_of(op).packed());
}

// The stream has come to this operation.
void SimDevice::on_event(std::uint64_t argument) {
  Kernel& kernel = process_.kernel();
  PendingOp* op = kernel.ops().find(OpHandle::unpack(argument));
  if (kernel.is_heard()) {
    EventRecord record(op == nullptr ? EventKind::kStale : EventKind::kStream);
    record.rank = process_.rank();
    kernel.record(record);
  }
  if (op == nullptr) return;  // the process is gone, and this device with it
  --queued_[static_cast<std::size_t>(op->stream)];
  if (op->effect) {
    const std::function<void()> work = std::move(op->effect);
    op->effect = nullptr;
    try {
      work();
    } catch (...) {
      op->error = std::current_exception();
    }
  }
  kernel.complete_at(op->not_before, *op);
}

}  // namespace rehearse
