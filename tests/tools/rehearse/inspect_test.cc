#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {
namespace {

using ::testing::HasSubstr;

class Inspect : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "small.textproto", small_scenario("loss: FALLS"));
    ASSERT_EQ(rehearse({"run", folder_ / "small.textproto", "--out", folder_ / "out"}).code, 0);
  }
  TemporaryDirectory folder_;
  std::string checkpoint_ = folder_ / "out/checkpoints/step_000004";
};

TEST_F(Inspect, ACheckpointIsVerifiedAndShown) {
  const Ran ran = rehearse({"inspect", checkpoint_});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"shard_00001.safetensors", "model.safetensors", "blocks.0.attn.qkv.weight", "[24, 8]",
                           "verified: every hash", "zero_stage 1", "4; next batch index 4, applied steps 4"}) {
    EXPECT_THAT(ran.out, HasSubstr(part));
  }
  const Json report = parse_json(rehearse({"inspect", checkpoint_, "--format", "json"}).out);
  EXPECT_EQ(report["kind"], "checkpoint");
  EXPECT_EQ(report["manifest"]["step"], 4);
  EXPECT_EQ(report["manifest_sha256"], sha256_hex(read_file(checkpoint_ + "/manifest.json")));
}

TEST_F(Inspect, ATensorFileIsListed) {
  const std::string path = checkpoint_ + "/model.safetensors";
  const Ran ran = rehearse({"inspect", path});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tok_embed.weight"));
  EXPECT_THAT(ran.out, HasSubstr("[16, 8]"));
  // Known by what it holds, not by its name.
  std::filesystem::copy_file(path, folder_ / "renamed");
  const Json report = parse_json(rehearse({"inspect", folder_ / "renamed", "--format", "json"}).out);
  EXPECT_EQ(report["kind"], "safetensors");
  EXPECT_EQ(report["sha256"], sha256_hex(read_file(path)));
  EXPECT_EQ(report["tensors"][0]["dtype"], "F32");
}

TEST_F(Inspect, AScenarioIsWrittenOut) {
  const Ran ran = rehearse({"inspect", folder_ / "small.textproto"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("beta1: 0.9"));
  EXPECT_THAT(ran.out, HasSubstr("arithmetic_sha256"));
  // Its text is a scenario itself, with the same hashes.
  const Json report = parse_json(rehearse({"inspect", folder_ / "small.textproto", "--format", "json"}).out);
  write_file(folder_ / "canonical.textproto", report["text"]);
  const Json again = parse_json(rehearse({"inspect", folder_ / "canonical.textproto", "--format", "json"}).out);
  EXPECT_EQ(again, report);
}

TEST_F(Inspect, WhatIsNoneOfTheseExitsWithTwo) {
  write_file(folder_ / "noise", "\x01\x02\x03");
  write_file(folder_ / "empty", "");
  write_file(folder_ / "cut.safetensors", read_file(checkpoint_ + "/model.safetensors").substr(0, 100));
  for (const char* name : {"noise", "empty", "cut.safetensors", "none", "out", "out/summary.json"}) {
    const Ran ran = rehearse({"inspect", folder_ / name});
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_THAT(ran.err, HasSubstr(name)) << name;
  }
}

}  // namespace
}  // namespace rehearse::testing_command
