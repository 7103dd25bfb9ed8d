#include "core/checkpoint/manifest.h"

#include <gmock/gmock.h>

#include "core/checkpoint/names.h"
#include "tests/core/checkpoint/tiny_checkpoint.h"

namespace rehearse {
namespace {

using testing::HasSubstr;

const std::string& tiny_text() {
  static const std::string text = write_manifest(TinyCheckpoint().manifest);
  return text;
}

std::string refusal_of_text(const std::string& text) {
  return refusal([&] { parse_manifest(text, "c/manifest.json"); });
}
// Of a file whose checksum is right: what somebody with an editor and a hash could make.
std::string refusal_of_edit(const std::string& from, const std::string& to) {
  return refusal_of_text(edited_and_resealed(tiny_text(), from, to));
}
template <class F>
std::string refusal_of_change(F change) {
  Manifest manifest = TinyCheckpoint().manifest;
  change(manifest);
  return refusal([&] { check_manifest(manifest, "c/manifest.json"); });
}

TEST(Manifest, RoundTripsAndItsBytesAreAFunctionOfItsContent) {
  const Manifest manifest = TinyCheckpoint().manifest;
  EXPECT_EQ(parse_manifest(tiny_text(), "m"), manifest);
  EXPECT_EQ(write_manifest(parse_manifest(tiny_text(), "m")), tiny_text());
}

TEST(Manifest, ReadsAsSpecified) {
  EXPECT_THAT(tiny_text(),
              testing::StartsWith("{\n  \"schema_version\": 1,\n  \"step\": 10,\n  \"batch_index\": 11,\n"));
  EXPECT_THAT(tiny_text(), HasSubstr("\"lr\": 0.005,\n"));
  EXPECT_THAT(tiny_text(), HasSubstr("\"key\": \"fedcba9876543210\""));
  EXPECT_THAT(tiny_text(), HasSubstr("          \"unit\": 1,\n          \"param_shard_offset\": 32,\n"
                                     "          \"param_shard_numel\": 3\n"));
  EXPECT_TRUE(tiny_text().ends_with("\"\n}\n"));
}

TEST(Manifest, WrongChecksumIsRefused) {
  std::string text = tiny_text();
  text[text.find("\"step\": 10") + 8] = '2';
  EXPECT_THAT(refusal_of_text(text), HasSubstr("c/manifest.json: checksum does not match: the file says "));
}

TEST(Manifest, UpperCaseChecksumIsRefused) {
  std::string text = tiny_text();
  const std::size_t at = text.find_first_of("abcdef", text.rfind(": \"") + 3);
  text[at] = static_cast<char>(text[at] - 'a' + 'A');
  EXPECT_THAT(refusal_of_text(text), HasSubstr("allowed are 64 lower-case hex digits"));
}

TEST(Manifest, TruncatedAndLengthenedFilesAreRefused) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, tiny_text().size() / 2, tiny_text().size() - 1}) {
    EXPECT_THAT(refusal_of_text(tiny_text().substr(0, size)), HasSubstr("cut short")) << size;
  }
  EXPECT_THAT(refusal_of_text(tiny_text() + "\n"), HasSubstr("bytes after its end"));
}

TEST(Manifest, UnknownKeyIsRefused) {
  EXPECT_THAT(refusal_of_edit("\"batch_index\": 11,\n", "\"batch_index\": 11,\n  \"color\": 1,\n"),
              HasSubstr("c/manifest.json: unknown key \"color\", allowed are schema_version, step,"));
  EXPECT_THAT(refusal_of_edit("    \"cosine\": true,\n", "    \"cosine\": true,\n    \"shape\": 1,\n"),
              HasSubstr("unknown key \"schedule.shape\", allowed are lr, warmup_steps"));
}

TEST(Manifest, MissingKeyIsRefused) {
  EXPECT_THAT(refusal_of_edit("  \"batch_index\": 11,\n", ""), HasSubstr("key \"batch_index\" is missing"));
  EXPECT_THAT(refusal_of_edit("          \"unit\": 1,\n          \"param_shard_offset\": 32,\n",
                              "          \"param_shard_offset\": 32,\n"),
              HasSubstr("key \"shards[1].ranges[1].unit\" is missing"));
}

TEST(Manifest, RepeatedKeyIsRefused) {
  EXPECT_THAT(refusal_of_edit("  \"batch_index\": 11,\n", "  \"batch_index\": 11,\n  \"batch_index\": 11,\n"),
              HasSubstr("key \"batch_index\" appears twice"));
}

