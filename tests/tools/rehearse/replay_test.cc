#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/tools/rehearse/event_file.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The line that begins with the word.
std::string line_of(const std::string& text, const std::string& word) {
  const std::size_t begin = text.find("\n  " + word + " ");
  if (begin == std::string::npos) return "no line " + word;
  return text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
}

class Replay : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "small.textproto", small_scenario("final_step: 6"));
    ASSERT_EQ(rehearse({"run", folder_ / "small.textproto", "--out", run_}).code, 0);
  }

  void expect_reproduced(const std::string& directory) {
    const Ran text = rehearse({"replay", directory});
    EXPECT_EQ(text.code, 0) << text.err << text.out;
    EXPECT_THAT(text.err, IsEmpty());
    EXPECT_THAT(text.out, HasSubstr("\nREPRODUCED: "));
    const Ran ran = rehearse({"replay", directory, "--format", "json"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    const json result = json::parse(ran.out);
    EXPECT_EQ(result["identical"], true);
    EXPECT_EQ(result["compared"], read_events(directory + "/events.bin").records.size());
    EXPECT_FALSE(result.contains("difference"));
  }

  // Exit code 2 and the file's name, in both formats.
  std::string refusal_of(const std::string& file) {
    const Ran ran = rehearse({"replay", run_, "--format", "json"});
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, HasSubstr(run_ + "/" + file));
    const Ran text = rehearse({"replay", run_});
    EXPECT_EQ(text.code, 2);
    EXPECT_EQ(text.err, ran.err);
    return ran.err;
  }

  TemporaryDirectory folder_;
  std::string run_ = folder_ / "run";
  std::string events_ = run_ + "/events.bin";
};

TEST_F(Replay, AFreshRecordingIsReproduced) {
  expect_reproduced(run_);
  const json summary = json::parse(read_file(run_ + "/summary.json"));
  EXPECT_THAT(rehearse({"replay", run_}).out,
              HasSubstr("event_digest    " + summary["event_digest"].get<std::string>()));
}

TEST_F(Replay, ShippedScenariosAreReproduced) {
  for (const char* name : {"capstone", "seven_ranks", "lossy_network", "corrupted_unnoticed", "partition_heals"}) {
    const std::string out = folder_ / name;
    ASSERT_EQ(rehearse({"run", shipped_scenario(name), "--out", out}).code, 0);
    expect_reproduced(out);
  }
}

TEST_F(Replay, SeedAndOverridesOfTheCommandLineAreInTheRecording) {
  const std::string out = folder_ / "changed";
  ASSERT_EQ(rehearse({"run", folder_ / "small.textproto", "--out", out, "--seed", "9", "--set",
                      "cluster.network.jitter=4us", "--set", "cluster.ranks=3"})
                .code,
            0);
  EXPECT_EQ(read_events(out + "/events.bin").header.seed, 9u);
  expect_reproduced(out);
}

TEST_F(Replay, AContinuedRunIsReproducedFromItsCopyOfTheCheckpoint) {
  const std::string out = folder_ / "continued";
  ASSERT_EQ(rehearse({"resume", run_ + "/checkpoints/step_000004", "--out", out}).code, 0);
  fs::remove_all(run_);
  expect_reproduced(out);
  EXPECT_THAT(rehearse({"replay", out}).out, HasSubstr("step 4"));
}

TEST_F(Replay, AnInterruptedRunIsReproducedUpToThere) {
  int interrupted = 0;
  for (const int after : {1, 4, 9, 16}) {
    const std::string out = folder_ / ("interrupted" + std::to_string(after));
    int asked = 0;
    const Ran ran = rehearse({"run", folder_ / "small.textproto", "--out", out}, [&] { return ++asked > after; });
    ASSERT_EQ(ran.code, 130);
    ASSERT_LT(read_events(out + "/events.bin").records.size(), read_events(events_).records.size());
    expect_reproduced(out);
    EXPECT_THAT(rehearse({"replay", out}).out, HasSubstr("up to where the run was interrupted"));
    ++interrupted;
  }
  EXPECT_EQ(interrupted, 4);
}

