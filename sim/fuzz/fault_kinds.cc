#include "sim/fuzz/fault_kinds.h"

#include <algorithm>

namespace rehearse {
namespace {

constexpr std::array<const char*, kFaultNames> kNames = {
    "flip",         "crash",     "overwrite",       "spike",
    "lr_spike",     "hang",      "program",         "straggler",
    "disk_full",    "io_error",  "slow_disk",       "torn_write",
    "lost_fsync",   "rot",       "missing_file",    "stale_view",
    "power_loss",   "link_down", "partition",       "link_bandwidth",
    "link_latency", "loss",      "duplicate",       "reorder",
    "delay",        "corrupt",   "supervisor_link", "rate"};

}  // namespace

const char* name_of(FaultName name) { return kNames[static_cast<std::size_t>(name)]; }

std::optional<FaultName> fault_of(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<FaultName>(found - kNames.begin());
}

bool is_of_links(FaultName name) { return name >= FaultName::kLinkDown && name <= FaultName::kCorrupt; }

// A loss of power also stops the ranks, and needs nothing that is saved.
bool is_of_storage(FaultName name) { return name >= FaultName::kDiskFull && name <= FaultName::kStaleView; }

}  // namespace rehearse
