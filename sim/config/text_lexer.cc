#include "sim/config/text_lexer.h"

#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "core/data/utf8.h"

namespace rehearse {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  std::vector<TextToken> all() {
    check_utf8();
    std::vector<TextToken> tokens;
    for (;;) {
      skip_blanks();
      TextToken token = next();
      const bool continues =
          !tokens.empty() && tokens.back().kind == TextToken::Kind::kString && token.kind == TextToken::Kind::kString;
      if (continues) {
        tokens.back().text += " " + token.text;
        tokens.back().value += token.value;
        continue;
      }
      tokens.push_back(std::move(token));
      if (tokens.back().kind == TextToken::Kind::kEnd) return tokens;
    }
  }

 private:
  bool at_end() const { return offset_ >= text_.size(); }
  char peek(std::size_t ahead = 0) const { return offset_ + ahead < text_.size() ? text_[offset_ + ahead] : '\0'; }

  // Steps over one byte; only the first byte of a character moves the column.
  char take() {
    const char c = text_[offset_++];
    if (c == '\n') {
      ++position_.line;
      position_.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      ++position_.column;
    }
    return c;
  }

  [[noreturn]] void refuse(TextPosition where, const std::string& what) const {
    throw InputError(source_ + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) + ": " + what);
  }

  void check_utf8() {
    const std::optional<std::size_t> bad = find_invalid_utf8(text_);
    if (!bad) return;
    while (offset_ < *bad) take();
    refuse(position_, "found bytes that are not valid UTF-8; a scenario is UTF-8 text");
  }

  void skip_blanks() {
    while (!at_end()) {
      if (is_space(peek())) {
        take();
      } else if (peek() == '#') {
        while (!at_end() && peek() != '\n') take();
      } else {
        return;
      }
    }
  }

  TextToken next() {
    TextToken token;
    token.position = position_;
    const std::size_t start = offset_;
    if (at_end()) return token;
    const char c = peek();
    if (is_letter(c)) {
      token.kind = TextToken::Kind::kName;
      while (is_letter(peek()) || is_digit(peek())) take();
    } else if (is_digit(c) || c == '.' || c == '+' || c == '-') {
      token.kind = TextToken::Kind::kNumber;
      take_number();
    } else if (c == '"' || c == '\'') {
      token.kind = TextToken::Kind::kString;
      token.value = take_string();
    } else if (std::string_view("{}<>[]:,;").find(c) != std::string_view::npos) {
      token.kind = TextToken::Kind::kSymbol;
      take();
    } else {
      const std::size_t bytes = decode_utf8(text_, offset_)->bytes;
      const bool printable = static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
      const std::string found =
          printable ? "'" + std::string(text_.substr(offset_, bytes)) + "'" : "a control character";
      refuse(position_, "found " + found + "; allowed: a field name, a value, { } or a comment that begins with #");
    }
    token.text = std::string(text_.substr(start, offset_ - start));
    return token;
  }

  // Everything that could be meant as one number, so that 0x1F, 1.5f, -inf and 5us are each one token to complain
  // about.
  void take_number() {
    take();
    while (is_digit(peek()) || is_letter(peek()) || peek() == '.' ||
           ((peek() == '+' || peek() == '-') && (text_[offset_ - 1] == 'e' || text_[offset_ - 1] == 'E'))) {
      take();
    }
  }

  std::string take_string() {
    const TextPosition start = position_;
    const char quote = take();
    std::string value;
    for (;;) {
      if (at_end() || peek() == '\n')
        refuse(start, "found a string without its closing quote; it must end on its line");
      const TextPosition where = position_;
      const char c = take();
      if (c == quote) break;
      value += c == '\\' ? take_escape(where) : c;
    }
    if (find_invalid_utf8(value)) refuse(start, "found a string whose escapes are not valid UTF-8");
    if (value.find('\0') != std::string::npos) refuse(start, "found a string with a NUL character");
    return value;
  }

  char take_escape(TextPosition where) {
    const char c = at_end() ? '\0' : take();
    switch (c) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case '\\':
      case '"':
      case '\'':
        return c;
      default:
        break;
    }
    const bool hex = c == 'x';
    const int base = hex ? 16 : 8;
    const int most_digits = hex ? 2 : 3;
    int value = hex ? 0 : digit_value(c);
    int digits = hex ? 0 : 1;
    if (value < base) {
      for (; digits < most_digits && digit_value(peek()) < base; ++digits) value = value * base + digit_value(take());
      if (digits > 0 && value < 256) return static_cast<char>(value);
    }
    refuse(where, "found an unknown escape; allowed: \\n \\t \\r \\\\ \\\" \\' \\xHH and octal \\OOO");
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t offset_ = 0;
  TextPosition position_;
};

}  // namespace

std::string found_text(const TextToken& token) {
  switch (token.kind) {
    case TextToken::Kind::kEnd:
      return "the end of the file";
    case TextToken::Kind::kString:
      return token.text;
    default:
      return "'" + token.text + "'";
  }
}

std::vector<TextToken> lex_text(std::string_view text, const std::string& source) { return Lexer(text, source).all(); }

TextToken lex_value(std::string_view text, const std::string& source) {
  if (find_invalid_utf8(text)) throw InputError(source + ": the value is not valid UTF-8");
  TextToken token;
  token.text = std::string(text);
  token.value = token.text;
  if (text.starts_with('"') || text.starts_with('\'')) {
    std::vector<TextToken> tokens = lex_text(text, source);
    if (tokens.size() != 2) throw InputError(source + ": found more than one quoted text; allowed: one value");
    return tokens.front();
  }
  const bool number = !text.empty() && (is_digit(text[0]) || text[0] == '.' || text[0] == '+' || text[0] == '-');
  token.kind = number ? TextToken::Kind::kNumber : TextToken::Kind::kName;
  return token;
}

bool is_decimal_number(std::string_view text) {
  std::size_t i = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    return i - start;
  };
  const std::size_t first = i;
  const std::size_t whole = digits();
  if (whole > 1 && text[first] == '0') return false;
  std::size_t decimals = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    decimals = digits();
  }
  if (whole + decimals == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits() == 0) return false;
  }
  return i == text.size();
}

}  // namespace rehearse
