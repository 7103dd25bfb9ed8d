#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

struct TextField;

// The fields of a message in Protobuf text format, in order: what a plan is until it is text.
class TextGroup {
 public:
  // A number or the name of a value, as it stands in the text.
  TextGroup& add(std::string name, std::string word);
  TextGroup& add(std::string name, std::int64_t number);
  // In quotes: a name, a path, a quantity with its unit. Without quotes or backslashes in it.
  TextGroup& add_quoted(std::string name, const std::string& text);
  TextGroup& add_group(std::string name, TextGroup group);

  // The first field of that name; null where there is none.
  TextField* find(std::string_view name);
  const TextField* find(std::string_view name) const;
  // The group of that name; an empty one is added where there is none.
  TextGroup& group(std::string_view name);

  bool empty() const;
  std::vector<TextField>& fields() { return fields_; }
  const std::vector<TextField>& fields() const { return fields_; }

  // A line for each field, two blanks deeper in each group; small groups of plain fields on one line.
  std::string text(int depth = 0) const;

 private:
  std::vector<TextField> fields_;
};

struct TextField {
  std::string name;
  std::string value;  // with its quotes; empty for a group
  TextGroup group;
  bool is_group = false;
};

}  // namespace rehearse
