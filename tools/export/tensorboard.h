#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sim/cluster/training_run.h"

namespace rehearse {

// The name of an event file, as TensorBoard looks for it.
inline constexpr const char* kTensorBoardFile = "events.out.tfevents.0000000000.rehearse";

// Writes a run's scalars as a TensorBoard event file, step by step: TFRecords of `Event` messages (Protobuf), each with
// the masked CRC-32C of its length and of its bytes. The wall time of an event is the simulated time in seconds, so
// that the same run gives the same bytes. A job that goes back begins a new session there, which has TensorBoard forget
// what was undone.
class TensorBoardWriter {
 public:
  // `write` gets the file's bytes in order.
  explicit TensorBoardWriter(std::function<void(std::string_view)> write);

  // `has_numbers`: losses, norms and rates are numbers of the run.
  void on_step(const StepRecord& step, bool has_numbers);
  void on_recovery(const RecoveryRecord& recovery);
  // Held-out losses, which are known when the run is over.
  void finish(const TrainingRecord& record);

 private:
  void record(const std::string& event);

  std::function<void(std::string_view)> write_;
};

}  // namespace rehearse
