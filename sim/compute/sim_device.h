#pragma once

#include <array>
#include <cstdint>

#include "core/runtime/device.h"
#include "sim/compute/config.h"
#include "sim/kernel/process.h"

namespace rehearse {

// A device that takes ceil(flops / rate) for a piece of work, or what its roofline says, times its rank's slowdown,
// rounded up. Each stream runs one piece at a time, in the order they were started; the arithmetic itself runs inline
// when its turn comes.
class SimDevice : public Device, private EventSink {
 public:
  // `run_work` false: cost-only, the work is not called. The config outlives this.
  SimDevice(Process& process, const DeviceConfig& config, bool run_work);

  // Work that begins from now on takes numerator/denominator times as long, on top of the configured slowdown.
  void set_slowdown(std::int64_t numerator, std::int64_t denominator);

  // How long the work would take on an idle stream.
  Duration time_of(const ComputeCost& cost) const;
  // All work that was begun, on all streams.
  Duration computed() const { return computed_; }

 protected:
  void start_run(const ComputeCost& cost, WorkRef work, Stream stream, Completion<> done) override;

 private:
  Duration plain_time_of(const ComputeCost& cost) const;
  void on_event(std::uint64_t argument) override;

  Process& process_;
  const DeviceConfig& config_;
  std::int64_t slowdown_numerator_ = 1;
  std::int64_t slowdown_denominator_ = 1;
  std::int64_t more_numerator_ = 1;
  std::int64_t more_denominator_ = 1;
  bool run_work_;
  Duration computed_;
  std::array<TimePoint, kStreams> free_at_{};
  std::array<std::int64_t, kStreams> queued_{};  // operations whose work has not begun
};

}  // namespace rehearse
