// A log that is not whole is refused with what is wrong, wherever it was damaged, and never taken for another.

#include <gmock/gmock.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <map>
#include <span>

#include "sim/trace/event_digest.h"
#include "sim/trace/event_log.pb.h"
#include "tests/sim/trace/logs.h"
#include "tests/sim/trace/records.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kRecords = 30;

std::string error_of(const std::string& bytes) {
  const ReadLog log = read_log(bytes);
  return log.error.empty() ? "no error" : log.error;
}

std::string frame_bytes(const trace::LogFrame& frame) {
  std::ostringstream out;
  google::protobuf::util::SerializeDelimitedToOstream(frame, &out);
  return out.str();
}

trace::LogFrame frame_of(const std::string& piece) {
  std::istringstream in(piece);
  google::protobuf::io::IstreamInputStream stream(&in);
  trace::LogFrame frame;
  bool clean = false;
  EXPECT_TRUE(google::protobuf::util::ParseDelimitedFromZeroCopyStream(&frame, &stream, &clean));
  return frame;
}

// A log of some records whose frames a test changes and writes again; digests stay as they are.
struct EditedLog {
  trace::LogFrame header;
  trace::LogFrame block;
  trace::LogFrame end;
  std::string bytes() const { return frame_bytes(header) + frame_bytes(block) + frame_bytes(end); }
};

EditedLog log_to_edit() {
  const std::vector<std::string> pieces = write_pieces(likely_records(kRecords));
  return {frame_of(pieces[0]), frame_of(pieces[1]), frame_of(pieces[2])};
}

TEST(DamagedLog, UneditedOneIsWhole) {
  const std::vector<std::string> pieces = write_pieces(likely_records(kRecords));
  EXPECT_EQ(log_to_edit().bytes(), joined(pieces));
  EXPECT_EQ(error_of(log_to_edit().bytes()), "no error");
}

TEST(DamagedLog, EmptyFileIsRefused) {
  EXPECT_EQ(error_of(""), "dir/events.bin: is empty; an event log begins with a header");
}

TEST(DamagedLog, AnotherFileIsRefused) {
  const std::string refusal = "dir/events.bin: is not an event log: no header is found";
  EXPECT_EQ(error_of("# Four ranks train a GPT.\nname: \"capstone\"\n"), refusal);
  EXPECT_EQ(error_of("{\"scenario\": \"capstone\"}\n"), refusal);
  EXPECT_EQ(error_of(std::string(1000, '\0')), refusal);
  EXPECT_EQ(error_of(std::string(1000, '\xff')), refusal) << "the size of a frame that does not end";
}

TEST(DamagedLog, LogWithoutItsHeaderIsRefused) {
  const std::string refusal = "dir/events.bin: is not an event log: no header is found";
  const EditedLog log = log_to_edit();
  EXPECT_EQ(error_of(frame_bytes(log.block) + frame_bytes(log.end)), refusal);
  EXPECT_EQ(error_of(frame_bytes(log.end)), refusal);
  EXPECT_EQ(error_of(frame_bytes(trace::LogFrame())), refusal);
}

TEST(DamagedLog, AnotherSchemaVersionIsRefused) {
  EditedLog log = log_to_edit();
  log.header.mutable_header()->set_schema_version(2);
  EXPECT_EQ(error_of(log.bytes()), "dir/events.bin: has schema version 2; this program reads version 1");
  log.header.mutable_header()->clear_schema_version();
  EXPECT_EQ(error_of(log.bytes()), "dir/events.bin: has schema version 0; this program reads version 1");
}

TEST(DamagedLog, NoRanksAreRefused) {
  EditedLog log = log_to_edit();
  log.header.mutable_header()->set_ranks(0);
  EXPECT_EQ(error_of(log.bytes()), "dir/events.bin: is damaged: the header says 0 ranks");
  log.header.mutable_header()->set_ranks(-4);
  EXPECT_EQ(error_of(log.bytes()), "dir/events.bin: is damaged: the header says -4 ranks");
}

