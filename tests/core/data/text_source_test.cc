#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/data/token_source.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

DataConfig text_config(const std::string& text) {
  return TextConfig{InputFile{"story.txt", sha256_hex(text), std::make_shared<const std::string>(text)}};
}

std::unique_ptr<TokenSource> source_of(const std::string& text, std::int64_t context, std::int64_t vocab = 64) {
  return make_token_source(text_config(text), 41, 2, 3, context, vocab);
}

template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TextSource, TokensAreCharactersInCodePointOrder) {
  // The whole training region as one window: 9 of 10 characters.
  const auto source = source_of("cabé a€bcz", 8);
  EXPECT_EQ(source->vocab(), 7);  // space a b c z é €
  std::vector<std::int32_t> tokens(9);
  source->sequence(5, 1, 2, tokens);
  EXPECT_THAT(tokens, ::testing::ElementsAre(3, 1, 2, 5, 0, 1, 6, 2, 3));
}

// Nine letters of training text, then the held-out tenth.
std::string letters(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += i < size - size / 10 ? static_cast<char>('a' + i % 26) : 'Z';
  return text;
}

TEST(TextSource, TrainingNeverSeesTheLastTenthAndTheHeldOutBatchNothingElse) {
  const auto source = source_of(letters(400), 16);
  std::vector<std::int32_t> tokens(17);
  std::set<std::int32_t> starts;
  for (std::int64_t batch = 0; batch < 300; ++batch) {
    source->sequence(batch, 0, 0, tokens);
    EXPECT_THAT(tokens, ::testing::Each(::testing::Gt(0)));  // 'Z' is token 0
    starts.insert(tokens[0]);
  }
  EXPECT_EQ(starts.size(), 26U);
  source->eval_sequence(0, 0, tokens);
  EXPECT_THAT(tokens, ::testing::Each(0));
}

TEST(TextSource, SameCallGivesSameTokensAndEachIndexChangesThem) {
  const auto source = source_of(letters(4000), 16);
  std::set<std::vector<std::int32_t>> seen;
  for (const auto& [batch, rank, index] : {std::tuple{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}) {
    std::vector<std::int32_t> first(17);
    std::vector<std::int32_t> second(17);
    source->sequence(batch, rank, index, first);
    source->sequence(batch, rank, index, second);
    EXPECT_EQ(first, second);
    seen.insert(first);
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST(TextSource, RefusesInvalidUtf8WithItsOffset) {
  EXPECT_EQ(error_of([] { source_of(letters(100) + "\xC3(", 16); }),
            "data.text_file 'story.txt': byte 100 (counted from 0) does not start a UTF-8 character; the text must be "
            "valid UTF-8");
}

TEST(TextSource, RefusesMoreCharactersThanTheVocabulary) {
  EXPECT_EQ(error_of([] { source_of(letters(100), 16, 26); }),
            "data.text_file 'story.txt': 27 distinct characters; model.vocab allows 26");
}

TEST(TextSource, RefusesATextShorterThanASequence) {
  EXPECT_THAT(error_of([] { source_of("", 16); }), HasSubstr("have 0 characters"));
  EXPECT_EQ(error_of([] { source_of(letters(17), 16); }),
            "data.text_file 'story.txt': the first nine tenths, which training reads, have 16 characters; a sequence "
            "needs model.context + 1 = 17");
}

TEST(TextSource, RefusesToEvaluateOnATooShortLastTenth) {
  const std::string text = letters(100);
  EXPECT_NO_THROW(check_data(text_config(text), 1, 2, 3, 16, 64, 5, false));
  EXPECT_THAT(error_of([&] { check_data(text_config(text), 1, 2, 3, 16, 64, 5, true); }),
              HasSubstr("held out for train.eval_every, has 10 characters"));
}

}  // namespace
}  // namespace rehearse