TEST(Manifest, WrongTypesAndRangesAreRefused) {
  EXPECT_THAT(refusal_of_edit("\"step\": 10", "\"step\": 10.0"),
              HasSubstr("c/manifest.json: step: found 10.0, allowed is an integer of at least 1"));
  EXPECT_THAT(refusal_of_edit("\"step\": 10", "\"step\": \"10\""),
              HasSubstr("step: found \"10\", allowed is an integer"));
  EXPECT_THAT(refusal_of_edit("\"batch_index\": 11", "\"batch_index\": -1"),
              HasSubstr("batch_index: found -1, allowed"));
  EXPECT_THAT(refusal_of_edit("\"step\": 10", "\"step\": 18446744073709551615"), HasSubstr("step: found 1844"));
  EXPECT_THAT(refusal_of_edit("\"step\": 10", "\"step\": null"), HasSubstr("step: found null"));
  EXPECT_THAT(refusal_of_edit("\"lr\": 0.005", "\"lr\": 1"),
              HasSubstr("schedule.lr: found 1, allowed is a number with"));
  EXPECT_THAT(refusal_of_edit("\"cosine\": true", "\"cosine\": 1"),
              HasSubstr("schedule.cosine: found 1, allowed is true"));
  EXPECT_THAT(refusal_of_edit("\"zero_stage\": 1", "\"zero_stage\": 4"), HasSubstr("an integer from 0 to 3"));
  EXPECT_THAT(refusal_of_edit("\"dtype\": \"F32\"", "\"dtype\": \"I32\""),
              HasSubstr("dtype: found \"I32\", allowed is F32"));
  EXPECT_THAT(refusal_of_edit("\"key\": \"fedcba9876543210\"", "\"key\": \"FEDCBA9876543210\""),
              HasSubstr("random_streams[0].key: found \"FEDCBA9876543210\", allowed is 16 lower-case"));
  EXPECT_THAT(refusal_of_edit("\"name\": \"dropout\"", "\"name\": \"\""), HasSubstr("a string that is not empty"));
  EXPECT_THAT(refusal_of_edit("\"schema_version\": 1", "\"schema_version\": 2"), HasSubstr("schema_version: found 2"));
  const Manifest manifest = TinyCheckpoint().manifest;
  EXPECT_THAT(refusal_of_edit(manifest.model.sha256, manifest.model.sha256.substr(1)),
              HasSubstr("model.sha256: found"));
}

TEST(Manifest, OneContentHasOneText) {
  EXPECT_THAT(refusal_of_edit("\"step\": 10", "\"step\":  10"), HasSubstr("is not in the form this program writes"));
  EXPECT_THAT(refusal_of_edit("\"lr\": 0.005", "\"lr\": 5e-3"), HasSubstr("is not in the form this program writes"));
  EXPECT_THAT(refusal_of_edit("\"name\": \"dropout\"", "\"name\": \"dropou\\u0074\""), HasSubstr("is not in the form"));
}

TEST(Manifest, NonsenseWithARightChecksumIsRefused) {
  EXPECT_THAT(refusal_of_edit("\"step\": 10,", "\"step\": ,"), HasSubstr("not JSON in UTF-8"));
  EXPECT_THAT(refusal_of_edit("\"step\": 10", "\"step\": 1e999"), HasSubstr("not JSON in UTF-8"));
}

TEST(Manifest, PartsThatDoNotFitAreRefused) {
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.world_size = 3; }),
              HasSubstr("data 2 x tensor 1 x pipeline 1 is not world_size 3"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.applied_steps = 11; }), HasSubstr("allowed is at most step 10"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.parameters[1].name = "embed.weight"; }),
              HasSubstr("parameter \"embed.weight\" appears twice"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.parameters[0].shape = {INT64_MAX, 2}; }), HasSubstr("63-bit"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.units[0].parameters = 1; }), HasSubstr("units[0].numel: found 22"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.units.pop_back(); }),
              HasSubstr("parameter \"embed.weight\" is in no unit"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.units[1] = m.units[0]; }), HasSubstr("is in units 0 and 1"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.units[0].padded_numel = 22; }),
              HasSubstr("units[0].padded_numel: found 22, allowed is 32"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards.pop_back(); }), HasSubstr("shards: found 1, allowed is 2"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards[1].rank = 2; }), HasSubstr("shards[1].rank: found 2"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards[1].coordinates.data = 2; }),
              HasSubstr("outside the layout"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards[1].coordinates.data = 0; }),
              HasSubstr("another shard, too"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards[1].file.file = "../x"; }),
              HasSubstr("shards[1].file: found \"../x\", allowed is \"shard_00001.safetensors\""));
}

