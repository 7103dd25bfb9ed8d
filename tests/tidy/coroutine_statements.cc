#include "tests/tidy/coroutine_statements.h"

#include <algorithm>
#include <array>
#include <string>

namespace rehearse::tidy {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view token, const std::array<std::string_view, N>& set) {
  return std::find(set.begin(), set.end(), token) != set.end();
}

constexpr std::array<std::string_view, 5> kControl = {"if", "for", "while", "switch", "catch"};
constexpr std::array<std::string_view, 3> kBlockWord = {"else", "do", "try"};
constexpr std::array<std::string_view, 5> kLabel = {"case", "default", "public", "private", "protected"};
constexpr std::array<std::string_view, 6> kScope = {"namespace", "class", "struct", "union", "enum", "extern"};
// What may stand between a function's closing parenthesis and its body.
constexpr std::array<std::string_view, 6> kFunctionTail = {"const", "noexcept", "override", "final", "mutable", "&"};
constexpr std::array<std::string_view, 5> kBeforeLambda = {"return", "co_return", "co_await", "co_yield", "case"};

// Recursive descent over the tokens: a block is statements, a statement may hold lambda bodies, which are blocks.
class Parser {
 public:
  Parser(const std::string& path, std::string_view code) : path_(path), tokens_(tokenize(code)) {}

  std::vector<Finding> run() {
    // A stray `}` (an #if with two openings) ends a block early; go on behind it.
    while (at_ < tokens_.size()) {
      parse_block();
      ++at_;
    }
    return std::move(findings_);
  }

 private:
  struct Statement {
    int await_line = 0;  // of the first co_await; 0: none
    bool braces = false;
    bool conditional = false;
    bool capture = false;
  };

  std::string_view token(std::size_t i) const { return i < tokens_.size() ? tokens_[i].text : std::string_view(); }

  // Up to the `}` that closes the block, which is not consumed, or the end.
  void parse_block() {
    while (at_ < tokens_.size() && token(at_) != "}") parse_statement();
  }

  void parse_block_in_braces() {
    ++at_;  // {
    parse_block();
    ++at_;  // }
  }

  // One statement, a control head, a label, or a head with its block.
  void parse_statement() {
    const std::size_t begin = at_;
    if (token(at_) == "{") return parse_block_in_braces();
    if (is_one_of(token(at_), kBlockWord)) {
      ++at_;
      return;
    }
    const bool control = is_one_of(token(at_), kControl);
    const bool label = is_one_of(token(at_), kLabel);
    Statement statement;
    std::vector<char> open;  // parentheses, brackets and initialiser braces
    while (at_ < tokens_.size()) {
      const std::string_view text = token(at_);
      if (text == "}" && (open.empty() || open.back() != '{')) break;  // the enclosing block ends
      if (text == "{") {
        if (open.empty() && opens_block(begin)) {
          report(statement);
          return parse_block_in_braces();
        }
        if (holds_statements(at_)) {
          parse_block_in_braces();  // a block handed to a macro
          continue;
        }
        statement.braces = true;
      }
      if (text == "[" && token(at_ + 1) != "[" && starts_lambda(begin)) {
        parse_lambda(statement);
        continue;
      }
      if (text == "co_await" && statement.await_line == 0) statement.await_line = tokens_[at_].line;
      if (text == "?") statement.conditional = true;
      ++at_;
      if (text == "(" || text == "[" || text == "{") open.push_back(text[0]);
      if ((text == ")" || text == "]" || text == "}") && !open.empty()) open.pop_back();
      if (!open.empty()) continue;
      if (text == ";" || (label && text == ":") || (control && text == ")")) break;
    }
    report(statement);
  }

  // At `{`, outside any parenthesis, of the statement that began at `begin`: a body, or an initialiser?
  bool opens_block(std::size_t begin) const {
    const std::string_view before = token(at_ - 1);
    if (before == ")" || before == "}" || before == ":" || is_one_of(before, kFunctionTail)) return true;
    for (std::size_t i = begin; i < at_; ++i) {
      if (token(i) == "=") break;
      if (is_one_of(token(i), kScope)) return true;
      if (token(i) == "->" && i > begin && (token(i - 1) == ")" || is_one_of(token(i - 1), kFunctionTail))) {
        return starts_trailing_type(i);
      }
    }
    return holds_statements(at_);
  }

  // `) -> Type {` of a function, against `f()->g{`: a type is followed by nothing but names, `::`, `<>`, `*`, `&`.
  bool starts_trailing_type(std::size_t arrow) const {
    for (std::size_t i = arrow + 1; i < at_; ++i) {
      if (token(i) == "(" || token(i) == "." || token(i) == "->") return false;
    }
    return true;
  }

  // Whether a `;` stands directly in the braces that open at `i`: then they hold statements, not initialisers.
  bool holds_statements(std::size_t i) const {
    int depth = 0;
    for (; i < tokens_.size(); ++i) {
      const std::string_view text = token(i);
      if (text == "{" || text == "(" || text == "[") ++depth;
      if (text == "}" || text == ")" || text == "]") --depth;
      if (depth == 0) return false;
      if (text == ";" && depth == 1) return true;
    }
    return false;
  }

  // At `[`: a lambda, or a subscript, an array bound, an attribute, a structured binding?
  bool starts_lambda(std::size_t begin) const {
    if (at_ == begin) return true;
    const std::string_view before = token(at_ - 1);
    if (before == "&" || before == "*") {
      std::size_t i = at_ - 1;
      while (i > begin && token(i) == "&") --i;
      return token(i) != "auto";
    }
    if (before == ")" || before == "]" || before == "[" || before == ">" || before == "\"") return false;
    if (is_one_of(before, kBeforeLambda)) return true;
    return !is_identifier(before) && !(before[0] >= '0' && before[0] <= '9');
  }

  // [captures] <...> (...) specifiers -> type { body }. What stands in the captures belongs to the statement.
  void parse_lambda(Statement& statement) {
    ++at_;  // [
    int depth = 1;
    if (token(at_) != "]") statement.capture = true;
    while (at_ < tokens_.size() && depth > 0) {
      if (token(at_) == "[" || token(at_) == "(" || token(at_) == "{") ++depth;
      if (token(at_) == "]" || token(at_) == ")" || token(at_) == "}") --depth;
      if (token(at_) == "co_await" && statement.await_line == 0) statement.await_line = tokens_[at_].line;
      if (token(at_) == "?") statement.conditional = true;
      ++at_;
    }
    int parentheses = 0;
    while (at_ < tokens_.size()) {
      if (token(at_) == "(") ++parentheses;
      if (token(at_) == ")") --parentheses;
      if (parentheses < 0) return;  // not a lambda after all
      if (parentheses == 0 && (token(at_) == ";" || token(at_) == ",")) return;
      if (parentheses == 0 && token(at_) == "{") return parse_block_in_braces();
      ++at_;
    }
  }

  void report(const Statement& statement) {
    if (statement.await_line == 0) return;
    const auto add = [&](const std::string& what) {
      findings_.push_back({path_, statement.await_line,
                           "a statement with co_await holds " + what +
                               "; make it in a statement before (g++ 12 destroys such temporaries twice)"});
    };
    if (statement.braces) add("braces");
    if (statement.conditional) add("a conditional operator");
    if (statement.capture) add("a lambda with captures");
  }

  const std::string& path_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_coroutine_statements(const std::string& path, std::string_view text) {
  const std::string code = blank_preprocessor(blank_comments_and_strings(text));
  return Parser(path, code).run();
}

}  // namespace rehearse::tidy
