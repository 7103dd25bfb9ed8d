#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "core/formats/json.h"
#include "core/formats/safetensors.h"
#include "tests/determinism/edited_checkpoint.h"
#include "tests/tools/rehearse/diff_fixture.h"
#include "tools/rehearse/checkpoint_directory.h"

namespace rehearse::testing_command {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_determinism::EditedCheckpoint;
using testing_determinism::place_of;
using testing_determinism::ShardPlace;

class DiffCheckpoints : public Diff {
 protected:
  void SetUp() override {
    record_small("run");
    whole_ = folder_ / "run/checkpoints/step_000004";
  }
  EditedCheckpoint edit() const {
    CheckpointRecord record;
    record.files = read_checkpoint_directory(whole_).files;
    return EditedCheckpoint(record);
  }
  std::string write(const EditedCheckpoint& edited) {
    std::string path = folder_ / "edited";
    fs::create_directories(path);
    for (const auto& [name, data] : edited.as_step(4).files) write_file(path + "/" + name, std::string(data.text()));
    return path;
  }
  static std::string tensors_of(const Json& found) {
    std::string all;
    for (const Json& one : found["tensors"]) {
      all += one["file"].get<std::string>() + " " + one["tensor"].get<std::string>() + "; ";
    }
    return all;
  }
  std::string whole_;
};

TEST_F(DiffCheckpoints, OfTheSameRunAreIdentical) {
  record_small("again");
  EXPECT_EQ(difference(whole_, folder_ / "again/checkpoints/step_000004")["identical"], true);
  fs::rename(folder_ / "again/checkpoints/step_000004", folder_ / "any name");
  EXPECT_EQ(difference(whole_, folder_ / "any name")["identical"], true);
}

TEST_F(DiffCheckpoints, OfTwoSeedsDifferInEveryTensorFile) {
  record_small("other", {"--seed", "4"});
  const Json found = difference(whole_, folder_ / "other/checkpoints/step_000004");
  const std::string tensors = tensors_of(found);
  for (const char* one :
       {"model.safetensors tok_embed.weight;", "model.safetensors head.weight;", "shard_00000.safetensors master;",
        "shard_00000.safetensors m;", "shard_00001.safetensors v;"}) {
    EXPECT_THAT(tensors, HasSubstr(one));
  }
}

TEST_F(DiffCheckpoints, OfTwoStepsDifferInTheManifestsCounters) {
  const Json found = difference(whole_, folder_ / "run/checkpoints/step_000002");
  std::string members;
  for (const Json& one : found["members"]) {
    members += one["file"].get<std::string>() + " " + one["path"].get<std::string>() + "; ";
  }
  EXPECT_THAT(members, HasSubstr("manifest.json /step;"));
  EXPECT_THAT(members, HasSubstr("manifest.json /batch_index;"));
  EXPECT_THAT(text_, HasSubstr("manifest.json: /step is 4 and 2"));
}

TEST_F(DiffCheckpoints, OneElementIsNamedInShardAndModel) {
  EditedCheckpoint edited = edit();
  const std::string name = "blocks.0.mlp.0.weight";
  std::int64_t flat = 0;
  for (const ParameterRecord& parameter : edited.manifest.parameters) {
    if (parameter.name == name) break;
    flat += parameter.numel();
  }
  const ShardPlace place = place_of(edited.manifest, flat + 11);
  EditedCheckpoint::ShardState state = edited.shard(place.rank);
  float& master = state.master[static_cast<std::size_t>(place.index)];
  master = std::nextafter(master, 2.0F);
  edited.set_shard(place.rank, state);
  auto model = edited.model();
  model[name][11] = master;
  edited.set_model(model);

  const Json found = difference(whole_, write(edited));
  ASSERT_EQ(found["tensors"].size(), 2u) << found;
  for (const Json& one : found["tensors"]) {
    const bool in_model = one["file"] == "model.safetensors";
    EXPECT_EQ(one["file"], in_model ? "model.safetensors" : "shard_0000" + std::to_string(place.rank) + ".safetensors");
    EXPECT_EQ(one["tensor"], in_model ? name : "master");
    EXPECT_EQ(one["index"], in_model ? 11 : place.index);
    EXPECT_EQ(one["differing"], 1);
    EXPECT_THAT(one["what"].get<std::string>(), HasSubstr("1 unit in the last place apart; 1 element differs"));
  }
  EXPECT_THAT(text_, HasSubstr("model.safetensors: " + name + ": [1, 3] is "));
}

TEST_F(DiffCheckpoints, OneMomentIsNamedInItsShard) {
  EditedCheckpoint edited = edit();
  EditedCheckpoint::ShardState state = edited.shard(1);
  state.v[5] += 1;
  edited.set_shard(1, state);
  const Json found = difference(whole_, write(edited));
  EXPECT_EQ(tensors_of(found), "shard_00001.safetensors v; ");
  EXPECT_EQ(found["tensors"][0]["index"], 5);
}

TEST_F(DiffCheckpoints, ADamagedOneIsRefusedByName) {
  const std::string damaged = folder_ / "damaged";
  fs::copy(whole_, damaged, fs::copy_options::recursive);
  std::string shard = read_file(damaged + "/shard_00001.safetensors");
  shard.back() = static_cast<char>(shard.back() ^ 1);
  write_file(damaged + "/shard_00001.safetensors", shard);
  EXPECT_THAT(refusal_of(whole_, damaged), HasSubstr(damaged));
  EXPECT_THAT(refusal_of(damaged, whole_), HasSubstr("shard_00001.safetensors"));
}

class DiffTensors : public Diff {
 protected:
  template <class T>
  static TensorView view(const std::string& name, std::vector<std::int64_t> shape, const std::vector<T>& values) {
    return {name, dtype_of<T>, std::move(shape), std::as_bytes(std::span(values))};
  }
  std::string write(const std::string& name, const std::vector<TensorView>& tensors,
                    const SafetensorsMetadata& metadata = {}) {
    const std::vector<std::byte> bytes = write_safetensors(tensors, metadata);
    write_file(folder_ / name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return folder_ / name;
  }
  // What differs between two files with one tensor each.
  template <class T>
  Json one_tensor(const std::vector<T>& a, const std::vector<T>& b) {
    const auto size = static_cast<std::int64_t>(a.size());
    const Json found = difference(write("a", {view("w", {size}, a)}), write("b", {view("w", {size}, b)}));
    EXPECT_LE(found.value("tensors", Json::array()).size(), 1u);
    return found["identical"] ? Json() : found["tensors"][0];
  }
};

TEST_F(DiffTensors, EqualFilesAreIdenticalInAnyOrderOfTensors) {
  const std::vector<float> w = {1, 2, 3, 4};
  const std::vector<double> x = {5};
  const std::string a = write("a", {view("w", {2, 2}, w), view("x", {1}, x)}, {{"format", "pt"}});
  EXPECT_EQ(difference(a, a)["identical"], true);
  EXPECT_EQ(difference(a, write("b", {view("x", {1}, x), view("w", {2, 2}, w)}, {{"format", "pt"}}))["identical"],
            true);
}

TEST_F(DiffTensors, OneUnitInTheLastPlaceIsADifference) {
  const Json found = one_tensor<float>({1, 0.1F, 3}, {1, std::nextafter(0.1F, 1.0F), 3});
  EXPECT_EQ(found["tensor"], "w");
  EXPECT_EQ(found["index"], 1);
  EXPECT_EQ(found["a"], "0.1 (0x3dcccccd)");
  EXPECT_EQ(found["b"], "0.10000001 (0x3dccccce)");
  EXPECT_EQ(found["differing"], 1);
  EXPECT_THAT(text_, HasSubstr("[1] is 0.1 (0x3dcccccd) and 0.10000001 (0x3dccccce), 1 unit in the last place apart"));
}

TEST_F(DiffTensors, TheSignOfZeroIsADifference) {
  const Json found = one_tensor<double>({0.0}, {-0.0});
  EXPECT_EQ(found["a"], "0 (0x0000000000000000)");
  EXPECT_EQ(found["b"], "-0 (0x8000000000000000)");
}

TEST_F(DiffTensors, ANaNEqualsItselfAndNothingElse) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(one_tensor<float>({nan}, {nan}).is_null());
  const Json found = one_tensor<float>({1, 2}, {nan, 2});
  EXPECT_EQ(found["index"], 0);
  EXPECT_THAT(found["b"].get<std::string>(), HasSubstr("(0x7fc00000)"));
  EXPECT_THAT(text_, Not(HasSubstr("apart")));
}

TEST_F(DiffTensors, IntegersDifferWithoutADistance) {
  const Json found = one_tensor<std::int32_t>({1, 2, 3}, {1, -2, 4});
  EXPECT_EQ(found["index"], 1);
  EXPECT_EQ(found["a"], "2 (0x00000002)");
  EXPECT_EQ(found["b"], "-2 (0xfffffffe)");
  EXPECT_EQ(found["differing"], 2);
}

TEST_F(DiffTensors, TypesShapesNamesAndMetadataAreDifferences) {
  const std::vector<float> four = {1, 2, 3, 4};
  const std::vector<double> doubles = {1, 2, 3, 4};
  const std::vector<std::int32_t> integers = {1, 2, 3, 4};
  const std::string a = write("a", {view("w", {2, 2}, four)});
  EXPECT_EQ(difference(a, write("b", {view("w", {2, 2}, doubles)}))["tensors"][0]["what"],
            "A has F32 [2, 2], B F64 [2, 2]");
  EXPECT_EQ(difference(a, write("b", {view("w", {2, 2}, integers)}))["tensors"][0]["what"],
            "A has F32 [2, 2], B I32 [2, 2]");
  EXPECT_EQ(difference(a, write("b", {view("w", {4}, four)}))["tensors"][0]["what"], "A has F32 [2, 2], B F32 [4]");
  const Json names = difference(a, write("b", {view("u", {2, 2}, four)}));
  ASSERT_EQ(names["tensors"].size(), 2u);
  EXPECT_EQ(names["tensors"][0]["tensor"], "w");
  EXPECT_EQ(names["tensors"][0]["what"], "only A has it");
  EXPECT_EQ(names["tensors"][1]["tensor"], "u");
  EXPECT_EQ(names["tensors"][1]["what"], "only B has it");
  EXPECT_EQ(difference(a, write("b", {view("w", {2, 2}, four)}, {{"format", "pt"}}))["tensors"][0]["tensor"],
            "__metadata__");
}

TEST_F(DiffTensors, AModelOfACheckpointIsATensorFileToo) {
  const std::string run = record_small("run");
  const std::string path = "/checkpoints/step_000004/model.safetensors";
  EXPECT_EQ(difference(run + path, run + path)["identical"], true);
  const Json found = difference(run + path, run + "/checkpoints/step_000006/model.safetensors");
  EXPECT_EQ(found["identical"], false);
}

}  // namespace
}  // namespace rehearse::testing_command
