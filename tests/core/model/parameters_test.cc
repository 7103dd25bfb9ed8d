#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/model/cost.h"
#include "core/model/init.h"
#include "core/model/load.h"
#include "core/model/mini_gpt.h"
#include "core/tensor/matmul.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

constexpr ModelConfig kCapstone{2, 32, 4, 64, 16};

void expect_input_error(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "accepted; expected: " << part;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(ModelConfig, BadSizesAreRefused) {
  validate(kCapstone);
  expect_input_error([] { validate({0, 32, 4, 64, 16}); }, "layers must be from 1 to 2147483647, found 0");
  expect_input_error([] { validate({2, -1, 4, 64, 16}); }, "embed must be");
  expect_input_error([] { validate({2, 32, 5, 64, 16}); }, "heads must divide embed, found heads 5 and embed 32");
  expect_input_error([] { validate({2, 32, 4, std::int64_t{1} << 31, 16}); }, "vocab must be");
  expect_input_error([] { validate({2000000000, 2000000000, 4, 64, 16}); }, "2^48 parameters or more");
}

TEST(ParameterLayout, IsPyTorchsFlatOrder) {
  const ParameterLayout layout(kCapstone);
  EXPECT_EQ(layout.total(), 29'824);
  ASSERT_EQ(layout.tensors().size(), 25U);
  EXPECT_EQ(layout.tensors()[4].name, "blocks.0.attn.qkv.weight");
  EXPECT_EQ(layout.tensors()[4].shape, (std::vector<std::int64_t>{96, 32}));
  EXPECT_EQ(layout.tensors()[4].offset, 64 * 32 + 16 * 32 + 64);
  EXPECT_FALSE(layout.tensors()[3].is_matrix());
  EXPECT_EQ(layout.find("head.weight"), 24);
  EXPECT_EQ(layout.find("head.bias"), -1);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
    EXPECT_EQ(layout.tensors()[i].offset, offset);
    offset += layout.tensors()[i].numel;
    const int stage = layout.stage_of(static_cast<int>(i));
    EXPECT_LE(layout.first_tensor(stage), static_cast<int>(i));
    EXPECT_GT(layout.first_tensor(stage + 1), static_cast<int>(i));
  }
  EXPECT_EQ(offset, layout.total());
  EXPECT_EQ(layout.stage_of(layout.find("ln_f.weight")), 3);
}

TEST(Initialise, FollowsTheStatedDistributionsAndIsTheSameInFloatAndDouble) {
  const ParameterLayout layout({1, 64, 4, 500, 32});
  std::vector<float> params(static_cast<std::size_t>(layout.total()));
  std::vector<double> doubles(params.size());
  initialise(layout, RandomStream(3), table_of_flat(layout, params.data()));
  initialise(layout, RandomStream(3), table_of_flat(layout, doubles.data()));
  EXPECT_TRUE(std::equal(params.begin(), params.end(), doubles.begin()));
  for (const ParameterInfo& info : layout.tensors()) {
    double sum = 0;
    double squares = 0;
    double most = 0;
    for (std::int64_t i = 0; i < info.numel; ++i) {
      const double x = params[static_cast<std::size_t>(info.offset + i)];
      sum += x;
      squares += x * x;
      most = std::max(most, std::abs(x));
    }
    const auto n = static_cast<double>(info.numel);
    if (info.name.find("ln") != std::string::npos) {
      EXPECT_EQ(sum, info.name.ends_with("weight") ? n : 0) << info.name;
    } else if (info.name.find("embed") != std::string::npos) {
      EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n)) << info.name;
      EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n)) << info.name;
    } else {
      const double bound = 1 / std::sqrt(info.name.find("mlp.2") != std::string::npos ? 256.0 : 64.0);
      EXPECT_LE(most, bound) << info.name;
      EXPECT_GT(most, 0.9 * bound) << info.name;
      EXPECT_NEAR(squares / n, bound * bound / 3, bound * bound * 1.5 / std::sqrt(n)) << info.name;
    }
  }
}

TEST(Initialise, ATensorDoesNotDependOnTheOthers) {
  const ParameterLayout small({1, 8, 2, 10, 4});
  const ParameterLayout large({3, 8, 2, 10, 4});
  std::vector<float> a(static_cast<std::size_t>(small.total()));
  std::vector<float> b(static_cast<std::size_t>(large.total()));
  initialise(small, RandomStream(3), table_of_flat(small, a.data()));
  initialise(large, RandomStream(3), table_of_flat(large, b.data()));
  const ParameterInfo& head_a = small.tensors().back();
  const ParameterInfo& head_b = large.tensors().back();
  EXPECT_TRUE(std::equal(a.begin() + head_a.offset, a.end(), b.begin() + head_b.offset));
}