TEST_F(Replay, AMovedDirectoryIsReproduced) {
  const std::string moved = folder_ / "moved and renamed";
  fs::rename(run_, moved);
  expect_reproduced(moved);
}

TEST_F(Replay, AnInterruptOfTheReplayItselfIsNoVerdict) {
  int asked = 0;
  const Ran ran = rehearse({"replay", run_}, [&asked] { return ++asked > 20; });
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.out, Not(HasSubstr("REPRODUCED")));
}

// One number of one record, where the file is whole and every block's digest right: whoever reads it believes it.
TEST_F(Replay, AChangedRecordIsNamedWhateverIsChangedInIt) {
  struct Edit {
    const char* field;
    void (*apply)(EventRecord&);
  };
  const Edit kEdits[] = {
      {"digest", [](EventRecord& record) { record.digest.low ^= 1; }},
      {"digest", [](EventRecord& record) { record.digest.high ^= std::uint64_t{1} << 63; }},
      {"size", [](EventRecord& record) { record.size += 1; }},
      {"time", [](EventRecord& record) { record.time = record.time + Duration::picoseconds(1); }},
      {"rank", [](EventRecord& record) { record.rank ^= 1; }},
      {"step", [](EventRecord& record) { record.step += 1; }},
      {"event number", [](EventRecord& record) { record.sequence += 1; }},
  };
  const EventFile whole = read_events(events_);
  int edits = 0;
  for (std::size_t at = 0; at < whole.records.size(); at += whole.records.size() / 5) {
    for (const Edit& edit : kEdits) {
      EventFile file = whole;
      edit.apply(file.records[at]);
      write_events(events_, file);
      const std::string what = "record " + std::to_string(at) + ", " + edit.field;
      SCOPED_TRACE(what);

      const Ran ran = rehearse({"replay", run_, "--format", "json"});
      EXPECT_EQ(ran.code, 1) << ran.err;
      const json result = json::parse(ran.out);
      EXPECT_EQ(result["identical"], false);
      EXPECT_EQ(result["records"], whole.records.size());
      EXPECT_EQ(result["compared"], at);
      EXPECT_EQ(result["difference"]["record"], at);
      EXPECT_EQ(result["difference"]["event"], file.records[at].sequence);
      EXPECT_NE(result["difference"]["recorded"], "");
      EXPECT_NE(result["difference"]["now"], "");

      const Ran text = rehearse({"replay", run_});
      EXPECT_EQ(text.code, 1);
      EXPECT_THAT(text.out, HasSubstr("NOT REPRODUCED"));
      EXPECT_THAT(text.out, HasSubstr("The first that differs, record " + std::to_string(at)));
      EXPECT_THAT(line_of(text.out, "recorded"),
                  HasSubstr("event " + std::to_string(file.records[at].sequence) + " at "));
      EXPECT_THAT(line_of(text.out, "now"), HasSubstr("event " + std::to_string(whole.records[at].sequence) + " at "));
      EXPECT_EQ(line_of(text.out, "differs"), std::string("  differs in ") + edit.field);
      ++edits;
    }
  }
  EXPECT_GE(edits, 35);
  std::printf("%d changed records\n", edits);
}

TEST_F(Replay, ARecordTooManyOrTooFewIsNamed) {
  const EventFile whole = read_events(events_);
  const std::size_t last = whole.records.size() - 1;
  {
    EventFile file = whole;
    file.records.erase(file.records.begin() + 50);
    write_events(events_, file);
    EXPECT_EQ(json::parse(rehearse({"replay", run_, "--format", "json"}).out)["difference"]["record"], 50);
  }
  {
    EventFile file = whole;
    file.records.pop_back();
    write_events(events_, file);
    const Ran ran = rehearse({"replay", run_});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(line_of(ran.out, "recorded"), HasSubstr("nothing: the recording ends here"));
    EXPECT_EQ(json::parse(rehearse({"replay", run_, "--format", "json"}).out)["difference"]["record"], last);
  }
  {
    EventFile file = whole;
    file.records.push_back(file.records.back());
    write_events(events_, file);
    const Ran ran = rehearse({"replay", run_});
    EXPECT_EQ(ran.code, 1);
    EXPECT_THAT(line_of(ran.out, "now"), HasSubstr("nothing: the run ends here"));
  }
}

