#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// C++ source as the rules of this folder see it: text, text without comments and strings, lines, tokens. No compiler is
// asked, so a rule is a heuristic over tokens; each says what it cannot see.

namespace rehearse::tidy {

// A broken rule. Lines count from 1; 0 means the whole file.
struct Finding {
  std::string path;
  int line;
  std::string message;
};

// "path:line: message", one a line: what a failing test prints.
std::string to_string(const std::vector<Finding>& findings);

// The same text, same length and line breaks, with blanks for comments and for what stands between quotes (the quotes
// stay). Knows raw strings, escapes and digit separators.
std::string blank_comments_and_strings(std::string_view text);

// Blanks preprocessor lines with their continuations. Expects blanked comments.
std::string blank_preprocessor(std::string_view code);

// Lines without their '\n'. A final '\n' does not start another line.
std::vector<std::string_view> split_lines(std::string_view text);

// Identifiers and numbers, "::", "->", and every other character alone. Views into the code given.
struct Token {
  std::string_view text;
  std::size_t offset;
  int line;  // from 1
};
std::vector<Token> tokenize(std::string_view code);

bool is_identifier(std::string_view token);

// Whether `word` occurs in `text` with no letter, digit or underscore beside it.
bool contains_word(std::string_view text, std::string_view word);

}  // namespace rehearse::tidy
