#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/data/token_source.h"
#include "core/formats/safetensors.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

// [3 steps, 2 ranks, 2 sequences, 4 + 1 tokens]
constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kCount = kSteps * 2 * 2 * 5;

std::vector<std::int32_t> counting() {
  std::vector<std::int32_t> tokens(kCount);
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

template <class T>
DataConfig file_of(const std::vector<T>& values, std::vector<std::int64_t> shape = {kSteps, 2, 2, 5},
                   const std::string& name = "tokens") {
  const std::vector<TensorView> tensors = {
      TensorView{name, dtype_of<T>, std::move(shape), std::as_bytes(std::span(values))}};
  const std::vector<std::byte> bytes = write_safetensors(tensors);
  std::string contents(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  InputFile file{"t.safetensors", sha256_hex(contents), nullptr};
  file.contents = std::make_shared<const std::string>(std::move(contents));
  return TokensConfig{file};
}

std::string error_of(const DataConfig& config, int ranks = 2, std::int64_t batch = 2, std::int64_t context = 4,
                     std::int64_t steps = kSteps, bool wants_eval = false) {
  try {
    check_data(config, 1, ranks, batch, context, 64, steps, wants_eval);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TokensSource, GivesTheRowOfStepRankAndSequence) {
  const auto source = make_token_source(file_of(counting()), 1, 2, 2, 4, 64);
  EXPECT_EQ(source->batches(), kSteps);
  std::vector<std::int32_t> tokens(5);
  source->sequence(2, 1, 0, tokens);
  EXPECT_THAT(tokens, ::testing::ElementsAre(50, 51, 52, 53, 54));
  source->sequence(0, 0, 1, tokens);
  EXPECT_THAT(tokens, ::testing::ElementsAre(5, 6, 7, 8, 9));
}

TEST(TokensSource, RefusesAShapeThatDoesNotFitTheJob) {
  EXPECT_EQ(error_of(file_of(counting())), "no error");
  EXPECT_EQ(error_of(file_of(counting()), 4),
            "data.tokens_file 't.safetensors': tokens has shape [3, 2, 2, 5]; cluster.ranks, train.batch and "
            "model.context ask for [steps, ranks, batch, context + 1] = [steps, 4, 2, 5]");
  EXPECT_THAT(error_of(file_of(counting()), 2, 3), HasSubstr("[steps, 2, 3, 5]"));
  EXPECT_THAT(error_of(file_of(counting()), 2, 2, 5), HasSubstr("[steps, 2, 2, 6]"));
  EXPECT_THAT(error_of(file_of(counting(), {kCount})), HasSubstr("tokens has shape [60]"));
}

TEST(TokensSource, RefusesMoreStepsThanTheFileHas) {
  EXPECT_EQ(error_of(file_of(counting()), 2, 2, 4, kSteps + 1), "data has batches for 3 steps; train.steps is 4");
}

TEST(TokensSource, RefusesATokenOutsideTheVocabulary) {
  for (const std::int32_t bad : {64, -1}) {
    auto tokens = counting();
    tokens[37] = bad;
    EXPECT_EQ(error_of(file_of(tokens)), "data.tokens_file 't.safetensors': tokens[1, 1, 1, 2] (counted from 0) is " +
                                             std::to_string(bad) + "; allowed: 0 to model.vocab - 1 = 63");
  }
}

TEST(TokensSource, RefusesAnotherTypeAnotherNameAndADamagedFile) {
  EXPECT_THAT(error_of(file_of(std::vector<float>(kCount))), HasSubstr("tokens has type F32; it must be I32"));
  EXPECT_THAT(error_of(file_of(counting(), {kSteps, 2, 2, 5}, "ids")), HasSubstr("holds the tensors [ids]"));
  const InputFile cut{"t.safetensors", "", std::make_shared<const std::string>("abc")};
  EXPECT_THAT(error_of(TokensConfig{cut}), HasSubstr("t.safetensors"));
}

TEST(TokensSource, HasNoHeldOutBatch) {
  EXPECT_THAT(error_of(file_of(counting()), 2, 2, 4, kSteps, true), HasSubstr("train.eval_every must be 0"));
}

}  // namespace
}  // namespace rehearse