TEST(DamagedLog, CutAtAnyByteIsRefused) {
  const std::vector<std::string> pieces = write_pieces(likely_records(kRecords));
  const std::string whole = joined(pieces);
  const std::string cut_short = ": its run was stopped before it ended, or the file was not copied whole";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const ReadLog log = read_log(whole.substr(0, size));
    std::string expected = "dir/events.bin: is cut short after record 30" + cut_short;
    if (size < pieces[0].size() + pieces[1].size())
      expected = "dir/events.bin: is cut short after record 0" + cut_short;
    if (size < pieces[0].size()) expected = "dir/events.bin: is not an event log: no header is found";
    if (size == 0) expected = "dir/events.bin: is empty; an event log begins with a header";
    ASSERT_EQ(log.error, expected) << "cut to " << size << " bytes";
    ASSERT_EQ(log.records.size(), size < pieces[0].size() + pieces[1].size() ? 0 : kRecords);
  }
  std::printf("%zu cuts\n", whole.size());
}

bool same_header(const LogHeader& a, const LogHeader& b) {
  return a.scenario == b.scenario && a.scenario_sha256 == b.scenario_sha256 &&
         a.arithmetic_sha256 == b.arithmetic_sha256 && a.seed == b.seed && a.ranks == b.ranks &&
         a.resumed_from == b.resumed_from && a.build == b.build && a.cpu == b.cpu;
}

// What one frame's flipped bits came to.
struct Flips {
  std::size_t refused = 0;
  std::size_t noted = 0;
  std::size_t unchanged = 0;  // everything that was read is what was written
  std::size_t other = 0;      // something else was read
};

Flips flip_all_bits(std::size_t piece, bool note_alterations,
                    const std::function<void(const ReadLog&, std::size_t bit)>& on_other) {
  const std::vector<EventRecord> records = likely_records(kRecords);
  const std::vector<std::string> pieces = write_pieces(records);
  const ReadLog whole = read_log(joined(pieces));
  Flips flips;
  for (std::size_t bit = 0; bit < 8 * pieces[piece].size(); ++bit) {
    std::vector<std::string> damaged = pieces;
    damaged[piece][bit / 8] = static_cast<char>(damaged[piece][bit / 8] ^ (1 << (bit % 8)));
    const ReadLog log = read_log(joined(damaged), note_alterations);
    if (!log.error.empty()) {
      EXPECT_THAT(log.error, StartsWith("dir/events.bin: ")) << "bit " << bit;
      ++flips.refused;
    } else if (!log.altered.empty()) {
      EXPECT_EQ(log.altered,
                "records 0 to 29 do not match their own digest: the file was changed after it was written");
      ++flips.noted;
    } else if (log.records == whole.records && log.event_digest == whole.event_digest && log.outcome == whole.outcome &&
               same_header(log.header, whole.header)) {
      ++flips.unchanged;
    } else {
      on_other(log, bit);
      ++flips.other;
    }
  }
  std::printf("%zu bits of frame %zu: %zu refused, %zu noted, %zu unchanged, %zu read otherwise\n",
              8 * pieces[piece].size(), piece, flips.refused, flips.noted, flips.unchanged, flips.other);
  return flips;
}

TEST(DamagedLog, EveryBitOfABlockIsGuarded) {
  const auto fail = [](const ReadLog&, std::size_t bit) { ADD_FAILURE() << "bit " << bit << " was read otherwise"; };
  const Flips flips = flip_all_bits(1, false, fail);
  EXPECT_GT(flips.refused, 0U);
  EXPECT_EQ(flips.noted, 0U);
}

TEST(DamagedLog, EveryBitOfABlockIsNotedWhereItIsNotRefused) {
  const auto fail = [](const ReadLog&, std::size_t bit) { ADD_FAILURE() << "bit " << bit << " was read otherwise"; };
  const Flips strict = flip_all_bits(1, false, fail);
  const Flips lenient = flip_all_bits(1, true, fail);
  EXPECT_GT(lenient.noted, 0U);
  EXPECT_EQ(lenient.noted + lenient.refused, strict.refused);
}