// A file with the layout's tensors; `change` may alter them first.
std::vector<std::byte> file_with(const ParameterLayout& layout, const std::vector<float>& params,
                                 const std::function<void(std::vector<TensorView>&)>& change) {
  std::vector<TensorView> tensors;
  for (const ParameterInfo& info : layout.tensors()) {
    tensors.push_back(
        {info.name, DType::kFloat32, info.shape,
         std::as_bytes(std::span(params))
             .subspan(static_cast<std::size_t>(info.offset) * 4, static_cast<std::size_t>(info.numel) * 4)});
  }
  change(tensors);
  return write_safetensors(tensors);
}

TEST(LoadParameters, ReadsWhatWasWrittenAndRefusesTheRest) {
  const ParameterLayout layout({1, 8, 2, 10, 4});
  std::vector<float> params(static_cast<std::size_t>(layout.total()));
  initialise(layout, RandomStream(3), table_of_flat(layout, params.data()));
  std::vector<float> loaded(params.size());
  const auto load = [&](const std::function<void(std::vector<TensorView>&)>& change) {
    const auto bytes = file_with(layout, params, change);
    load_parameters(SafetensorsFile::parse(bytes, "m"), layout, table_of_flat(layout, loaded.data()), "m.safetensors");
  };
  load([](auto& tensors) { std::swap(tensors[0], tensors[5]); });
  EXPECT_EQ(loaded, params);
  std::fill(loaded.begin(), loaded.end(), 0.0F);
  expect_input_error([&] { load([](auto& t) { t.pop_back(); }); }, "m.safetensors: tensor head.weight is missing");
  expect_input_error([&] { load([](auto& t) {
                             t.push_back({"head.bias", DType::kFloat32, {0}, {}});
                           }); },
                     "tensor head.bias is not one of the model's 15 parameters");
  expect_input_error([&] { load([](auto& t) {
                             t[0].shape = {8, 10};
                           }); },
                     "has shape [8, 10]; the model needs [10, 8]");
  expect_input_error([&] { load([](auto& t) { t[0].dtype = DType::kInt32; }); },
                     "has dtype I32; allowed are F32 and F64");
  EXPECT_EQ(loaded, std::vector<float>(params.size()));
}

TEST(CheckTokens, NamesTheFirstTokenOutOfRange) {
  const std::vector<std::int32_t> tokens = {0, 63, 5, 64, -1, 2};
  check_tokens(std::span(tokens).first(3), 3, 64, "t");
  expect_input_error([&] { check_tokens(tokens, 3, 64, "tokens.safetensors"); },
                     "tokens.safetensors: token 64 in sequence 1, position 0");
}

TEST(Activations, TakeExactlyTheDocumentedMemory) {
  MemoryAccount account;
  {
    const Activations<float> activations(kCapstone, 4, &account);
    const std::int64_t rows = 64;
    const std::int64_t kept = 3 * rows * 32 + 2 * (rows * (15 * 32 + 4) + 4 * 4 * 16 * 16) + rows * (32 + 64 + 2);
    // The largest product is the second linear layer of the MLP: 64 rows, 32 outputs, 128 inputs.
    EXPECT_EQ(activation_elements(kCapstone, 4), kept + rows * 9 * 32 + matmul_scratch(64, 32, 128));
    EXPECT_EQ(account.current(MemoryKind::kActivations).count(), 4 * activation_elements(kCapstone, 4));
    const Activations<double> shape_only(kCapstone, 4, &account, Storing::kShapeOnly);
    EXPECT_EQ(account.peak(MemoryKind::kActivations).count(), 12 * activation_elements(kCapstone, 4));
  }
  EXPECT_EQ(account.current(MemoryKind::kActivations).count(), 0);
  expect_input_error([] { activation_elements(kCapstone, 0); }, "a batch of 0 sequences");
  expect_input_error([] { activation_elements(kCapstone, std::int64_t{1} << 50); }, "must be at least 1");
}

TEST(StageCost, FollowsItsFormulas) {
  const std::int64_t r = 64;
  EXPECT_EQ(stage_cost(kCapstone, 4, 0, Direction::kForward).flops.count(), r * 32);
  EXPECT_EQ(stage_cost(kCapstone, 4, 1, Direction::kForward).flops.count(), 24 * r * 32 * 32 + 4 * r * 16 * 32);
  EXPECT_EQ(stage_cost(kCapstone, 4, 3, Direction::kBackward).flops.count(), 2 * 2 * r * 32 * 64);
  // Norm 2 R E; product R E + V E + R V; loss 2 R V. Backward: loss; R V + V E + R E for the stream, R V + R E + 2 V E
  // for the weight, whose gradient is added to; norm 3 R E.
  EXPECT_EQ(stage_cost(kCapstone, 4, 3, Direction::kForward).bytes.count(), 4 * (3 * r * 32 + 64 * 32 + 3 * r * 64));
  EXPECT_EQ(stage_cost(kCapstone, 4, 3, Direction::kBackward, DType::kFloat64).bytes.count(),
            8 * (2 * r * 64 + 2 * (r * 64 + r * 32) + 3 * 64 * 32 + 3 * r * 32));
}

}  // namespace
}  // namespace rehearse
