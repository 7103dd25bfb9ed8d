#include "tests/tidy/source_text.h"

#include <algorithm>

namespace rehearse::tidy {
namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The start of the run of word characters and digit separators that ends before `end`.
std::size_t word_start(std::string_view text, std::size_t end) {
  std::size_t start = end;
  while (start > 0 && (is_word(text[start - 1]) || text[start - 1] == '\'')) --start;
  return start;
}

}  // namespace

std::string to_string(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    out += finding.path + ":" + std::to_string(finding.line) + ": " + finding.message + "\n";
  }
  return out;
}

std::string blank_comments_and_strings(std::string_view text) {
  std::string out(text);
  const auto blank = [&out](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && i < out.size(); ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  };
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    std::size_t end = i + 1;
    if (text.substr(i, 2) == "//") {
      end = std::min(text.find('\n', i), text.size());
      blank(i, end);
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t close = text.find("*/", i + 2);
      end = close == std::string_view::npos ? text.size() : close + 2;
      blank(i, end);
    } else if (c == '"' && i > 0 && text[i - 1] == 'R') {
      const std::size_t open = std::min(text.find('(', i), text.size());
      std::string closing = ")";
      closing += text.substr(i + 1, open - i - 1);
      closing += '"';
      const std::size_t close = text.find(closing, open);
      end = close == std::string_view::npos ? text.size() : close + closing.size();
      blank(i + 1, close == std::string_view::npos ? end : end - 1);
    } else if (c == '"' || c == '\'') {
      const std::size_t word = word_start(text, i);
      const bool digit_separator = c == '\'' && word < i && is_digit(text[word]);
      if (!digit_separator) {
        while (end < text.size() && text[end] != c && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
        blank(i + 1, end);
        if (end < text.size() && text[end] == c) ++end;
      }
    }
    i = end;
  }
  return out;
}

std::string blank_preprocessor(std::string_view code) {
  std::string out(code);
  bool continued = false;
  std::size_t begin = 0;
  while (begin < out.size()) {
    const std::size_t end = std::min(out.find('\n', begin), out.size());
    const std::size_t first = out.find_first_not_of(" \t", begin);
    const bool directive = continued || (first < end && out[first] == '#');
    continued = directive && end > begin && out[end - 1] == '\\';
    if (directive) out.replace(begin, end - begin, end - begin, ' ');
    begin = end + 1;
  }
  return out;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<Token> tokenize(std::string_view code) {
  std::vector<Token> tokens;
  int line = 1;
  std::size_t i = 0;
  while (i < code.size()) {
    const char c = code[i];
    if (c == '\n') ++line;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_word(c)) {
      while (end < code.size() && (is_word(code[end]) || (is_digit(c) && code[end] == '\''))) ++end;
    } else if (code.substr(i, 2) == "::" || code.substr(i, 2) == "->") {
      end = i + 2;
    }
    tokens.push_back({code.substr(i, end - i), i, line});
    i = end;
  }
  return tokens;
}

bool is_identifier(std::string_view token) { return !token.empty() && is_word(token[0]) && !is_digit(token[0]); }

bool contains_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

}  // namespace rehearse::tidy
