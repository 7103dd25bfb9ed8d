// Shapes that are not the MiniGPT's: parameters, kernels and memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/model/activations.h"
#include "core/model/block_kernels.h"
#include "core/model/cost.h"
#include "core/model/layout.h"
#include "core/model/mini_gpt.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelConfig sizes() {
  ModelConfig model;
  model.layers = 2;
  model.embed = 32;
  model.heads = 4;
  model.vocab = 64;
  model.context = 16;
  return model;
}

// Like LLaMA, with an odd width and shared heads.
ModelConfig llama() {
  ModelConfig model = sizes();
  model.ffn = 88;
  model.kv_heads = 2;
  model.mlp = Mlp::kSwiGlu;
  model.norm = Norm::kRmsNorm;
  model.positions = Positions::kRotary;
  model.mlp_bias = false;
  return model;
}

ModelConfig gpt2() {
  ModelConfig model = sizes();
  model.attention_bias = true;
  model.tied_embeddings = true;
  return model;
}

std::vector<std::string> names_of_stage(const ParameterLayout& layout, int stage) {
  std::vector<std::string> names;
  for (int t = layout.first_tensor(stage); t < layout.first_tensor(stage + 1); ++t) {
    const ParameterInfo& info = layout.tensors()[static_cast<std::size_t>(t)];
    std::string name = info.name + " [";
    for (const std::int64_t extent : info.shape)
      name += std::to_string(extent) + (extent == info.shape.back() ? "" : ",");
    names.push_back(name + "]");
    EXPECT_EQ(layout.stage_of(t), stage) << name;
  }
  return names;
}

TEST(Shapes, ALlamaHasItsTensors) {
  const ParameterLayout layout(llama());
  EXPECT_THAT(names_of_stage(layout, 0), ElementsAre("tok_embed.weight [64,32]"));
  EXPECT_THAT(names_of_stage(layout, 2),
              ElementsAre("blocks.1.ln1.weight [32]", "blocks.1.attn.qkv.weight [64,32]",
                          HasSubstr("blocks.1.attn.proj.weight"), "blocks.1.ln2.weight [32]",
                          "blocks.1.mlp.gate.weight [88,32]", "blocks.1.mlp.up.weight [88,32]",
                          "blocks.1.mlp.down.weight [32,88]"));
  EXPECT_THAT(names_of_stage(layout, 3), ElementsAre("ln_f.weight [32]", "head.weight [64,32]"));
  EXPECT_EQ(layout.total(), 2 * 64 * 32 + 32 + 2 * (2 * 32 + 64 * 32 + 32 * 32 + 3 * 88 * 32));
}

TEST(Shapes, AGpt2HasItsTensors) {
  const ParameterLayout layout(gpt2());
  EXPECT_THAT(names_of_stage(layout, 0), ElementsAre("tok_embed.weight [64,32]", "pos_embed.weight [16,32]"));
  EXPECT_THAT(
      names_of_stage(layout, 1),
      ElementsAre("blocks.0.ln1.weight [32]", "blocks.0.ln1.bias [32]", "blocks.0.attn.qkv.weight [96,32]",
                  "blocks.0.attn.qkv.bias [96]", HasSubstr("blocks.0.attn.proj.weight"), "blocks.0.attn.proj.bias [32]",
                  "blocks.0.ln2.weight [32]", "blocks.0.ln2.bias [32]", "blocks.0.mlp.0.weight [128,32]",
                  "blocks.0.mlp.0.bias [128]", "blocks.0.mlp.2.weight [32,128]", "blocks.0.mlp.2.bias [32]"));
  EXPECT_THAT(names_of_stage(layout, 3), ElementsAre("ln_f.weight [32]", "ln_f.bias [32]"));
  EXPECT_EQ(layout.total(), 64 * 32 + 16 * 32 + 2 * 32 + 2 * (12 * 32 * 32 + 13 * 32));
}

// Every combination has the count of the formula (the layout checks itself against it).
TEST(Shapes, EveryCombinationHasTheCountOfTheFormula) {
  for (int bits = 0; bits < 128; ++bits) {
    ModelConfig model = sizes();
    if (bits & 1) model.kv_heads = 1;
    if (bits & 2) model.mlp = Mlp::kSwiGlu;
    if (bits & 4) model.norm = Norm::kRmsNorm;
    if (bits & 8) model.positions = Positions::kRotary;
    model.attention_bias = (bits & 16) != 0;
    model.mlp_bias = (bits & 32) != 0;
    model.tied_embeddings = (bits & 64) != 0;
    const ParameterLayout layout(model);
    EXPECT_TRUE(parameter_count(model) == layout.total()) << bits;
    EXPECT_EQ(model.is_mini_gpt(), bits == 32) << bits;
    EXPECT_EQ(layout.first_tensor(layout.stages()), static_cast<int>(layout.tensors().size())) << bits;
  }
}

TEST(Shapes, CopiesShareWhatTheyDescribe) {
  const ParameterLayout layout(llama());
  const ParameterLayout copy = layout;
  EXPECT_EQ(&copy.tensors(), &layout.tensors());
}

TEST(Shapes, HeadsThatCannotBeSharedAreRefused) {
  ModelConfig model = sizes();
  model.kv_heads = 3;
  try {
    validate(model);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("kv_heads must divide heads, found kv_heads 3 and heads 4"));
  }
}

std::int64_t flops_of(const ModelConfig& model, int stage, Direction direction) {
  return stage_cost(model, 3, stage, direction).flops.count();
}