// The seal in the end covers both.
TEST(DamagedLog, EveryBitOfTheHeaderAndOfTheEndIsGuarded) {
  const auto fail = [](const ReadLog&, std::size_t bit) { ADD_FAILURE() << "bit " << bit << " was read otherwise"; };
  for (const std::size_t piece : {0, 2}) {
    const Flips flips = flip_all_bits(piece, true, fail);
    EXPECT_GT(flips.refused, 0U);
    EXPECT_EQ(flips.noted, 0U);
  }
}

// Several bytes at once, a run of them lost, or put in twice: an error that names the file, or the records as written.
TEST(DamagedLog, WhateverElseHappensToTheBytesNoOtherRecordsAreRead) {
  constexpr int kDamages = 20000;
  const std::vector<EventRecord> records = likely_records(kRecords);
  const std::string whole = joined(write_pieces(records));
  RandomStream random(7);
  int refused = 0;
  for (int i = 0; i < kDamages; ++i) {
    std::string bytes = whole;
    const std::size_t place = random.below(bytes.size());
    const std::size_t length = 1 + random.below(12);
    if (i % 3 == 0) {
      for (std::size_t b = place; b < std::min(bytes.size(), place + length); ++b) {
        bytes[b] = static_cast<char>(random.next_u64());
      }
    } else if (i % 3 == 1) {
      bytes.erase(place, length);
    } else {
      bytes.insert(place, bytes.substr(random.below(bytes.size()), length));
    }
    const ReadLog log = read_log(bytes);
    if (log.error.empty()) {
      ASSERT_TRUE(log.records == records) << "damage " << i;
    } else {
      ASSERT_THAT(log.error, StartsWith("dir/events.bin: ")) << "damage " << i;
      ++refused;
    }
  }
  std::printf("%d of %d damages refused\n", refused, kDamages);
  EXPECT_GT(refused, kDamages / 2);
}

TEST(DamagedLog, WhatFollowsTheEndIsRefused) {
  const std::string refusal = "dir/events.bin: is damaged: something follows the end";
  const std::string whole = log_to_edit().bytes();
  for (const std::string& more :
       {std::string(1, '\0'), std::string("x"), std::string(20, '\xff'), std::string(9, '\x80'),
        frame_bytes(log_to_edit().end), frame_bytes(log_to_edit().block), whole}) {
    EXPECT_EQ(error_of(whole + more), refusal) << more.size() << " bytes";
  }
}

TEST(DamagedLog, BlockInTheWrongPlaceIsRefused) {
  const std::vector<std::string> pieces = write_pieces(likely_records(3 * 4096));
  ASSERT_EQ(pieces.size(), 5U);
  const auto text = [](int after, int begins) {
    return "dir/events.bin: is damaged after record " + std::to_string(after) +
           ": a block of 4096 records begins with record " + std::to_string(begins);
  };
  EXPECT_EQ(error_of(pieces[0] + pieces[2] + pieces[1] + pieces[3] + pieces[4]), text(0, 4096)) << "swapped";
  EXPECT_EQ(error_of(pieces[0] + pieces[1] + pieces[3] + pieces[4]), text(4096, 8192)) << "one is missing";
  EXPECT_EQ(error_of(pieces[0] + pieces[1] + pieces[1] + pieces[2] + pieces[3] + pieces[4]), text(4096, 0)) << "twice";
}

TEST(DamagedLog, SecondHeaderIsRefused) {
  const EditedLog log = log_to_edit();
  EXPECT_EQ(error_of(frame_bytes(log.header) + log.bytes()),
            "dir/events.bin: is damaged after record 0: what follows is no block of records");
}