TEST_F(Replay, AnotherDigestOfAllRecordsIsRefused) {
  std::string bytes = read_file(events_);
  const std::size_t at = bytes.find(read_events(events_).event_digest);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = bytes[at] == '0' ? '1' : '0';
  write_file(events_, bytes);
  EXPECT_THAT(refusal_of("events.bin"), HasSubstr("changed after it was written"));
}

TEST_F(Replay, AnOutcomeThatNoRunHasIsRefused) {
  EventFile file = read_events(events_);
  file.outcome = "EONE";
  write_events(events_, file);
  EXPECT_THAT(refusal_of("events.bin"), HasSubstr("it ends with the outcome \"EONE\""));
}

TEST_F(Replay, AHeaderThatIsNotTheScenariosIsRefused) {
  const EventFile whole = read_events(events_);
  for (int edit = 0; edit < 4; ++edit) {
    EventFile file = whole;
    if (edit == 0) file.header.seed += 1;
    if (edit == 1) file.header.ranks += 1;
    if (edit == 2) file.header.scenario = "other";
    if (edit == 3) file.header.arithmetic_sha256 = std::string(64, '0');
    write_events(events_, file);
    SCOPED_TRACE(edit);
    EXPECT_THAT(refusal_of("events.bin"), HasSubstr("header"));
  }
}

// Any one byte, without making a checksum right again: never taken for whole, and never a crash.
TEST_F(Replay, AFlippedByteIsNeverReproduced) {
  const std::string whole = read_file(events_);
  const EventFile file = read_events(events_);
  int differs = 0;
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += at < 400 || at + 200 > whole.size() ? 3 : 997) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write_file(events_, changed);
    const Ran ran = rehearse({"replay", run_, "--format", "json"});
    SCOPED_TRACE("byte " + std::to_string(at) + ": " + ran.out + ran.err);
    if (ran.code == 1) {
      EXPECT_EQ(json::parse(ran.out)["identical"], false);
      ++differs;
    } else {
      EXPECT_EQ(ran.code, 2);
      EXPECT_THAT(ran.err, HasSubstr(run_ + "/"));
      ++refused;
    }
  }
  EXPECT_GT(differs, 20);
  EXPECT_GT(refused, 20);
  std::printf("%d flipped bytes not reproduced, %d refused\n", differs, refused);
}

TEST_F(Replay, AFlippedByteInABlockNamesTheRecordAndSaysThatTheFileWasChanged) {
  const std::string whole = read_file(events_);
  // In a column of digests, in the middle of the first block.
  const EventFile file = read_events(events_);
  std::string digest(8, '\0');
  std::size_t at = 0;
  for (at = 100; file.records[at].digest.high == 0 || file.records[at].kind == EventKind::kState; ++at) {
  }
  std::memcpy(digest.data(), &file.records[at].digest.high, digest.size());
  const std::size_t place = whole.find(digest);
  ASSERT_NE(place, std::string::npos);
  std::size_t first = 0;  // the same payload may have been sent before
  while (file.records[first].digest.high != file.records[at].digest.high) ++first;
  std::string changed = whole;
  changed[place] = static_cast<char>(changed[place] ^ 1);
  write_file(events_, changed);
  const Ran ran = rehearse({"replay", run_});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("The first that differs, record " + std::to_string(first)));
  EXPECT_THAT(ran.out, HasSubstr("the file was changed"));
  const json result = json::parse(rehearse({"replay", run_, "--format", "json"}).out);
  EXPECT_EQ(result["difference"]["event"], file.records[first].sequence);
  EXPECT_THAT(result["altered"].get<std::string>(), HasSubstr("do not match their own digest"));
}

TEST_F(Replay, AMissingLogIsNamed) {
  fs::remove(events_);
  EXPECT_THAT(refusal_of("events.bin"), HasSubstr("no such file"));
}

TEST_F(Replay, AnEmptyLogIsNamed) {
  write_file(events_, "");
  EXPECT_THAT(refusal_of("events.bin"), HasSubstr("is empty"));
}

