#include "tools/rehearse/text_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "core/base/check.h"

namespace rehearse {
namespace {

// Characters of UTF-8 text: bytes that do not continue one.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t columns, TextTable::Align align) {
  const std::string blanks(columns - std::min(columns, width(text)), ' ');
  return align == TextTable::Align::kLeft ? text + blanks : blanks + text;
}

std::string without_trailing_blanks(std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

std::string print_double(const char* format, int digits, double value) {
  // The sign of a NaN says nothing, and differs between CPUs.
  if (value != value) return "nan";
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), format, digits, value);
  return text.data();
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  CHECK_EQ(cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(const Style& style) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = width(columns_[c].title);
    for (const std::vector<std::string>& row : rows_) widest = std::max(widest, width(row[c]));
    widths.push_back(widest);
  }
  std::string titles;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles += "  " + padded(columns_[c].title, widths[c], columns_[c].align);
  }
  std::string out = style.bold(without_trailing_blanks(titles)) + "\n";
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) line += "  " + padded(row[c], widths[c], columns_[c].align);
    out += without_trailing_blanks(line) + "\n";
  }
  return out;
}

std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t end = text.size(); end > first + 3;) {
    end -= 3;
    text.insert(end, ",");
  }
  return text;
}

std::string significant(double value, int digits) { return print_double("%.*g", digits, value); }

std::string decimals(double value, int digits) { return print_double("%.*f", digits, value); }

std::string wrapped(const std::string& text, const std::string& indent, std::size_t columns) {
  std::istringstream words(text);
  std::string out;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && width(indent) + width(line) + 1 + width(word) > columns) {
      out += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + indent + line + "\n";
}

}  // namespace rehearse
