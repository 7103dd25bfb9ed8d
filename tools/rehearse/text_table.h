#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/rehearse/console.h"

namespace rehearse {

// Text in columns, each as wide as its widest cell, two blanks between them.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    Column(std::string column_title, Align column_align = Align::kRight)
        : title(std::move(column_title)), align(column_align) {}
    std::string title;
    Align align;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Lines that begin with two blanks; the titles in bold.
  std::string text(const Style& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "1,234,567"
std::string grouped(std::int64_t value);
// printf's %.*g and %.*f
std::string significant(double value, int digits);
std::string decimals(double value, int digits);
// Words of `text` in lines of at most `columns` characters, each after `indent`. Bytes above 127 count as they do in
// UTF-8.
std::string wrapped(const std::string& text, const std::string& indent, std::size_t columns);

}  // namespace rehearse
