#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

// A place in a text: line and column from 1, columns in characters (a tab is one).
struct TextPosition {
  int line = 1;
  int column = 1;
};

struct TextToken {
  enum class Kind { kName, kNumber, kString, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string text;   // as written
  std::string value;  // a string's contents, escapes resolved
  TextPosition position;
};

// A token as messages quote it.
std::string found_text(const TextToken& token);

// The tokens of Protobuf text format, stricter than Protobuf's own tokenizer: a number is decimal (no 010, 0x1F, 1f,
// inf or nan), a string is closed on its line, holds valid UTF-8 and no NUL. Ends with one kEnd token. Adjacent strings
// are one token. Throws InputError "SOURCE:LINE:COLUMN: found ...; allowed ...".
std::vector<TextToken> lex_text(std::string_view text, const std::string& source);

// One value as the command line gives it: whatever stands in `text`, without quotes where it is no string literal.
TextToken lex_value(std::string_view text, const std::string& source);

// True for the decimal numbers that scenarios may hold: 0, 40, -3, 0.005, 1e-8, .5.
bool is_decimal_number(std::string_view text);

}  // namespace rehearse
