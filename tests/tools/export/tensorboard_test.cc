#include "tools/export/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/json.h"
#include "tests/tools/export/wire_reader.h"
#include "tests/tools/rehearse/run_in_process.h"
#include "tools/export/crc32c.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using testing_command::Ran;
using testing_command::read_file;
using testing_command::shipped_scenario;
using testing_command::TemporaryDirectory;

// Bit by bit, from the definition: the remainder by x^32 + x^28 + ... of RFC 3720, with bits reversed.
std::uint32_t crc_by_bits(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool one = ((crc ^ static_cast<unsigned char>(c) >> bit) & 1) != 0;
      crc = crc >> 1 ^ (one ? 0x82f63b78U : 0U);
    }
  }
  return crc ^ 0xffffffff;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::uint32_t unmasked(std::uint64_t masked) {
  const auto rotated = static_cast<std::uint32_t>(masked) - 0xa282ead8U;
  return rotated >> 17 | rotated << 15;
}

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
  std::optional<std::uint64_t> session;
};

Event event_of(std::string_view bytes) {
  Event event;
  for (const WireField& field : read_wire(bytes)) {
    if (field.number == 1) event.wall_time = field.real();
    if (field.number == 2) event.step = static_cast<std::int64_t>(field.value);
    if (field.number == 3) event.version = field.bytes;
    if (field.number == 7) event.session = read_wire(field.bytes).front().value;
    if (field.number != 5) continue;
    for (const WireField& value : read_wire(field.bytes)) {
      std::string tag;
      float number = 0;
      for (const WireField& part : read_wire(value.bytes)) {
        if (part.number == 1) tag = part.bytes;
        if (part.number == 2) number = part.real32();
      }
      event.scalars[tag] = number;
    }
  }
  return event;
}

// TFRecords: length, its CRC, bytes, their CRC.
std::vector<Event> read_events(const std::string& file) {
  std::vector<Event> events;
  std::string_view in = file;
  while (!in.empty()) {
    const std::string_view length = take(in, 8);
    EXPECT_EQ(unmasked(little_endian(take(in, 4))), crc_by_bits(length));
    const std::string_view bytes = take(in, little_endian(length));
    EXPECT_EQ(unmasked(little_endian(take(in, 4))), crc_by_bits(bytes));
    events.push_back(event_of(bytes));
  }
  return events;
}

TEST(Crc32c, IsThatOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(unmasked(masked_crc32c("123456789")), 0xe3069283U);
}

class TensorBoard : public testing::Test {
 protected:
  void run(const std::string& scenario) {
    const Ran ran = testing_command::rehearse(
        {"run", scenario, "--format", "json", "--out", directory_ / "out", "--tensorboard", directory_ / "tb/run"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    summary_ = parse_json(ran.out);
    file_ = read_file(directory_ / "tb/run/" + kTensorBoardFile);
    events_ = read_events(file_);
  }
  TemporaryDirectory directory_;
  Json summary_;
  std::string file_;
  std::vector<Event> events_;
};

TEST_F(TensorBoard, BeginsWithTheVersionOfTheFormat) {
  run(shipped_scenario("capstone"));
  ASSERT_FALSE(events_.empty());
  EXPECT_EQ(events_.front().version, "brain.Event:2");
}

TEST_F(TensorBoard, HasTheNumbersOfEachStep) {
  run(shipped_scenario("text"));
  std::vector<float> losses;
  std::map<std::int64_t, float> evals;
  for (const Event& event : events_) {
    if (event.scalars.contains("eval/loss")) evals[event.step] = event.scalars.at("eval/loss");
    if (!event.scalars.contains("train/loss")) continue;
    losses.push_back(event.scalars.at("train/loss"));
    EXPECT_EQ(event.step, static_cast<std::int64_t>(losses.size()));
    EXPECT_EQ(event.scalars.at("train/grad_norm"), summary_["grad_norms"][losses.size() - 1].get<float>());
    EXPECT_EQ(event.scalars.at("memory/parameters"), summary_["memory"]["max"]["parameters"].get<float>());
  }
  EXPECT_EQ(losses, summary_["losses"].get<std::vector<float>>());
  ASSERT_FALSE(summary_["eval_losses"].empty());
  for (const Json& eval : summary_["eval_losses"]) {
    EXPECT_EQ(evals.at(eval["step"].get<std::int64_t>()), eval["loss"].get<float>());
  }
}

TEST_F(TensorBoard, StartsAnewWhereTheJobGoesBack) {
  run(shipped_scenario("crash_rolls_back"));
  std::vector<std::int64_t> steps;
  for (const Event& event : events_) {
    if (!event.session.has_value()) {
      if (event.scalars.contains("train/loss")) steps.push_back(event.step);
      continue;
    }
    EXPECT_EQ(*event.session, 1U);  // START
    EXPECT_EQ(event.step, 11);
    EXPECT_EQ(steps.back(), 12);
    EXPECT_EQ(event.wall_time, summary_["recoveries"][0]["resumed_seconds"].get<double>());
    steps.clear();
  }
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.front(), 11);
  EXPECT_EQ(steps.back(), 20);
}

TEST_F(TensorBoard, IsTheSameInAReplay) {
  run(shipped_scenario("crash_rolls_back"));
  const Ran ran = testing_command::rehearse({"replay", directory_ / "out", "--tensorboard", directory_ / "tb/again"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(directory_ / "tb/again/" + kTensorBoardFile), file_);
}

TEST_F(TensorBoard, DoesNotMixTwoRuns) {
  run(shipped_scenario("one_rank"));
  const Ran ran =
      testing_command::rehearse({"run", shipped_scenario("one_rank"), "--tensorboard", directory_ / "tb/run"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("it has the event file of another run"));
  EXPECT_EQ(read_file(directory_ / "tb/run/" + kTensorBoardFile), file_);
}

}  // namespace
}  // namespace rehearse
