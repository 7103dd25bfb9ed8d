// What LogWriter writes, LogReader reads: record by record, whatever they are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/sim/trace/logs.h"
#include "tests/sim/trace/records.h"

namespace rehearse {
namespace {

TEST(EventLogFile, GivesBackEveryRecordThatWasWritten) {
  std::size_t compared = 0;
  for (const std::size_t size : kSizesOfLogs) {
    for (const auto& records : {likely_records(size, size), any_records(size, size)}) {
      const ReadLog log = read_log(joined(write_pieces(records)));
      EXPECT_EQ(log.error, "");
      ASSERT_EQ(log.records.size(), size);
      for (std::size_t i = 0; i < size; ++i) ASSERT_TRUE(log.records[i] == records[i]) << "record " << i;
      EXPECT_EQ(log.counted, size);
      compared += size;
    }
  }
  std::printf("%zu records compared\n", compared);
}

TEST(EventLogFile, RecordsOfDefaultsNeedNoColumns) {
  std::vector<EventRecord> records(10, EventRecord(EventKind::kStart));
  const ReadLog log = read_log(joined(write_pieces(records)));
  EXPECT_EQ(log.error, "");
  EXPECT_EQ(log.records, records);
}

TEST(EventLogFile, ColumnIsThereWhereOneRecordNeedsIt) {
  const std::vector<void (*)(EventRecord&)> changes = {
      [](EventRecord& r) { r.time = at_ps(5); },
      [](EventRecord& r) { r.sequence = 1; },
      [](EventRecord& r) { r.call = 1; },
      [](EventRecord& r) { r.step = 1; },
      [](EventRecord& r) { r.size = 1; },
      [](EventRecord& r) { r.offset = 0; },
      [](EventRecord& r) { r.digest.high = 1; },
      [](EventRecord& r) { r.digest.low = 1; },
      [](EventRecord& r) { r.rank = 0; },
      [](EventRecord& r) { r.peer = 0; },
      [](EventRecord& r) { r.group = 1; },
      [](EventRecord& r) { r.generation = 1; },
      [](EventRecord& r) { r.index = 0; },
      [](EventRecord& r) { r.kind = EventKind::kFault; },
      [](EventRecord& r) { r.operation = Operation::kBarrier; },
      [](EventRecord& r) { r.phase = Phase::kEnd; },
      [](EventRecord& r) { r.component = StateComponent::kLoss; },
  };
  for (const auto change : changes) {
    for (std::size_t place = 0; place < 3; ++place) {
      std::vector<EventRecord> records(3, EventRecord(EventKind::kStart));
      change(records[place]);
      const ReadLog log = read_log(joined(write_pieces(records)));
      EXPECT_EQ(log.error, "");
      EXPECT_EQ(log.records, records) << "field " << &change - changes.data() << " of record " << place;
    }
  }
}

TEST(EventLogFile, GivesBackItsHeader) {
  LogHeader header = some_header();
  header.seed = ~std::uint64_t{0};
  header.ranks = 65536;
  header.resumed_from = 10;
  const ReadLog log = read_log(joined(write_pieces({}, header)));
  EXPECT_EQ(log.error, "");
  EXPECT_EQ(log.header.scenario, header.scenario);
  EXPECT_EQ(log.header.scenario_sha256, header.scenario_sha256);
  EXPECT_EQ(log.header.arithmetic_sha256, header.arithmetic_sha256);
  EXPECT_EQ(log.header.seed, header.seed);
  EXPECT_EQ(log.header.ranks, header.ranks);
  EXPECT_EQ(log.header.resumed_from, header.resumed_from);
  EXPECT_EQ(log.header.build, header.build);
  EXPECT_EQ(log.header.cpu, header.cpu);
}

// Step 0 has a checkpoint too, in principle: none is something else.
TEST(EventLogFile, TellsARunFromTheStartFromOneThatContinues) {
  LogHeader header = some_header();
  EXPECT_EQ(read_log(joined(write_pieces({}, header))).header.resumed_from, std::nullopt);
  header.resumed_from = 0;
  EXPECT_EQ(read_log(joined(write_pieces({}, header))).header.resumed_from, 0);
}

TEST(EventLogFile, GivesBackHowTheRunEnded) {
  std::string bytes;
  LogWriter writer(some_header(), [&bytes](std::string_view piece) { bytes += piece; });
  for (const EventRecord& record : likely_records(5)) writer.on_record(record);
  writer.finish("DEADLOCK");
  const ReadLog log = read_log(bytes);
  EXPECT_EQ(log.event_digest, digest_of(likely_records(5)));
  EXPECT_EQ(log.outcome, "DEADLOCK");
}

TEST(EventLogFile, NothingMoreComesAfterTheEnd) {
  LogReader reader(std::make_unique<std::istringstream>(joined(write_pieces(likely_records(2)))), kLogPath);
  EventRecord record;
  EXPECT_TRUE(reader.next(record));
  EXPECT_TRUE(reader.next(record));
  EXPECT_FALSE(reader.next(record));
  EXPECT_FALSE(reader.next(record));
  EXPECT_EQ(reader.records(), 2U);
}

// The writer holds no more than a block: each time one is full, it is out.
TEST(LogWriter, WritesEachBlockWhenItIsFull) {
  std::vector<std::size_t> written_after;  // how many records had been given at each write
  std::size_t given = 0;
  LogWriter writer(some_header(), [&](std::string_view) { written_after.push_back(given); });
  for (const EventRecord& record : likely_records(10000)) {
    ++given;
    writer.on_record(record);
  }
  EXPECT_EQ(written_after, (std::vector<std::size_t>{0, 4096, 8192}));
  writer.finish("DONE");
  EXPECT_EQ(written_after, (std::vector<std::size_t>{0, 4096, 8192, 10000, 10000})) << "the rest, and the end";
}

TEST(LogWriter, WritesNoEmptyBlock) {
  EXPECT_EQ(write_pieces({}).size(), 2U);
  EXPECT_EQ(write_pieces(likely_records(4096)).size(), 3U);
}

TEST(LogWriter, WhatTheCallerThrowsLeavesThroughIt) {
  const auto no_space = [](std::string_view) { throw InputError("no space"); };
  EXPECT_THROW(LogWriter(some_header(), no_space), InputError);
}

TEST(LogReader, ReadsARealFile) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("rehearse_log_test_" + std::to_string(getpid()));
  const std::vector<EventRecord> records = likely_records(5000);
  std::ofstream(path, std::ios::binary) << joined(write_pieces(records));
  LogReader reader(path.string());
  std::vector<EventRecord> read;
  for (EventRecord record; reader.next(record);) read.push_back(record);
  EXPECT_TRUE(read == records);
  std::filesystem::remove(path);
}

TEST(LogReader, AFileThatIsNotThereIsNamed) {
  try {
    const LogReader reader("no/such/events.bin");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "no/such/events.bin: cannot be read");
  }
}

}  // namespace
}  // namespace rehearse
