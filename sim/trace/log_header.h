#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rehearse {

// The version of the records' meaning that this program writes and reads.
inline constexpr std::uint32_t kLogSchemaVersion = 1;

// What an event log says of its run.
struct LogHeader {
  std::string scenario;
  std::string scenario_sha256;
  std::string arithmetic_sha256;
  std::uint64_t seed = 0;
  int ranks = 0;
  std::optional<std::int64_t> resumed_from;
  std::string build;
  std::string cpu;
};

}  // namespace rehearse
