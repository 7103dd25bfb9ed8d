#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/digest.h"

namespace rehearse {

// The version of the records' meaning that this program writes and reads.
inline constexpr std::uint32_t kLogSchemaVersion = 1;

// The digest in a log's end that covers the header and the end itself (event_log.proto).
Digest128 log_seal(std::string_view header_frame, std::uint64_t records, const std::string& event_digest,
                   const std::string& outcome);

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