TEST_F(Replay, ATextIsNoLog) {
  write_file(events_, "once upon a time there was a rank\n");
  EXPECT_THAT(refusal_of("events.bin"), HasSubstr("is not an event log"));
}

TEST_F(Replay, ATruncatedLogIsNamedWhereverItEnds) {
  const std::string whole = read_file(events_);
  int cuts = 0;
  for (std::size_t keep = 1; keep < whole.size(); keep += keep < 300 || keep + 100 > whole.size() ? 7 : 1009) {
    write_file(events_, whole.substr(0, keep));
    SCOPED_TRACE(keep);
    refusal_of("events.bin");
    ++cuts;
  }
  write_file(events_, whole.substr(0, whole.size() - 1));
  EXPECT_THAT(refusal_of("events.bin"), HasSubstr("is cut short"));
  EXPECT_GT(cuts, 50);
  std::printf("%d cuts\n", cuts);
}

TEST_F(Replay, SomethingAfterTheEndIsNamed) {
  write_file(events_, read_file(events_) + "x");
  EXPECT_THAT(refusal_of("events.bin"), HasSubstr("something follows the end"));
}

TEST_F(Replay, AnotherSchemaVersionIsNamed) {
  std::string bytes = read_file(events_);
  // A frame's size, its field 1, the header's size, its field 1: the version.
  const std::size_t at = bytes.find(std::string("\x08\x01\x12", 3));
  ASSERT_LT(at, 12u);
  bytes[at + 1] = 2;
  write_file(events_, bytes);
  EXPECT_THAT(refusal_of("events.bin"), HasSubstr("has schema version 2; this program reads version 1"));
}

TEST_F(Replay, AnEditedScenarioIsNamed) {
  const std::string path = run_ + "/scenario.textproto";
  std::string text = read_file(path);
  const std::size_t at = text.find("0.01");
  ASSERT_NE(at, std::string::npos) << text;
  write_file(path, text.replace(at, 4, "0.02"));
  EXPECT_THAT(refusal_of("scenario.textproto"), HasSubstr("is not what was recorded"));
  fs::remove(path);
  refusal_of("scenario.textproto");
}

TEST_F(Replay, AMissingOrOtherStartIsNamed) {
  const std::string out = folder_ / "continued";
  ASSERT_EQ(rehearse({"resume", run_ + "/checkpoints/step_000004", "--out", out}).code, 0);
  const std::string other = run_ + "/checkpoints/step_000002";
  fs::rename(out + "/resumed_from", folder_ / "away");
  fs::copy(other, out + "/resumed_from", fs::copy_options::recursive);
  run_ = out;
  EXPECT_THAT(refusal_of("resumed_from"), HasSubstr("is of step 2; the run continued from 4"));
  fs::remove_all(out + "/resumed_from");
  EXPECT_THAT(refusal_of("resumed_from"), HasSubstr("no such directory"));
}

TEST_F(Replay, ADirectoryThatIsNoneIsRefused) {
  for (const std::string& path : {folder_ / "nowhere", folder_ / "small.textproto"}) {
    const Ran ran = rehearse({"replay", path});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(path + ": it is no directory"));
  }
}

TEST_F(Replay, ASecondRunInTheProcessIsComparedWhereAsked) {
  const Ran text = rehearse({"run", folder_ / "small.textproto", "--check-determinism"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out,
              HasSubstr("held    determinism: a second run in this process, from another heap, gave the same " +
                        std::to_string(read_events(events_).records.size()) + " records"));
  const json summary =
      json::parse(rehearse({"run", folder_ / "small.textproto", "--check-determinism", "--format", "json"}).out);
  EXPECT_EQ(summary["event_digest"], read_events(events_).event_digest);
  int verdicts = 0;
  for (const json& verdict : summary["expectations"]) {
    if (verdict["name"] != "determinism") continue;
    EXPECT_EQ(verdict["held"], true);
    ++verdicts;
  }
  EXPECT_EQ(verdicts, 1);
  EXPECT_THAT(rehearse({"run", folder_ / "small.textproto"}).out, Not(HasSubstr("determinism")));
}

}  // namespace
}  // namespace rehearse::testing_command
