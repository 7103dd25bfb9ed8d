#pragma once

#include <memory>
#include <span>

#include "core/base/device_kernel.h"
#include "core/base/units.h"
#include "core/runtime/completion.h"

namespace rehearse {

// What a piece of work asks of a device. FLOPs and bytes touched come from the operation's own formulas.
struct ComputeCost {
  ComputeCost() = default;
  // One kernel, element by element; none where both are 0.
  ComputeCost(Flops cost_flops, Bytes cost_bytes) : flops(cost_flops), bytes(cost_bytes) {}
  // These kernels, one after the other; flops and bytes are their sums. Others own the list, and may share it: it is
  // read when the work is handed to the device, and not later.
  ComputeCost(Flops cost_flops, Bytes cost_bytes, std::span<const DeviceKernel> cost_kernels)
      : flops(cost_flops), bytes(cost_bytes), kernels(cost_kernels) {}

  Flops flops;
  Bytes bytes;
  std::span<const DeviceKernel> kernels;
};

// A reference to a callable that outlives the call; what device.run is given lives in the awaiting coroutine's frame.
class WorkRef {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, WorkRef>>>
  WorkRef(F& work)  // NOLINT: converts on purpose, as std::function does
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(work)))),
        call_([](void* object) { (*static_cast<F*>(object))(); }) {}
  void operator()() const { call_(object_); }

 private:
  void* object_;
  void (*call_)(void*);
};

// A FIFO queue of a device; work on one stream runs in the order it was started.
enum class Stream : std::uint8_t { kCompute, kCopy };
inline constexpr int kStreams = 2;

// A rank's accelerator. The real arithmetic runs in the work's call, when the stream reaches it; then virtual time
// passes by the device model. In cost-only mode the work is not called.
class Device {
 public:
  virtual ~Device() = default;
  // `work` is called when the stream is free, and the operation is done `cost` later. It must outlive the operation:
  // make it a local before the co_await statement.
  auto run(const ComputeCost& cost, WorkRef work, Stream stream = Stream::kCompute) {
    return make_operation<>(
        [this, cost, work, stream](Completion<> done) { start_run(cost, work, stream, std::move(done)); });
  }

 protected:
  virtual void start_run(const ComputeCost& cost, WorkRef work, Stream stream, Completion<> done) = 0;
};

}  // namespace rehearse
