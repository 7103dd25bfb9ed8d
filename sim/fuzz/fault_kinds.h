#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rehearse {

// Every kind of fault that a scenario can have, in the order of scenario.proto's `Faults`.
enum class FaultName : std::uint8_t {
  kFlip,
  kCrash,
  kOverwrite,
  kSpike,
  kLrSpike,
  kHang,
  kProgram,
  kStraggler,
  kDiskFull,
  kIoError,
  kSlowDisk,
  kTornWrite,
  kLostFsync,
  kRot,
  kMissingFile,
  kStaleView,
  kPowerLoss,
  kLinkDown,
  kPartition,
  kLinkBandwidth,
  kLinkLatency,
  kLoss,
  kDuplicate,
  kReorder,
  kDelay,
  kCorrupt,
  kSupervisorLink,
  kRate,
};
inline constexpr int kFaultNames = static_cast<int>(FaultName::kRate) + 1;

// The field in `faults`: "flip".
const char* name_of(FaultName name);
std::optional<FaultName> fault_of(std::string_view name);

// Of links between ranks, which only a plain network has.
bool is_of_links(FaultName name);
// Of files, which only a job that saves has.
bool is_of_storage(FaultName name);

}  // namespace rehearse