// R = 48 rows of 3 sequences; attention 4 R T E.
TEST(StageKernels, OperationsFollowTheShape) {
  const std::int64_t r = 48;
  EXPECT_EQ(flops_of(llama(), 1, Direction::kForward), 2 * r * 32 * (64 + 32 + 3 * 88) + 4 * r * 16 * 32);
  EXPECT_EQ(flops_of(llama(), 1, Direction::kBackward), 2 * flops_of(llama(), 1, Direction::kForward));
  EXPECT_EQ(flops_of(llama(), 0, Direction::kForward), 0);  // a table is read
  EXPECT_EQ(flops_of(gpt2(), 1, Direction::kForward), flops_of(sizes(), 1, Direction::kForward));
  EXPECT_EQ(flops_of(gpt2(), 3, Direction::kForward), 2 * r * 32 * 64);
}

TEST(StageKernels, FusedAttentionLeavesTheUpperTriangleOut) {
  ModelConfig fused = llama();
  fused.attention = Attention::kFlash;
  const std::int64_t r = 48;
  const std::int64_t linear = 2 * r * 32 * (64 + 32 + 3 * 88);
  EXPECT_EQ(flops_of(fused, 1, Direction::kForward), linear + 2 * r * 16 * 32);
  EXPECT_EQ(flops_of(fused, 1, Direction::kBackward), 2 * linear + 5 * r * 16 * 32);
}

// Sums are those of the list, and what a product says of itself is 2 m n k count.
TEST(StageKernels, AddUpToTheSums) {
  for (const ModelConfig& model : {sizes(), llama(), gpt2()}) {
    for (int stage = 0; stage < 4; ++stage) {
      for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
        const StageCost cost = stage_cost(model, 3, stage, direction, DType::kBFloat16, DType::kFloat32);
        Flops flops;
        Bytes bytes;
        for (const DeviceKernel& kernel : cost.kernels) {
          flops += kernel.flops;
          bytes += kernel.bytes;
          EXPECT_EQ(kernel.dtype, DType::kBFloat16);
          EXPECT_GT(kernel.bytes.count(), 0);
          if (!kernel.is_product()) continue;
          EXPECT_EQ(kernel.flops.count(), 2 * kernel.m * kernel.n * kernel.k * kernel.count);
        }
        EXPECT_EQ(flops, cost.flops);
        EXPECT_EQ(bytes, cost.bytes);
      }
    }
  }
}

// Forward of a block of the MiniGPT, kernel by kernel: R = 48, E = 32, F = 128, T = 16, 12 heads of 3 sequences.
TEST(StageKernels, ABlockTouchesEachArrayOnce) {
  const StageCost cost = stage_cost(sizes(), 3, 1, Direction::kForward);
  std::vector<std::int64_t> elements;
  for (const DeviceKernel& kernel : cost.kernels) elements.push_back(kernel.bytes.count() / 4);
  const std::int64_t scores = 3 * 4 * 16 * 16;
  EXPECT_THAT(elements, ElementsAre(2 * 48 * 32,                          // norm
                                    48 * 32 + 96 * 32 + 48 * 96,          // qkv
                                    2 * 48 * 32 + scores,                 // scores
                                    2 * scores,                           // softmax
                                    2 * 48 * 32 + scores,                 // values
                                    2 * 48 * 32 + 32 * 32,                // proj
                                    3 * 48 * 32,                          // residual
                                    2 * 48 * 32,                          // norm
                                    48 * 32 + 128 * 32 + 128 + 48 * 128,  // mlp.0
                                    2 * 48 * 128,                         // GELU
                                    48 * 128 + 128 * 32 + 32 + 48 * 32,   // mlp.2
                                    3 * 48 * 32));                        // residual
}

// Gradients of weights are read and written in their own type.
TEST(StageKernels, GradientsHaveTheirOwnType) {
  const auto bytes = [](DType gradients) {
    return stage_cost(sizes(), 3, 3, Direction::kBackward, DType::kBFloat16, gradients).bytes.count();
  };
  EXPECT_EQ(bytes(DType::kFloat32) - bytes(DType::kBFloat16), 2 * 64 * 32 * 2);
}

TEST(ModelWork, HasTheCostsOfAllStages) {
  ModelConfig model = llama();
  model.layers = 5;
  const ModelWork work(model, 3, DType::kBFloat16, DType::kFloat32);
  for (int stage = 0; stage <= 6; ++stage) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      const StageCost cost = stage_cost(model, 3, stage, direction, DType::kBFloat16, DType::kFloat32);
      EXPECT_EQ(work.cost(stage, direction).flops, cost.flops) << stage;
      EXPECT_EQ(work.cost(stage, direction).bytes, cost.bytes) << stage;
      EXPECT_EQ(work.cost(stage, direction).kernels.size(), cost.kernels.size()) << stage;
    }
  }
  EXPECT_EQ(&work.cost(1, Direction::kForward), &work.cost(5, Direction::kForward));
}

TEST(ActivationsOfShapes, TakeTheDocumentedMemory) {
  const std::int64_t r = 48;
  const std::int64_t scores = 3 * 4 * 16 * 16;
  const std::int64_t backward = r * (2 * 32 + 64 + 2 * 88);
  const std::int64_t block = r * (4 * 32 + 64 + 3 * 88 + 2);
  EXPECT_EQ(activation_elements(llama(), 3), 3 * r * 32 + 2 * (block + scores) + r * (32 + 64 + 1) + backward);
  ModelConfig fused = llama();
  fused.attention = Attention::kFlash;
  EXPECT_EQ(activation_elements(llama(), 3) - activation_elements(fused, 3), 2 * (scores - r * 4));
  MemoryAccount account;
  const Activations<float> half(fused, 3, &account, Storing::kShapeOnly, false, DType::kBFloat16);
  EXPECT_EQ(account.current(MemoryKind::kActivations).count(), 2 * activation_elements(fused, 3));
}

}  // namespace
}  // namespace rehearse
