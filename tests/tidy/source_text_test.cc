#include "tests/tidy/source_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/tidy/source_tree.h"

namespace rehearse::tidy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;

// Blanks of a length one can check. (g++ 12 warns wrongly about "literal" + std::string + "literal".)
std::string blanks(const std::string& before, std::size_t count, const std::string& after) {
  return before + std::string(count, ' ') + after;
}

TEST(BlankCommentsAndStrings, KeepsLengthAndLines) {
  EXPECT_EQ(blank_comments_and_strings("a; // b\nc /* d\ne */ f"), "a;     \nc     \n     f");
  EXPECT_EQ(blank_comments_and_strings("f(\"a//b\\\"c\", 'x');"), blanks("f(\"", 7, "\", ' ');"));
}

TEST(BlankCommentsAndStrings, KnowsRawStringsAndDigitSeparators) {
  EXPECT_EQ(blank_comments_and_strings("R\"x(a)\" \")x\" + b"), blanks("R\"", 9, "\" + b"));
  EXPECT_EQ(blank_comments_and_strings("1'000'000 + 'a' + 0xff'00 + u8'b'"), "1'000'000 + ' ' + 0xff'00 + u8' '");
}

TEST(BlankCommentsAndStrings, EndsWithTheText) {
  EXPECT_EQ(blank_comments_and_strings("a /* b"), "a     ");
  EXPECT_EQ(blank_comments_and_strings("\"a\\"), "\"  ");
  EXPECT_EQ(blank_comments_and_strings("R\"(a"), "R\"  ");
}

TEST(BlankPreprocessor, TakesContinuationsWithIt) {
  EXPECT_EQ(blank_preprocessor("a\n # b \\\nc\nd"), "a\n      \n \nd");
}

TEST(Tokenize, KnowsNamesNumbersAndPairs) {
  std::vector<std::string> texts;
  for (const Token& token : tokenize("a::b->c(1'0.5)\n[x_1]")) texts.emplace_back(token.text);
  EXPECT_THAT(texts, ElementsAre("a", "::", "b", "->", "c", "(", "1'0", ".", "5", ")", "[", "x_1", "]"));
  EXPECT_EQ(tokenize("a\n\nb")[1].line, 3);
}

TEST(ContainsWord, IgnoresPartsOfWords) {
  EXPECT_TRUE(contains_word("(x_test.cc)", "x_test.cc"));
  EXPECT_TRUE(contains_word("aax x", "x"));
  EXPECT_FALSE(contains_word("xx_test.cc", "x_test.cc"));
}

TEST(SourceTree, HoldsTheTrackedLayoutOnly) {
  const SourceTree tree = load_source_tree(REHEARSE_SOURCE_DIR);
  EXPECT_THAT(tree, Contains(Field(&SourceFile::path, "tests/tidy/source_text_test.cc")));
  EXPECT_THAT(tree, Contains(Field(&SourceFile::path, "CMakeLists.txt")));
  EXPECT_THAT(tree, Contains(Field(&SourceFile::path, ".ci/run")));
  for (const SourceFile& file : tree) {
    EXPECT_FALSE(file.is_under("build") || file.is_under(".git")) << file.path;
  }
}

TEST(SourceFile, KnowsItsParts) {
  const SourceFile file{"core/base/units.h", ""};
  EXPECT_EQ(file.name(), "units.h");
  EXPECT_EQ(file.directory(), "core/base");
  EXPECT_TRUE(file.is_under("core") && file.is_under("core/base"));
  EXPECT_FALSE(file.is_under("core/bas") || file.is_under("base"));
  EXPECT_EQ((SourceFile{"LICENSE", ""}).directory(), "");
}

}  // namespace
}  // namespace rehearse::tidy
