#include "core/checkpoint/verify.h"

#include <gmock/gmock.h>

#include <cstring>

#include "core/base/digest.h"
#include "core/checkpoint/names.h"
#include "tests/core/checkpoint/tiny_checkpoint.h"

namespace rehearse {
namespace {

using testing::HasSubstr;

std::string refusal_of(const TinyCheckpoint& tiny) {
  return refusal([&] { verify_checkpoint(tiny.views(), "step_000010"); });
}

// A record that says what the changed file is, sealed again: what is left to find is what the file says.
void record_again(TinyCheckpoint& tiny, FileRecord& record) {
  record.sha256 = sha256_hex(tiny.files.at(record.file));
  record.bytes = static_cast<std::int64_t>(tiny.files.at(record.file).size());
  tiny.seal();
}

TEST(VerifyCheckpoint, WholeCheckpointComesBack) {
  const TinyCheckpoint tiny;
  const VerifiedCheckpoint checkpoint = verify_checkpoint(tiny.views(), "step_000010");
  EXPECT_EQ(checkpoint.manifest, tiny.manifest);
  EXPECT_EQ(checkpoint.run_state, tiny.run_state);
  ASSERT_EQ(checkpoint.state.master.size(), tiny.master.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(checkpoint.state.master.data(), tiny.master.data(), checkpoint.state.master.size()), 0);
  EXPECT_EQ(std::memcmp(checkpoint.state.m.data(), tiny.m.data(), checkpoint.state.m.size()), 0);
  EXPECT_EQ(std::memcmp(checkpoint.state.v.data(), tiny.v.data(), checkpoint.state.v.size()), 0);
}

// One bit of every byte; every_flip_test.cc flips all of them.
TEST(VerifyCheckpoint, FlippedByteIsRefused) {
  TinyCheckpoint tiny;
  for (auto& [name, contents] : tiny.files) {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      const char whole = contents[i];
      contents[i] = static_cast<char>(whole ^ (1 << i % 8));
      EXPECT_THROW(verify_checkpoint(tiny.views(), "c"), InputError) << name << " byte " << i;
      contents[i] = whole;
    }
  }
  verify_checkpoint(tiny.views(), "c");  // all flips were undone
}

TEST(VerifyCheckpoint, EveryTruncationAndAnAppendedByteAreRefused) {
  TinyCheckpoint tiny;
  for (auto& [name, contents] : tiny.files) {
    const std::string whole = contents;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      contents.resize(size);
      EXPECT_THROW(verify_checkpoint(tiny.views(), "c"), InputError) << name << " cut to " << size;
      contents = whole;
    }
    contents += '\0';
    EXPECT_THROW(verify_checkpoint(tiny.views(), "c"), InputError) << name << " lengthened";
    contents = whole;
  }
}

TEST(VerifyCheckpoint, EveryMissingFileIsNamed) {
  for (const auto& [name, contents] : TinyCheckpoint().files) {
    TinyCheckpoint tiny;
    tiny.files.erase(name);
    EXPECT_THAT(refusal_of(tiny), HasSubstr("step_000010: not a whole checkpoint: " + name)) << name;
  }
}

TEST(VerifyCheckpoint, ExtraShardIsNamed) {
  TinyCheckpoint tiny;
  tiny.files["shard_00002.safetensors"] = tiny.files["shard_00001.safetensors"];
  EXPECT_EQ(refusal_of(tiny), "step_000010: shard_00002.safetensors does not belong to this checkpoint of 2 ranks");
}

TEST(VerifyCheckpoint, WrongSizeAndWrongHashHaveTheirOwnMessages) {
  TinyCheckpoint tiny;
  tiny.text("shard_00001.safetensors") += "x";
  EXPECT_THAT(refusal_of(tiny), HasSubstr("step_000010/shard_00001.safetensors: has "));
  EXPECT_THAT(refusal_of(tiny), HasSubstr("bytes, but the checkpoint records"));
  tiny = TinyCheckpoint();
  tiny.text("shard_00001.safetensors").back() ^= 1;
  EXPECT_THAT(refusal_of(tiny), HasSubstr("step_000010/shard_00001.safetensors: SHA-256 is "));
}

TEST(VerifyCheckpoint, SwappedShardsAreRefused) {
  TinyCheckpoint tiny;
  std::swap(tiny.text("shard_00000.safetensors"), tiny.text("shard_00001.safetensors"));
  EXPECT_THAT(refusal_of(tiny), HasSubstr("step_000010/shard_00000.safetensors: has "));
}

TEST(VerifyCheckpoint, TruncatedShardHeaderIsRefusedEvenWhenRecorded) {
  TinyCheckpoint tiny;
  tiny.text("shard_00000.safetensors").resize(40);
  record_again(tiny, tiny.manifest.shards[0].file);
  EXPECT_THAT(refusal_of(tiny), HasSubstr("shard_00000.safetensors: not a valid safetensors file: truncated"));
}

TEST(VerifyCheckpoint, ShardOfAnotherSizeThanItsRangesIsRefused) {
  TinyCheckpoint tiny;
  tiny.text("shard_00000.safetensors") = tiny.text("shard_00001.safetensors");
  record_again(tiny, tiny.manifest.shards[0].file);
  EXPECT_THAT(refusal_of(tiny), HasSubstr("tensor 0: found \"master\" F32 [9], allowed is \"master\" F32 [48]"));
}