TEST(DamagedLog, EndThatCountsOtherRecordsIsRefused) {
  EditedLog log = log_to_edit();
  log.end.mutable_end()->set_records(29);
  EXPECT_EQ(error_of(log.bytes()), "dir/events.bin: is damaged: it has 30 records and says that it has 29");
  EXPECT_EQ(error_of(frame_bytes(log_to_edit().header) + frame_bytes(log_to_edit().end)),
            "dir/events.bin: is damaged: it has 0 records and says that it has 30");
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// A size that no frame has is not believed: nothing of that size is read or held.
TEST(DamagedLog, FrameBeyondFourMebibytesIsRefusedUnread) {
  const std::string header = frame_bytes(log_to_edit().header);
  const std::string damaged = "dir/events.bin: is damaged after record 0: what follows is no block of records";
  const std::uint64_t limit = 4 << 20;
  EXPECT_THAT(error_of(header + varint(limit) + "x"), StartsWith("dir/events.bin: is cut short after record 0"));
  for (const std::uint64_t size :
       {limit + 1, std::uint64_t{0x7fffffff}, std::uint64_t{0xffffffff}, ~std::uint64_t{0}}) {
    EXPECT_EQ(error_of(header + varint(size) + "x"), damaged) << size;
    EXPECT_EQ(error_of(varint(size) + "x"), "dir/events.bin: is not an event log: no header is found") << size;
  }
}

// One whose lower half alone would be right.
TEST(DamagedLog, FrameSizeBeyond32BitsIsRefused) {
  const EditedLog log = log_to_edit();
  const std::string block = log.block.SerializeAsString();
  const std::string size = varint((std::uint64_t{1} << 32) + block.size());
  EXPECT_EQ(error_of(frame_bytes(log.header) + size + block + frame_bytes(log.end)),
            "dir/events.bin: is damaged after record 0: what follows is no block of records");
}

TEST(DamagedLog, BlockOfNoRecordsIsRefused) {
  EditedLog log = log_to_edit();
  log.block.mutable_block()->Clear();
  EXPECT_EQ(error_of(log.bytes()),
            "dir/events.bin: is damaged after record 0: a block of 0 records begins with record 0");
}

TEST(DamagedLog, BlockOfMoreRecordsThanABlockHasIsRefused) {
  EditedLog log = log_to_edit();
  for (int i = static_cast<int>(kRecords); i < 4'000'000; ++i) log.block.mutable_block()->add_time(0);
  EXPECT_EQ(error_of(log.bytes()),
            "dir/events.bin: is damaged after record 0: a block of 4000000 records begins with record 0");
}

using google::protobuf::FieldDescriptor;

// Those that are left out where all entries have their default.
std::vector<const FieldDescriptor*> columns_that_may_be_absent() {
  std::vector<const FieldDescriptor*> columns;
  const google::protobuf::Descriptor& block = *trace::LogBlock::descriptor();
  for (int i = 0; i < block.field_count(); ++i) {
    const std::string& name = block.field(i)->name();
    if (!block.field(i)->is_repeated() || name == "time" || name == "sequence" || name == "kind") continue;
    columns.push_back(block.field(i));
  }
  return columns;
}

void clear(trace::LogBlock& block, const FieldDescriptor* column) { block.GetReflection()->ClearField(&block, column); }

void add_one(trace::LogBlock& block, const FieldDescriptor* column) {
  switch (column->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return block.GetReflection()->AddInt32(&block, column, 1);
    case FieldDescriptor::CPPTYPE_UINT32:
      return block.GetReflection()->AddUInt32(&block, column, 1);
    case FieldDescriptor::CPPTYPE_INT64:
      return block.GetReflection()->AddInt64(&block, column, 1);
    default:
      return block.GetReflection()->AddUInt64(&block, column, 1);
  }
}

TEST(DamagedLog, ColumnOfAnotherLengthIsRefused) {
  EXPECT_EQ(columns_that_may_be_absent().size(), 14U);
  for (const FieldDescriptor* column : columns_that_may_be_absent()) {
    for (const int entries : {1, 29, 31}) {
      EditedLog log = log_to_edit();
      clear(*log.block.mutable_block(), column);
      for (int i = 0; i < entries; ++i) add_one(*log.block.mutable_block(), column);
      EXPECT_EQ(error_of(log.bytes()), std::string("dir/events.bin: is damaged after record 0: column ") +
                                           column->name() + " has " + std::to_string(entries) + " of 30 entries");
    }
  }
}

TEST(DamagedLog, ColumnThatIsLostIsRefused) {
  const std::string refusal =
      "dir/events.bin: records 0 to 29 do not match their own digest: the file was changed after it was written";
  for (const FieldDescriptor* column : columns_that_may_be_absent()) {
    EditedLog log = log_to_edit();
    clear(*log.block.mutable_block(), column);
    EXPECT_EQ(error_of(log.bytes()), refusal) << column->name();
  }
}

TEST(DamagedLog, KindAndSequenceMustBeWhole) {
  EditedLog log = log_to_edit();
  log.block.mutable_block()->clear_kind();
  EXPECT_EQ(error_of(log.bytes()), "dir/events.bin: is damaged after record 0: column kind is not whole");
  log = log_to_edit();
  log.block.mutable_block()->mutable_kind()->RemoveLast();
  EXPECT_EQ(error_of(log.bytes()), "dir/events.bin: is damaged after record 0: column kind is not whole");
  log = log_to_edit();
  log.block.mutable_block()->add_sequence(1);
  EXPECT_EQ(error_of(log.bytes()), "dir/events.bin: is damaged after record 0: column sequence is not whole");
}

// A record may have every kind that there is, and no other; the same with operations, phases and components.
TEST(DamagedLog, NumbersThatNoEnumHasAreRefused) {
  const std::string at = "dir/events.bin: is damaged after record 0: ";
  const auto error_with = [](const std::function<void(trace::LogBlock&)>& change) {
    EditedLog log = log_to_edit();
    trace::LogBlock& block = *log.block.mutable_block();
    change(block);
    return error_of(log.bytes());
  };
  int tried = 0;
  for (std::uint32_t number = 0; number <= 300; ++number) {
    std::string missing(" ");
    missing += std::to_string(number) + " does not exist";
    const auto expect = [&](bool exists, const char* name, const std::string& error) {
      EXPECT_EQ(error == at + name + missing, !exists) << name << missing << ": " << error;
      ++tried;
    };
    expect(is_event_kind(number), "kind", error_with([&](trace::LogBlock& b) { b.set_kind(7, number); }));
    expect(number <= 9, "operation", error_with([&](trace::LogBlock& b) { b.set_operation(7, number); }));
    expect(number <= 9, "phase", error_with([&](trace::LogBlock& b) { b.set_phase(7, number); }));
    expect(number <= 8, "component", error_with([&](trace::LogBlock& b) { b.set_component(7, number); }));
  }
  std::printf("%d numbers\n", tried);
  for (const std::uint32_t number : {0U, 63U, 68U, 255U, 256U}) EXPECT_FALSE(is_event_kind(number)) << number;
}

TEST(DamagedLog, AlteredRecordsAreNotedAndReadOn) {
  const std::vector<EventRecord> records = likely_records(3 * 4096);
  const std::vector<std::string> pieces = write_pieces(records);
  trace::LogFrame second = frame_of(pieces[2]);
  trace::LogFrame third = frame_of(pieces[3]);
  second.mutable_block()->set_size(10, 123456789);
  third.mutable_block()->set_size(20, 123456789);
  const std::string bytes = pieces[0] + pieces[1] + frame_bytes(second) + frame_bytes(third) + pieces[4];
  EXPECT_EQ(error_of(bytes),
            "dir/events.bin: records 4096 to 8191 do not match their own digest: the file was changed after it was "
            "written");
  const ReadLog log = read_log(bytes, true);
  EXPECT_EQ(log.error, "");
  EXPECT_EQ(log.altered,
            "records 4096 to 8191 do not match their own digest: the file was changed after it was written")
      << "the first of them";
  std::vector<EventRecord> expected = records;
  expected[4096 + 10].size = 123456789;
  expected[8192 + 20].size = 123456789;
  EXPECT_TRUE(log.records == expected);
}

TEST(DamagedLog, AWholeLogIsNotAltered) {
  const ReadLog log = read_log(joined(write_pieces(likely_records(5000))), true);
  EXPECT_EQ(log.error, "");
  EXPECT_EQ(log.altered, "");
}

}  // namespace
}  // namespace rehearse