TEST(Manifest, RangesMustTileEveryUnit) {
  EXPECT_THAT(
      refusal_of_change([](Manifest& m) { m.shards[0].ranges[0].param_shard_numel = 17; }),
      HasSubstr("shards overlap: unit 0: the range of rank 1 begins at element 16, but those before it end at 17"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards[0].ranges[0].param_shard_numel = 15; }),
              HasSubstr("a gap between shards: unit 0: the range of rank 1 begins at element 16"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards[1].ranges.pop_back(); }),
              HasSubstr("unit 1 has 35 elements, but its ranges end at 32"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards[1].ranges[1].param_shard_numel = 4; }),
              HasSubstr("leaves unit 1, which has 35 elements"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { m.shards[1].ranges[1].unit = 2; }),
              HasSubstr("unit 2 does not exist, there are 2"));
  EXPECT_THAT(refusal_of_change([](Manifest& m) { std::swap(m.shards[0].ranges[0], m.shards[0].ranges[1]); }),
              HasSubstr("in order of unit and offset"));
}

TEST(Manifest, AnotherJobsCheckpointIsRefused) {
  const Manifest manifest = TinyCheckpoint().manifest;
  const auto refused = [&](auto change) {
    ExpectedManifest expected = expectation_of(manifest);
    change(expected);
    return refusal([&] { check_matches(manifest, expected, "c"); });
  };
  check_matches(manifest, expectation_of(manifest), "c");
  EXPECT_EQ(
      refused([](ExpectedManifest& e) { e.world_size = 4; }),
      "c: world_size of the checkpoint is 2, of this job 4; other ranks continue it where resharding is asked for "
      "(rehearse resume --reshard)");
  EXPECT_THAT(refused([](ExpectedManifest& e) { e.layout.pipeline = 2; }),
              HasSubstr("layout of the checkpoint is data 2"));
  EXPECT_THAT(refused([](ExpectedManifest& e) { e.zero_stage = 0; }), HasSubstr("zero_stage of the checkpoint is 1"));
  EXPECT_THAT(refused([](ExpectedManifest& e) { e.dtype = DType::kFloat64; }), HasSubstr("is F32, of this job F64"));
  EXPECT_THAT(refused([](ExpectedManifest& e) { e.parameters.pop_back(); }), HasSubstr("is 3, of this job 2"));
  EXPECT_THAT(
      refused([](ExpectedManifest& e) {
        e.parameters[0].shape = {7, 5};
      }),
      HasSubstr("parameter 0 of the checkpoint is \"embed.weight\" [5, 7], of this job \"embed.weight\" [7, 5]"));
  EXPECT_THAT(refused([](ExpectedManifest& e) { e.arithmetic_sha256[0] = 'x'; }), HasSubstr("arithmetic_sha256"));
}

TEST(Names, StepDirectoriesHaveOneSpelling) {
  EXPECT_EQ(step_directory_name(10), "step_000010");
  EXPECT_EQ(step_directory_name(12'345'678), "step_12345678");
  EXPECT_EQ(step_of_directory("step_000010"), 10);
  EXPECT_EQ(step_of_directory("step_12345678"), 12'345'678);
  for (const char* name : {"step_10", "step_0000010", "step_+00010", "step_00001x", "step_", "xstep_000010",
                           "step_99999999999999999999", ".deleting-step_000010", "step_-00010"}) {
    EXPECT_EQ(step_of_directory(name), std::nullopt) << name;
  }
}

TEST(Names, TemporaryNamesSayWhatTheyAreFor) {
  const auto building = temporary_of(building_directory_name(10, 3));
  ASSERT_TRUE(building.has_value());
  EXPECT_EQ(building->kind, TemporaryKind::kBuilding);
  EXPECT_EQ(building->step, 10);
  EXPECT_EQ(temporary_of(deleting_directory_name(7))->kind, TemporaryKind::kDeleting);
  EXPECT_EQ(temporary_of(replaced_directory_name(7))->kind, TemporaryKind::kReplaced);
  for (const char* name : {"step_000010", ".building-step_000010", ".other-step_000010", ".deleting-step_10"}) {
    EXPECT_FALSE(temporary_of(name).has_value()) << name;
  }
}

TEST(Names, InputCopiesKeepTheLastName) {
  EXPECT_EQ(input_copy_name(3, "../data/text.txt"), "inputs/03_text.txt");
  EXPECT_EQ(input_copy_name(0, "text.txt"), "inputs/00_text.txt");
}

}  // namespace
}  // namespace rehearse
