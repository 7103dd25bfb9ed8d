#include "sim/trace/record_comparison.h"

#include <gtest/gtest.h>

#include "tests/sim/trace/records.h"

namespace rehearse {
namespace {

constexpr std::size_t kRecords = 30;

std::optional<RecordDifference> compare(const std::vector<EventRecord>& expected,
                                        const std::vector<EventRecord>& found) {
  ListSource a(expected);
  ListSource b(found);
  return first_difference(a, b);
}

TEST(RecordComparison, EqualSequencesHaveNoDifference) {
  EXPECT_FALSE(compare({}, {}).has_value());
  const std::vector<EventRecord> records = likely_records(kRecords);
  EXPECT_FALSE(compare(records, records).has_value());
}

TEST(RecordComparison, CountsWhatWasEqual) {
  const std::vector<EventRecord> records = likely_records(kRecords);
  ListSource expected(records);
  RecordComparison comparison(expected);
  for (const EventRecord& record : records) comparison.on_record(record);
  comparison.finish();
  EXPECT_EQ(comparison.compared(), kRecords);
}

// The first, the last, and all between: each with the records that came before it, at most ten.
TEST(RecordComparison, FindsTheOneRecordThatDiffersWhereverItIs) {
  const std::vector<EventRecord> expected = likely_records(kRecords);
  for (std::size_t changed = 0; changed < kRecords; ++changed) {
    std::vector<EventRecord> found = expected;
    found[changed].digest.low ^= 1;
    const std::optional<RecordDifference> difference = compare(expected, found);
    ASSERT_TRUE(difference.has_value()) << changed;
    EXPECT_EQ(difference->index, changed);
    EXPECT_EQ(difference->expected, expected[changed]);
    EXPECT_EQ(difference->found, found[changed]);
    const auto end = expected.begin() + static_cast<std::ptrdiff_t>(changed);
    const auto begin = end - static_cast<std::ptrdiff_t>(std::min<std::size_t>(changed, 10));
    EXPECT_EQ(difference->before, std::vector<EventRecord>(begin, end)) << changed;
  }
}

TEST(RecordComparison, LaterDifferencesDoNotHideTheFirst) {
  const std::vector<EventRecord> expected = likely_records(kRecords, 1);
  std::vector<EventRecord> found = likely_records(kRecords, 2);
  found[0] = expected[0];
  EXPECT_EQ(compare(expected, found)->index, 1U);
}

TEST(RecordComparison, ExpectedSequenceThatEndsFirstIsADifference) {
  const std::vector<EventRecord> found = likely_records(kRecords);
  const std::vector<EventRecord> expected(found.begin(), found.end() - 1);
  const std::optional<RecordDifference> difference = compare(expected, found);
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->index, kRecords - 1);
  EXPECT_EQ(difference->expected, std::nullopt);
  EXPECT_EQ(difference->found, found.back());
  EXPECT_EQ(difference->before.size(), 10U);
}

TEST(RecordComparison, FoundSequenceThatEndsFirstIsADifference) {
  const std::vector<EventRecord> expected = likely_records(kRecords);
  const std::optional<RecordDifference> difference = compare(expected, {});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->index, 0U);
  EXPECT_EQ(difference->expected, expected.front());
  EXPECT_EQ(difference->found, std::nullopt);
  EXPECT_TRUE(difference->before.empty());
}

TEST(RecordComparison, TellsOfTheFirstDifferenceAtOnceAndOnce) {
  const std::vector<EventRecord> expected = likely_records(3, 1);
  const std::vector<EventRecord> found = likely_records(3, 2);
  ListSource source(expected);
  int told = 0;
  RecordComparison comparison(source, [&told] { ++told; });
  EXPECT_EQ(told, 0);
  comparison.on_record(found[0]);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(source.taken(), 1U);
  comparison.on_record(found[1]);
  comparison.finish();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(source.taken(), 1U) << "nothing is read after the first difference";
}

TEST(RecordComparison, WhatItsListenerThrowsLeavesThroughIt) {
  ListSource source({});
  RecordComparison comparison(source, [] { throw std::runtime_error("stop"); });
  EXPECT_THROW(comparison.on_record(EventRecord(EventKind::kStart)), std::runtime_error);
}

TEST(RecordQueue, GivesWhatItHeardInOrderAndNoMore) {
  RecordQueue queue;
  EventRecord record;
  EXPECT_FALSE(queue.next(record));
  const std::vector<EventRecord> records = likely_records(3);
  queue.on_record(records[0]);
  queue.on_record(records[1]);
  ASSERT_TRUE(queue.next(record));
  EXPECT_EQ(record, records[0]);
  queue.on_record(records[2]);
  ASSERT_TRUE(queue.next(record));
  EXPECT_EQ(record, records[1]);
  ASSERT_TRUE(queue.next(record));
  EXPECT_EQ(record, records[2]);
  EXPECT_FALSE(queue.next(record));
}

}  // namespace
}  // namespace rehearse
