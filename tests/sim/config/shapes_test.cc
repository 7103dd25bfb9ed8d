// Models by name and by shape, and the types of their state.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/model/layout.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const std::string kSizes = "layers: 2 embed: 32 heads: 4 vocab: 64 context: 16";
const std::string kCost = "mode: COST\n";

// The good scenario with another model, without numbers; a job that is large is short.
std::string with_model(const std::string& model) { return good_with(kSizes, model) + kCost; }

struct Published {
  const char* name;
  std::int64_t parameters;
};

class PublishedModel : public testing::TestWithParam<Published> {};

TEST_P(PublishedModel, HasItsParameters) {
  const Scenario s = load_text(with_model("preset: \"" + std::string(GetParam().name) + "\""));
  EXPECT_EQ(ParameterLayout(s.train.model).total(), GetParam().parameters);
  EXPECT_FALSE(s.train.model.is_mini_gpt());
}

// As counted of the released weights; GPT-3 by its formula (sim/config/model_presets.cc).
INSTANTIATE_TEST_SUITE_P(Presets, PublishedModel,
                         testing::Values(Published{"gpt2", 124'439'808}, Published{"gpt2-xl", 1'557'611'200},
                                         Published{"gpt3-175b", 174'604'259'328}, Published{"llama2-7b", 6'738'415'616},
                                         Published{"llama2-70b", 68'976'648'192},
                                         Published{"llama3-405b", 405'853'388'800}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Shapes, WhatIsWrittenBesidesAPresetCounts) {
  const Scenario s = load_text(with_model("preset: \"llama2-7b\" layers: 3 norm: LAYERNORM mlp_bias: true"));
  EXPECT_EQ(s.train.model.layers, 3);
  EXPECT_EQ(s.train.model.embed, 4096);
  EXPECT_EQ(s.train.model.norm, Norm::kLayerNorm);
  EXPECT_TRUE(s.train.model.mlp_bias);
  EXPECT_EQ(s.train.model.mlp, Mlp::kSwiGlu);
  // Read again it is the same: what was written out counts.
  const Scenario again = load_text(s.text);
  EXPECT_EQ(again.train.model, s.train.model);
  EXPECT_EQ(again.scenario_sha256, s.scenario_sha256);
  EXPECT_EQ(again.text, s.text);
}

TEST(Shapes, NeedNoPreset) {
  const Scenario s =
      load_text(with_model(kSizes + " ffn: 88 kv_heads: 2 mlp: SWIGLU norm: RMSNORM positions: ROTARY attention: FLASH "
                                    "attention_bias: true mlp_bias: false tied_embeddings: true"));
  ModelConfig model;
  model.layers = 2;
  model.embed = 32;
  model.heads = 4;
  model.vocab = 64;
  model.context = 16;
  model.ffn = 88;
  model.kv_heads = 2;
  model.mlp = Mlp::kSwiGlu;
  model.norm = Norm::kRmsNorm;
  model.positions = Positions::kRotary;
  model.attention = Attention::kFlash;
  model.attention_bias = true;
  model.mlp_bias = false;
  model.tied_embeddings = true;
  EXPECT_EQ(s.train.model, model);
  EXPECT_EQ(load_text(s.text).train.model, model);
}

TEST(Shapes, GatedMlpsHaveNoBiasesUnlessTheyAreWritten) {
  EXPECT_FALSE(load_text(with_model(kSizes + " mlp: SWIGLU")).train.model.mlp_bias);
  EXPECT_TRUE(load_text(with_model(kSizes + " mlp: SWIGLU mlp_bias: true")).train.model.mlp_bias);
  EXPECT_FALSE(load_text(with_model(kSizes + " mlp_bias: false")).train.model.mlp_bias);
}

// The MiniGPT has one spelling, and its scenarios the digests they had.
TEST(Shapes, TheMiniGptHasOneSpelling) {
  const Scenario plain = load_text(kGoodScenario);
  const Scenario written = load_text(good_with(
      kSizes, kSizes + " ffn: 128 kv_heads: 4 mlp: GELU norm: LAYERNORM positions: LEARNED attention: UNFUSED "
                       "attention_bias: false mlp_bias: true tied_embeddings: false"));
  EXPECT_EQ(written.text, plain.text);
  EXPECT_EQ(written.scenario_sha256, plain.scenario_sha256);
  EXPECT_EQ(written.arithmetic_sha256, plain.arithmetic_sha256);
  EXPECT_THAT(plain.text, testing::Not(HasSubstr("ffn")));
  const Scenario typed =
      load_text(good_with("batch: 4", "batch: 4 main_grads_dtype: FLOAT32 optimizer_dtype: FLOAT32"));
  EXPECT_EQ(typed.scenario_sha256, plain.scenario_sha256);
}

TEST(Shapes, AnUnknownPresetIsRefused) {
  EXPECT_EQ(error_of(with_model("preset: \"gpt-2\"")),
            "dir/s.textproto:4:17: model.preset: found \"gpt-2\"; did you mean 'gpt2'?");
  EXPECT_THAT(error_of(with_model("preset: \"opt\"")),
              HasSubstr("allowed: gpt2, gpt2-xl, gpt3-175b, llama2-7b, llama2-70b, llama3-405b"));
}

// Of a scenario that says all sizes an option would only change what is left.
TEST(Shapes, AnOptionWithAPresetBesideWrittenSizesIsRefused) {
  EXPECT_THAT(error_of(kGoodScenario + kCost, {"model.preset=gpt2"}), HasSubstr("whose sizes are all written"));
  const std::string written = load_text(with_model("preset: \"gpt2\"")).text;
  EXPECT_THAT(error_of(written, {"model.preset=llama2-7b"}), HasSubstr("whose sizes are all written"));
  EXPECT_EQ(load_text(with_model("preset: \"gpt2\""), {"model.preset=gpt2-xl"}).train.model.layers, 48);
}

struct BadShape {
  const char* name;
  std::string text;
  std::string error;
};

class BadShapes : public testing::TestWithParam<BadShape> {};

TEST_P(BadShapes, NamesTheFieldAndWhatIsAllowed) {
  EXPECT_THAT(error_of(GetParam().text), MatchesRegex("dir/s\\.textproto:[46]:[0-9]+: .*"));
  EXPECT_THAT(error_of(GetParam().text), EndsWith(": " + GetParam().error));
}

std::string trained(const std::string& field) { return good_with(kSizes, kSizes + " " + field); }
const std::string kPlace = "model.";
const std::string kBoth = "; mode COST takes both";

INSTANTIATE_TEST_SUITE_P(
    Fields, BadShapes,
    testing::Values(
        BadShape{"KvHeads", with_model(kSizes + " kv_heads: 3"),
                 kPlace + "kv_heads: found 3; allowed: a divisor of model.heads, which is 4"},
        BadShape{"TrainedFfn", trained("ffn: 100"),
                 kPlace + "ffn: found 100; allowed in mode TRAIN: 4 times embed, which is 128" + kBoth},
        BadShape{"TrainedKvHeads", trained("kv_heads: 2"),
                 kPlace + "kv_heads: found 2; allowed in mode TRAIN: as many as heads, which are 4" + kBoth},
        BadShape{"TrainedMlp", trained("mlp: SWIGLU"),
                 kPlace + "mlp: found SWIGLU; allowed in mode TRAIN: GELU" + kBoth},
        BadShape{"TrainedNorm", trained("norm: RMSNORM"),
                 kPlace + "norm: found RMSNORM; allowed in mode TRAIN: LAYERNORM" + kBoth},
        BadShape{"TrainedPositions", trained("positions: ROTARY"),
                 kPlace + "positions: found ROTARY; allowed in mode TRAIN: LEARNED" + kBoth},
        BadShape{"TrainedAttention", trained("attention: FLASH"),
                 kPlace + "attention: found FLASH; allowed in mode TRAIN: UNFUSED" + kBoth},
        BadShape{"TrainedAttentionBias", trained("attention_bias: true"),
                 kPlace + "attention_bias: found true; allowed in mode TRAIN: false" + kBoth},
        BadShape{"TrainedMlpBias", trained("mlp_bias: false"),
                 kPlace + "mlp_bias: found false; allowed in mode TRAIN: true" + kBoth},
        BadShape{"TrainedTiedEmbeddings", trained("tied_embeddings: true"),
                 kPlace + "tied_embeddings: found true; allowed in mode TRAIN: false" + kBoth},
        BadShape{"TrainedPreset", good_with(kSizes, "preset: \"gpt2\""),
                 "model.preset: found \"gpt2\", whose attention_bias is true; allowed in mode "
                 "TRAIN: false" +
                     kBoth},
        BadShape{"TrainedHalf", trained("dtype: BFLOAT16"),
                 kPlace + "dtype: found BFLOAT16; allowed in mode TRAIN: FLOAT32, FLOAT64; mode COST takes all"},
        BadShape{"TrainedGradients", good_with("batch: 4", "batch: 4 main_grads_dtype: FLOAT64"),
                 "train.main_grads_dtype: found FLOAT64; allowed in mode TRAIN: model.dtype, "
                 "which is FLOAT32; mode COST takes all"},
        BadShape{"TrainedOptimizer", good_with("batch: 4", "batch: 4 optimizer_dtype: BFLOAT16"),
                 "train.optimizer_dtype: found BFLOAT16; allowed in mode TRAIN: model.dtype, "
                 "which is FLOAT32; mode COST takes all"},
        BadShape{"TooLarge", with_model("layers: 10000 embed: 65536 heads: 64 vocab: 64 context: 16"),
                 "model: found sizes that make more than 2^40 parameters; allowed: fewer layers, "
                 "embed or vocab"},
        BadShape{"TooLargeBatch", with_model("preset: \"llama3-405b\" vocab: 16777216 context: 65536 embed: 4096"),
                 "train.batch: found 4, which makes a tensor of more than 2^40 elements; "
                 "allowed: a smaller batch or model"}),
    [](const auto& test) { return test.param.name; });

StateTypes types_of(const std::string& field) {
  return load_text(with_model(kSizes + " " + field)).train.state_types();
}

TEST(StateTypes, HalfAParameterHasAWholeOptimizer) {
  const StateTypes types = types_of("dtype: BFLOAT16");
  EXPECT_EQ(types.parameters, DType::kBFloat16);
  EXPECT_EQ(types.gradients, DType::kBFloat16);
  EXPECT_EQ(types.optimizer, DType::kFloat32);
  EXPECT_EQ(types_of("dtype: FLOAT64").optimizer, DType::kFloat64);
}

TEST(StateTypes, EachMayBeWritten) {
  const std::string text =
      good_with("batch: 4", "batch: 4 main_grads_dtype: FLOAT32 optimizer_dtype: BFLOAT16") + kCost;
  const Scenario s = load_text(text, {"model.dtype=FLOAT16"});
  EXPECT_EQ(s.train.dtype, DType::kFloat16);
  EXPECT_EQ(s.train.state_types().gradients, DType::kFloat32);
  EXPECT_EQ(s.train.state_types().optimizer, DType::kBFloat16);
  EXPECT_EQ(load_text(s.text).train.state_types().optimizer, DType::kBFloat16);
  EXPECT_EQ(load_text(s.text).scenario_sha256, s.scenario_sha256);
}

}  // namespace
}  // namespace rehearse
