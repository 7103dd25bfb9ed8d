#include "sim/config/text_lexer.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace rehearse {
namespace {

std::string error_of(const std::string& text) {
  try {
    lex_text(text, "f");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TextLexer, PositionsCountLinesAndCharactersFromOne) {
  const auto tokens = lex_text("a: 1 # \xC3\xA9\n\t\"\xC3\xA9\" b", "f");
  ASSERT_EQ(tokens.size(), 6U);
  EXPECT_EQ(tokens[2].text, "1");
  EXPECT_EQ(tokens[2].position.column, 4);
  EXPECT_EQ(tokens[3].position.line, 2);
  EXPECT_EQ(tokens[3].position.column, 2);
  EXPECT_EQ(tokens[4].position.column, 6);  // the accented letter is one column
}

TEST(TextLexer, StringsResolveEscapesAndJoin) {
  EXPECT_EQ(lex_text(R"("a\n\t\\\"\x41\101" 'b"')", "f").front().value, "a\n\t\\\"AAb\"");
  EXPECT_EQ(lex_text(R"("\303\251")", "f").front().value, "\xC3\xA9");
}

TEST(TextLexer, RefusesBadStrings) {
  EXPECT_EQ(error_of("a: \"x\n"), "f:1:4: found a string without its closing quote; it must end on its line");
  EXPECT_EQ(error_of("a: \"x"), "f:1:4: found a string without its closing quote; it must end on its line");
  EXPECT_EQ(error_of("a: \"x\\"),
            "f:1:6: found an unknown escape; allowed: \\n \\t \\r \\\\ \\\" \\' \\xHH and octal \\OOO");
  for (const char* text : {R"("\q")", R"("\xg")", R"("\777")", R"("\8")", R"("\u00e9")"}) {
    EXPECT_NE(error_of(text).find("unknown escape"), std::string::npos) << text;
  }
  EXPECT_EQ(error_of(R"("\377")"), "f:1:1: found a string whose escapes are not valid UTF-8");
  EXPECT_EQ(error_of(R"("\0")"), "f:1:1: found a string with a NUL character");
}

TEST(TextLexer, RefusesInvalidUtf8AnywhereEvenInComments) {
  EXPECT_EQ(error_of("a: 1\n# caf\xE9 x"), "f:2:6: found bytes that are not valid UTF-8; a scenario is UTF-8 text");
  EXPECT_EQ(error_of("a: \"\xC0\xAF\""), "f:1:5: found bytes that are not valid UTF-8; a scenario is UTF-8 text");
}

TEST(TextLexer, RefusesStrayCharacters) {
  EXPECT_EQ(error_of("a = 1"), "f:1:3: found '='; allowed: a field name, a value, { } or a comment that begins with #");
  EXPECT_EQ(error_of("\xC3\xA9"),
            "f:1:1: found '\xC3\xA9'; allowed: a field name, a value, { } or a comment that begins with #");
  EXPECT_EQ(error_of(std::string("a\0b", 3)),
            "f:1:2: found a control character; allowed: a field name, a value, { } or a comment that begins with #");
}

TEST(TextLexer, KnowsDecimalNumbers) {
  for (const char* text : {"0", "7", "40", "-3", "-0", "0.005", "1e-8", "1E+8", ".5", "5.", "-.5e3"}) {
    EXPECT_TRUE(is_decimal_number(text)) << text;
  }
  for (const char* text : {"",     "-",   ".",  "010", "-01",   "00",  "0x1F", "1f",    "1.5f", "inf",
                           "-inf", "nan", "1e", "1e+", "1.2.3", "5us", "+5",   "1_000", "e5",   "01.5"}) {
    EXPECT_FALSE(is_decimal_number(text)) << text;
  }
}

}  // namespace
}  // namespace rehearse