TEST(VerifyCheckpoint, ModelThatDiffersFromTheMasterWeightsIsRefused) {
  TinyCheckpoint tiny;
  tiny.text(kModelFile).back() ^= 1;
  record_again(tiny, tiny.manifest.model);
  EXPECT_THAT(refusal_of(tiny), HasSubstr("tensor \"head.weight\" differs from the master weights in the shards"));
}

TEST(VerifyCheckpoint, RunStateOfAnotherCheckpointIsRefused) {
  TinyCheckpoint tiny;
  TinyCheckpoint other;
  other.manifest.step = 11;
  other.seal();
  tiny.text(kRunStateFile) = other.text(kRunStateFile);
  EXPECT_THAT(refusal_of(tiny), HasSubstr("the files are of two checkpoints"));
}

TEST(VerifyCheckpoint, RunStateIsParsedStrictly) {
  const auto refused = [](const std::string& from, const std::string& to) {
    TinyCheckpoint tiny;
    tiny.text(kRunStateFile) = edited_and_resealed(tiny.text(kRunStateFile), from, to);
    return refusal_of(tiny);
  };
  EXPECT_THAT(refused("\"generation\": 1", "\"generation\": -1"), HasSubstr("generation: found -1"));
  EXPECT_THAT(refused("  \"generation\": 1,\n", ""), HasSubstr("key \"generation\" is missing"));
  EXPECT_THAT(refused("\"generation\": 1", "\"generation\": 1,\n  \"x\": 2"), HasSubstr("unknown key \"x\""));
  EXPECT_THAT(refused("inputs/00_text.txt", "../../etc/passwd"),
              HasSubstr("inputs[0].copy: found \"../../etc/passwd\", allowed is inputs/00_text.txt"));
  EXPECT_THAT(refused("\"file\": \"scenario.textproto\"", "\"file\": \"manifest.json\""), HasSubstr("scenario.file"));
}

TEST(VerifyCheckpoint, InputsTooLargeToCopyAreCheckedByTheirHash) {
  const TinyCheckpoint tiny;
  InputRecord input = tiny.run_state.inputs[1];
  EXPECT_FALSE(input.copy.has_value());
  const std::string contents = "tokens";
  input.bytes = 6;
  check_input(input, std::as_bytes(std::span(contents)), "t");
  const std::string other = "tokeni";
  EXPECT_THAT(refusal([&] { check_input(input, std::as_bytes(std::span(other)), "t"); }), HasSubstr("t: SHA-256 is"));
}

TEST(ShardFile, HoldsThreeTensorsAndNothingElse) {
  const TinyCheckpoint tiny;
  const ShardRecord& shard = tiny.manifest.shards[1];
  const std::string& contents = tiny.files.at(shard.file.file);
  const auto bytes = std::as_bytes(std::span(contents));
  EXPECT_THAT(contents, HasSubstr("{\"master\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]},\"m\":{"));
  const StateView state = parse_shard_file(shard, DType::kFloat32, bytes, "s");
  EXPECT_EQ(state.master.size(), 36U);
  EXPECT_THAT(refusal([&] { parse_shard_file(shard, DType::kFloat64, bytes, "s"); }),
              HasSubstr("found \"master\" F32 [9], allowed is \"master\" F64 [9]"));
}

TEST(ShardFile, RankWithoutElementsHasAnEmptyShard) {
  const std::vector<std::byte> bytes = write_shard_file(DType::kFloat64, StateView());
  ShardRecord shard;
  shard.file.file = shard_file_name(0);
  shard.file.sha256 = sha256_hex(bytes);
  shard.file.bytes = static_cast<std::int64_t>(bytes.size());
  EXPECT_TRUE(parse_shard_file(shard, DType::kFloat64, bytes, "s").master.empty());
}

TEST(ShardFile, AnyFlatRangesCanBeCollected) {
  const TinyCheckpoint tiny;
  // Reversed and across all borders: elements 30..40 (units 1 and 0), then 10..12.
  const std::vector<FlatRange> wanted = {FlatRange(30, 10), FlatRange(10, 2)};
  State state(12 * sizeof(float));
  for (const ShardRecord& shard : tiny.manifest.shards) {
    const auto bytes = std::as_bytes(std::span(tiny.files.at(shard.file.file)));
    copy_overlap(tiny.manifest, shard, parse_shard_file(shard, DType::kFloat32, bytes, "s"), wanted, state);
  }
  std::vector<float> master(12);
  std::memcpy(master.data(), state.master.data(), state.master.size());
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(master[i], tiny.master[30 + i]);
  EXPECT_EQ(master[10], tiny.master[10]);
  EXPECT_EQ(master[11], tiny.master[11]);
  EXPECT_FALSE(overlaps(tiny.manifest, tiny.manifest.shards[1], {FlatRange(0, 32)}));
  EXPECT_TRUE(overlaps(tiny.manifest, tiny.manifest.shards[1], {FlatRange(0, 33)}));
}

TEST(ShardFile, FindsTheFirstElementThatIsNotFinite) {
  std::vector<double> values = {1, 2, 1e308 * 10, 4};
  EXPECT_EQ(first_not_finite(DType::kFloat64, std::as_bytes(std::span(values))), 2);
  values[2] = 3;
  EXPECT_EQ(first_not_finite(DType::kFloat64, std::as_bytes(std::span(values))), std::nullopt);
  const std::vector<float> floats = {0.0F, std::nanf("")};
  EXPECT_EQ(first_not_finite(DType::kFloat32, std::as_bytes(std::span(floats))), 1);
}

}  // namespace
}  // namespace rehearse
