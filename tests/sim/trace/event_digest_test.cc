#include "sim/trace/event_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>
#include <span>

#include "tests/sim/trace/records.h"

namespace rehearse {
namespace {

std::string digest_of(std::span<const EventRecord> records) {
  EventDigest digest;
  for (const EventRecord& record : records) digest.on_record(record);
  return digest.finish();
}

template <class T>
void append(std::string& bytes, T value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xff);
}

// The layout once more, field by field.
std::string bytes_of(const EventRecord& record) {
  std::string bytes;
  append<std::int64_t>(bytes, record.time.ps());
  append<std::uint64_t>(bytes, record.sequence);
  append<std::uint64_t>(bytes, record.call);
  append<std::int64_t>(bytes, record.step);
  append<std::int64_t>(bytes, record.size);
  append<std::int64_t>(bytes, record.offset);
  append<std::uint64_t>(bytes, record.digest.high);
  append<std::uint64_t>(bytes, record.digest.low);
  append<std::int32_t>(bytes, record.rank);
  append<std::int32_t>(bytes, record.peer);
  append<std::uint32_t>(bytes, record.group);
  append<std::uint32_t>(bytes, record.generation);
  append<std::int32_t>(bytes, record.index);
  append<std::uint8_t>(bytes, static_cast<std::uint8_t>(record.kind));
  append<std::uint8_t>(bytes, static_cast<std::uint8_t>(record.operation));
  append<std::uint8_t>(bytes, static_cast<std::uint8_t>(record.phase));
  append<std::uint8_t>(bytes, static_cast<std::uint8_t>(record.component));
  return bytes;
}

// The definition, written without the code under test.
std::string defined_digest(std::span<const EventRecord> records) {
  std::string digests;
  for (std::size_t begin = 0; begin < records.size(); begin += 4096) {
    std::string block;
    for (const EventRecord& record : records.subspan(begin, std::min<std::size_t>(4096, records.size() - begin))) {
      block += bytes_of(record);
    }
    const Digest128 digest = xxh3_128(std::as_bytes(std::span(block)));
    append<std::uint64_t>(digests, digest.high);
    append<std::uint64_t>(digests, digest.low);
  }
  return sha256_hex(digests);
}

TEST(EventDigest, IsTheOneThatIsDefined) {
  for (const std::size_t size : kSizesOfLogs) {
    const std::vector<EventRecord> records = any_records(size, size + 1);
    EXPECT_EQ(digest_of(records), defined_digest(records)) << size << " records";
  }
}

TEST(EventDigest, CountsItsRecords) {
  EventDigest digest;
  for (const EventRecord& record : likely_records(4100)) digest.on_record(record);
  EXPECT_EQ(digest.records(), 4100U);
}

// Three records by hand: whoever changes the layout or the digest changes what every recorded run says of itself.
TEST(EventDigest, OfAFixedLogIsFixed) {
  EventRecord start(EventKind::kStart);
  start.sequence = 1;
  start.rank = 0;
  EventRecord delivery(EventKind::kDelivery);
  delivery.time = at_ps(5'000'080);
  delivery.sequence = 2;
  delivery.call = 7;
  delivery.step = 3;
  delivery.size = 4096;
  delivery.offset = 1024;
  delivery.digest = Digest128{0x0123456789abcdef, 0xfedcba9876543210};
  delivery.rank = 1;
  delivery.peer = 0;
  delivery.group = 2;
  delivery.generation = 1;
  delivery.index = 5;
  delivery.operation = Operation::kReduceScatter;
  delivery.phase = Phase::kReduce;
  EventRecord state(EventKind::kState);
  state.time = at_ps(5'000'080);
  state.sequence = 2;
  state.step = 3;
  state.rank = 1;
  state.index = 0;
  state.offset = 0;
  state.phase = Phase::kGather;
  state.component = StateComponent::kParameters;
  EXPECT_EQ(digest_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") << "of nothing";
  EXPECT_EQ(digest_of(std::vector<EventRecord>{start, delivery, state}),
            "bd86dcffbc392db2675efa015569b01d9740587d59dfc9131a9c4e61069c5927");
}

struct Field {
  const char* name;
  std::function<void(EventRecord&)> change;
};

template <class Enum>
Enum next_of(Enum value) {
  return static_cast<Enum>(static_cast<std::uint8_t>(value) ^ 1);
}

const std::vector<Field>& all_fields() {
  static const std::vector<Field> fields = {
      {"time", [](EventRecord& r) { r.time = at_ps(r.time.ps() ^ 1); }},
      {"sequence", [](EventRecord& r) { r.sequence ^= 1; }},
      {"call", [](EventRecord& r) { r.call ^= 1; }},
      {"step", [](EventRecord& r) { r.step ^= 1; }},
      {"size", [](EventRecord& r) { r.size ^= 1; }},
      {"offset", [](EventRecord& r) { r.offset ^= 1; }},
      {"digest's high half", [](EventRecord& r) { r.digest.high ^= 1; }},
      {"digest's low half", [](EventRecord& r) { r.digest.low ^= 1; }},
      {"rank", [](EventRecord& r) { r.rank ^= 1; }},
      {"peer", [](EventRecord& r) { r.peer ^= 1; }},
      {"group", [](EventRecord& r) { r.group ^= 1; }},
      {"generation", [](EventRecord& r) { r.generation ^= 1; }},
      {"index", [](EventRecord& r) { r.index ^= 1; }},
      {"kind", [](EventRecord& r) { r.kind = next_of(r.kind); }},
      {"operation", [](EventRecord& r) { r.operation = next_of(r.operation); }},
      {"phase", [](EventRecord& r) { r.phase = next_of(r.phase); }},
      {"component", [](EventRecord& r) { r.component = next_of(r.component); }},
  };
  return fields;
}

TEST(EventDigest, ChangesWithEveryFieldOfEveryRecord) {
  std::vector<EventRecord> records = likely_records(70);
  std::set<std::string> digests = {digest_of(records)};
  std::size_t changes = 0;
  for (EventRecord& record : records) {
    const EventRecord before = record;
    for (const Field& field : all_fields()) {
      field.change(record);
      ++changes;
      EXPECT_TRUE(digests.insert(digest_of(records)).second) << field.name;
      record = before;
    }
  }
  std::printf("%zu changes of one field gave %zu digests\n", changes, digests.size());
  EXPECT_EQ(changes, 70U * 17);
  EXPECT_EQ(digests.size(), changes + 1);
}

TEST(EventDigest, ChangesWithTheOrderOfRecords) {
  std::vector<EventRecord> records = likely_records(5000);
  const std::string before = digest_of(records);
  std::swap(records[4095], records[4096]);  // across two blocks
  EXPECT_NE(digest_of(records), before);
}

}  // namespace
}  // namespace rehearse
