#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "sim/kernel/event_record.h"
#include "sim/trace/log_reader.h"

// Records, logs in memory and their reading for the tests of this folder.

namespace rehearse {

// The numbers of records at which something ends: the digest's first cache, a block, several blocks.
inline const std::vector<std::size_t> kSizesOfLogs = {0, 1, 63, 64, 65, 4095, 4096, 4097, 10000};

inline TimePoint at_ps(std::int64_t ps) { return TimePoint::at(Duration::picoseconds(ps)); }

// As a run could make them.
inline EventRecord likely_record(RandomStream& random) {
  constexpr std::array kKinds = {EventKind::kStart,    EventKind::kDevice, EventKind::kSend,  EventKind::kArrival,
                                 EventKind::kDelivery, EventKind::kPhase,  EventKind::kState, EventKind::kFault};
  EventRecord record(kKinds[random.below(kKinds.size())]);
  record.call = random.below(100);
  record.step = static_cast<std::int64_t>(random.below(20));
  record.size = static_cast<std::int64_t>(random.below(100000));
  record.offset = static_cast<std::int64_t>(random.below(1000)) - 1;
  record.digest = Digest128{random.next_u64(), random.next_u64()};
  record.rank = static_cast<std::int32_t>(random.below(4));
  record.peer = static_cast<std::int32_t>(random.below(5)) - 1;
  record.group = static_cast<std::uint32_t>(random.below(3));
  record.generation = static_cast<std::uint32_t>(random.below(2));
  record.index = static_cast<std::int32_t>(random.below(30)) - 1;
  record.operation = static_cast<Operation>(random.below(kOperations));
  record.phase = static_cast<Phase>(random.below(static_cast<std::uint64_t>(Phase::kEnd) + 1));
  record.component = static_cast<StateComponent>(random.below(static_cast<std::uint64_t>(StateComponent::kLoss) + 1));
  return record;
}

// A number of any size, the ends of its type among them.
template <class T>
T any_number(RandomStream& random) {
  switch (random.below(4)) {
    case 0:
      return std::numeric_limits<T>::min();
    case 1:
      return std::numeric_limits<T>::max();
    default:
      return static_cast<T>(random.next_u64() >> random.below(64));
  }
}

// What fits in the fields, likely or not.
inline EventRecord any_record(RandomStream& random) {
  EventRecord record = likely_record(random);
  record.time = at_ps(any_number<std::int64_t>(random));
  record.sequence = any_number<std::uint64_t>(random);
  record.call = any_number<std::uint64_t>(random);
  record.step = any_number<std::int64_t>(random);
  record.size = any_number<std::int64_t>(random);
  record.offset = any_number<std::int64_t>(random);
  record.rank = any_number<std::int32_t>(random);
  record.peer = any_number<std::int32_t>(random);
  record.group = any_number<std::uint32_t>(random);
  record.generation = any_number<std::uint32_t>(random);
  record.index = any_number<std::int32_t>(random);
  return record;
}

inline std::vector<EventRecord> likely_records(std::size_t count, std::uint64_t seed = 1) {
  RandomStream random(seed);
  std::vector<EventRecord> records;
  std::int64_t time = 0;
  std::uint64_t sequence = 0;
  for (std::size_t i = 0; i < count; ++i) {
    EventRecord record = likely_record(random);
    time += static_cast<std::int64_t>(random.below(1'000'000));
    sequence += random.below(2);
    record.time = at_ps(time);
    record.sequence = sequence;
    records.push_back(record);
  }
  return records;
}

inline std::vector<EventRecord> any_records(std::size_t count, std::uint64_t seed = 1) {
  RandomStream random(seed);
  std::vector<EventRecord> records;
  for (std::size_t i = 0; i < count; ++i) records.push_back(any_record(random));
  return records;
}

// Records in memory.
class ListSource : public RecordSource {
 public:
  explicit ListSource(std::vector<EventRecord> records) : records_(std::move(records)) {}
  bool next(EventRecord& record) override {
    if (next_ == records_.size()) return false;
    record = records_[next_++];
    return true;
  }
  std::size_t taken() const { return next_; }

 private:
  std::vector<EventRecord> records_;
  std::size_t next_ = 0;
};

}  // namespace rehearse
