#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A run with its checkpoints on the real disk.
class Resume : public ::testing::Test {
 protected:
  void run(const std::string& scenario) {
    const Ran ran = rehearse({"run", scenario, "--out", folder_ / "whole", "--format", "json"});
    ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
    whole_ = parse_json(ran.out);
  }
  void run_small() {
    write_file(folder_ / "small.textproto", small_scenario("loss: FALLS resume_from: 4"));
    run(folder_ / "small.textproto");
  }

  TemporaryDirectory folder_;
  std::string checkpoint_ = folder_ / "whole/checkpoints/step_000004";
  Json whole_;
};

TEST_F(Resume, TheCapstoneEndsWithTheWeightsOfTheUninterruptedRun) {
  run(shipped_scenario("capstone"));
  const std::string moved = folder_ / "any name";
  fs::rename(folder_ / "whole/checkpoints/step_000010", moved);
  const Ran ran = rehearse({"resume", moved, "--format", "json"});
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  const Json continued = parse_json(ran.out);
  EXPECT_EQ(continued["weights_sha256"], whole_["weights_sha256"]);
  EXPECT_EQ(continued["resumed_from"], 10);
  EXPECT_EQ(continued["steps"], 20);
  ASSERT_EQ(continued["losses"].size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(continued["losses"][i], whole_["losses"][10 + i]);
}

TEST_F(Resume, EveryShippedScenarioWithCheckpointsContinues) {
  int continued = 0;
  for (const auto& entry : fs::directory_iterator(std::string(REHEARSE_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() != ".textproto") continue;
    const std::string out = folder_ / entry.path().stem().string();
    const Ran whole = rehearse({"run", entry.path().string(), "--out", out, "--format", "json"});
    ASSERT_EQ(whole.code, 0) << whole.err;
    if (!fs::exists(out + "/checkpoints")) continue;
    for (const auto& checkpoint : fs::directory_iterator(out + "/checkpoints")) {
      const Ran ran = rehearse({"resume", checkpoint.path().string(), "--format", "json"});
      ASSERT_EQ(ran.code, 0) << checkpoint.path() << ran.err << ran.out;
      EXPECT_EQ(parse_json(ran.out)["weights_sha256"], parse_json(whole.out)["weights_sha256"]);
      ++continued;
    }
  }
  std::printf("%d checkpoints were continued\n", continued);
  EXPECT_GT(continued, 5);
}

TEST_F(Resume, WritesTheStepsThatFollow) {
  run_small();
  const Ran ran = rehearse({"resume", checkpoint_, "--out", folder_ / "rest"});
  ASSERT_EQ(ran.code, 0) << ran.err << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("from the checkpoint of step 4 to step 6"));
  std::istringstream metrics(read_file(folder_ / "rest/metrics.jsonl"));
  std::vector<int> steps;
  for (std::string line; std::getline(metrics, line);) steps.push_back(parse_json(line)["step"]);
  EXPECT_EQ(steps, (std::vector<int>{5, 6}));
  for (const char* file :
       {"manifest.json", "model.safetensors", "shard_00000.safetensors", "shard_00001.safetensors"}) {
    const std::string name = std::string("/checkpoints/step_000006/") + file;
    EXPECT_EQ(read_file(folder_ / "rest" + name), read_file(folder_ / "whole" + name)) << file;
  }
}

TEST_F(Resume, AFlippedBitAnywhereIsRefused) {
  run_small();
  int files = 0;
  for (const auto& entry : fs::directory_iterator(checkpoint_)) {
    const std::string path = entry.path().string();
    const std::string good = read_file(path);
    for (const std::size_t at : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 1);
      write_file(path, bad);
      for (const char* command : {"resume", "inspect"}) {
        const Ran ran = rehearse({command, checkpoint_});
        EXPECT_EQ(ran.code, 2) << path << " at " << at;
        EXPECT_THAT(ran.err, HasSubstr(checkpoint_));
        EXPECT_THAT(ran.out, IsEmpty());
      }
    }
    write_file(path, good);
    ++files;
  }
  EXPECT_EQ(files, 6);
  EXPECT_EQ(rehearse({"resume", checkpoint_}).code, 0);
}

