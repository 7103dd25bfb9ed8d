#include "tests/tidy/file_rules.h"

#include <algorithm>
#include <array>
#include <string>

namespace rehearse::tidy {
namespace {

bool has_layout(const SourceFile& file) {
  return file.is_cpp() || file.has_extension(".proto") || file.is_cmake_list();
}

// Characters, not bytes: those of UTF-8 that continue another do not count.
int columns(std::string_view line) {
  return static_cast<int>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

int line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// Needles are put together here, so that this file does not hold them itself.
const std::array<std::string, 3> kMachinePaths = {std::string("/wo") + "rk/", std::string("/fa") + "rm",
                                                  std::string("bash_") + "jobs"};
const std::array<std::string, 3> kReminders = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                               std::string("XX") + "X"};

// Protobuf text without comments and strings: # to the end of the line, and what stands between quotes.
std::string blank_textproto(std::string_view text) {
  std::string out(text);
  char quote = 0;
  bool comment = false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = out[i];
    if (c == '\n') {
      quote = 0;
      comment = false;
    } else if (comment) {
      out[i] = ' ';
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        out[i] = ' ';
        if (c == '\\' && i + 1 < out.size() && out[i + 1] != '\n') out[++i] = ' ';
      }
    } else if (c == '#') {
      comment = true;
      out[i] = ' ';
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
  }
  return out;
}

bool is_number(std::string_view token) { return !token.empty() && token[0] >= '0' && token[0] <= '9'; }

// Whether the tokens from the `{` at `begin` to its `}` name weights or give some field a number.
bool expects_something(const std::vector<Token>& tokens, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i].text;
    if (text == "{") ++depth;
    if (text == "}" && --depth == 0) return false;
    if (text == "same_weights_as" || text == "weights_sha256") return true;
    if (text == ":" && i + 2 < tokens.size()) {
      const std::size_t value = i + (tokens[i + 1].text == "-" || tokens[i + 1].text == "[" ? 2 : 1);
      if (is_number(tokens[value].text)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Finding> check_layout(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!has_layout(file)) return findings;
  int number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    const auto add = [&](const std::string& message) { findings.push_back({file.path, number, message}); };
    if (columns(line) > kMaxColumns) add(std::to_string(columns(line)) + " characters; at most 120");
    if (line.find('\t') != std::string_view::npos) add("a tab");
    if (line.ends_with(' ') || line.ends_with('\r')) add("a blank or carriage return at the end of the line");
  }
  if (!file.text.empty() && !file.text.ends_with('\n')) findings.push_back({file.path, number, "no final newline"});
  if (file.text.ends_with("\n\n")) findings.push_back({file.path, number, "an empty line at the end of the file"});
  return findings;
}

std::vector<Finding> check_pragma_once(const SourceFile& file) {
  if (!file.has_extension(".h") || file.text.starts_with("#pragma once\n")) return {};
  return {{file.path, 1, "a header starts with #pragma once"}};
}

std::vector<Finding> check_source_length(const SourceFile& file) {
  const int lines = static_cast<int>(split_lines(file.text).size());
  if (!file.is_cpp() || lines <= kMaxSourceLines) return {};
  return {{file.path, lines, std::to_string(lines) + " lines; at most 450: which two ideas are in this file?"}};
}

std::vector<Finding> check_contents(const SourceFile& file) {
  std::vector<Finding> findings;
  if (file.text.size() > kMaxFileBytes) {
    findings.push_back({file.path, 0, std::to_string(file.text.size()) + " bytes; at most 5 MB"});
  }
  for (const std::string& needle : kMachinePaths) {
    const std::size_t at = file.text.find(needle);
    if (at != std::string::npos) {
      findings.push_back({file.path, line_of(file.text, at), "holds '" + needle + "', a path of one machine"});
    }
  }
  return findings;
}

std::vector<Finding> check_reminders(const SourceFile& file) {
  std::vector<Finding> findings;
  const bool script = file.is_under("tools") || file.is_under(".ci") || file.has_extension(".sh");
  if (!has_layout(file) && !file.has_extension(".textproto") && !file.has_extension(".py") && !script) return findings;
  int number = 0;
  for (const std::string_view line : split_lines(file.text)) {
    ++number;
    for (const std::string& reminder : kReminders) {
      if (contains_word(line, reminder)) {
        findings.push_back({file.path, number, "a " + reminder + "; do it, or open an issue"});
      }
    }
  }
  return findings;
}

std::vector<Finding> check_scenario(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_under("scenarios") || !file.has_extension(".textproto")) return findings;
  const std::string_view first = std::string_view(file.text).substr(0, file.text.find('\n'));
  if (!first.starts_with('#') || columns(first) < 40) {
    findings.push_back(
        {file.path, 1, "the first line is a comment of 40 characters or more: what happens, and what must come of it"});
  }
  const std::string code = blank_textproto(file.text);
  const std::vector<Token> tokens = tokenize(code);
  bool expects = false;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::size_t open = i + (tokens[i + 1].text == ":" ? 2 : 1);  // `expect: {` is legal too
    if (tokens[i].text == "expect" && open < tokens.size() && tokens[open].text == "{") {
      expects = expects || expects_something(tokens, open);
    }
  }
  if (!expects) {
    findings.push_back({file.path, 0, "expects neither weights nor a number; a scenario without them tests nothing"});
  }
  return findings;
}

}  // namespace rehearse::tidy
