#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/base/digest.h"
#include "sim/kernel/event_record.h"

namespace rehearse {

inline constexpr std::uint64_t kRecordsPerBlock = 4096;

// The digest of a run: SHA-256 over the XXH3-128 (high half first, each little-endian) of every block of 4,096 records
// in their fixed layout; the last block has the rest. Equal exactly when all records are, whatever was written where.
class EventDigest : public EventListener {
 public:
  void on_record(const EventRecord& record) override;
  std::uint64_t records() const { return records_; }
  // Ends the digest: 64 lower-case hex digits. Once.
  std::string finish();

 private:
  void flush();
  void end_block();

  // Few enough to stay in the first cache until they are hashed.
  std::array<EventRecord, 64> waiting_;
  std::size_t waiting_count_ = 0;
  std::uint64_t records_ = 0;
  Xxh3Stream block_;
  Sha256 blocks_;
};

}  // namespace rehearse