TEST_F(Resume, WhatIsNoWholeCheckpointIsRefusedByName) {
  run_small();
  EXPECT_THAT(rehearse({"resume", folder_ / "whole"}).err, HasSubstr("its checkpoints are in"));
  EXPECT_THAT(rehearse({"resume", folder_ / "none"}).err, HasSubstr("no such directory"));
  EXPECT_THAT(rehearse({"resume", folder_ / "small.textproto"}).err, HasSubstr("not a directory"));
  EXPECT_THAT(rehearse({"resume", folder_ / "whole/checkpoints"}).err, HasSubstr("manifest.json is missing"));

  write_file(checkpoint_ + "/notes.txt", "x");
  EXPECT_THAT(rehearse({"resume", checkpoint_}).err, HasSubstr("notes.txt does not belong"));
  fs::remove(checkpoint_ + "/notes.txt");

  fs::rename(checkpoint_ + "/shard_00001.safetensors", folder_ / "shard");
  EXPECT_THAT(rehearse({"resume", checkpoint_}).err, HasSubstr("shard_00001.safetensors"));
  fs::create_symlink(folder_ / "shard", checkpoint_ + "/shard_00001.safetensors");
  const Ran linked = rehearse({"resume", checkpoint_});
  EXPECT_EQ(linked.code, 2);
  EXPECT_THAT(linked.err, HasSubstr("a symbolic link"));
}

TEST_F(Resume, ReshardsWhereItIsAskedTo) {
  run(shipped_scenario("capstone"));
  const std::string saved = folder_ / "whole/checkpoints/step_000010";
  const Ran two = rehearse({"resume", saved, "--reshard", "--set", "cluster.ranks=2", "--out", folder_ / "two"});
  ASSERT_EQ(two.code, 0) << two.err << two.out;
  EXPECT_THAT(two.out, HasSubstr("2, data-parallel"));
  EXPECT_THAT(two.out, HasSubstr("(ZeRO-1, zero_stage 1), batches of 4 ranks"));
  EXPECT_THAT(two.out, HasSubstr("8 sequences a rank and step in 2 microbatches"));
  EXPECT_THAT(two.out, HasSubstr("resume " + saved + " --reshard --set cluster.ranks=2"));
  const Json summary = parse_json(read_file(folder_ / "two/summary.json"));
  EXPECT_EQ(summary["resumed_from"], 10);
  ASSERT_EQ(summary["losses"].size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(summary["losses"][i].get<double>(), whole_["losses"][10 + i].get<double>(), 1e-3);
  }
  // What it left is a run like any other: replayed, and continued on as many ranks.
  const Ran replayed = rehearse({"replay", folder_ / "two"});
  EXPECT_EQ(replayed.code, 0) << replayed.err << replayed.out;
  const std::string last = folder_ / "two/checkpoints/step_000020";
  const Ran again = rehearse({"resume", last, "--format", "json"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(parse_json(again.out)["weights_sha256"], summary["weights_sha256"]);
  const Ran back = rehearse({"resume", last, "--reshard", "--set", "cluster.ranks=4", "--format", "json"});
  ASSERT_EQ(back.code, 0) << back.err;
  EXPECT_EQ(parse_json(back.out)["weights_sha256"], summary["weights_sha256"]);
}

TEST_F(Resume, SaysWhatReshardingTakes) {
  run_small();
  EXPECT_THAT(rehearse({"resume", checkpoint_, "--set", "cluster.ranks=1"}).err, HasSubstr("add --reshard"));
  EXPECT_THAT(rehearse({"resume", checkpoint_, "--reshard"}).err, HasSubstr("--set cluster.ranks=M"));
  EXPECT_THAT(rehearse({"resume", checkpoint_, "--reshard", "--set", "train.steps=9"}).err,
              HasSubstr("found train.steps; allowed with --reshard"));
  EXPECT_THAT(rehearse({"resume", checkpoint_, "--reshard", "--set", "cluster.ranks=1000"}).err,
              HasSubstr("allowed: a divisor of the"));
  EXPECT_THAT(rehearse({"resume", checkpoint_, "--seed", "3"}).err, HasSubstr("--seed is not offered"));
}

}  // namespace
}  // namespace rehearse::testing_command
