#include "sim/fuzz/text_group.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

constexpr std::size_t kLine = 110;

std::string on_one_line(const TextGroup& group) {
  std::string text;
  for (const TextField& field : group.fields()) {
    text += (text.empty() ? "" : " ") + field.name;
    text += field.is_group ? " { " + on_one_line(field.group) + " }" : ": " + field.value;
  }
  return text;
}

}  // namespace

TextGroup& TextGroup::add(std::string name, std::string word) {
  TextField field;
  field.name = std::move(name);
  field.value = std::move(word);
  fields_.push_back(std::move(field));
  return *this;
}

TextGroup& TextGroup::add(std::string name, std::int64_t number) {
  return add(std::move(name), std::to_string(number));
}

TextGroup& TextGroup::add_quoted(std::string name, const std::string& text) {
  CHECK(text.find_first_of("\"\\\n") == std::string::npos);
  return add(std::move(name), "\"" + text + "\"");
}

TextGroup& TextGroup::add_group(std::string name, TextGroup group) {
  TextField field;
  field.name = std::move(name);
  field.group = std::move(group);
  field.is_group = true;
  fields_.push_back(std::move(field));
  return *this;
}

bool TextGroup::empty() const { return fields_.empty(); }

TextField* TextGroup::find(std::string_view name) { return const_cast<TextField*>(std::as_const(*this).find(name)); }

const TextField* TextGroup::find(std::string_view name) const {
  const auto found =
      std::find_if(fields_.begin(), fields_.end(), [name](const TextField& field) { return field.name == name; });
  return found == fields_.end() ? nullptr : &*found;
}

TextGroup& TextGroup::group(std::string_view name) {
  TextField* found = find(name);
  if (found == nullptr) {
    add_group(std::string(name), TextGroup());
    found = &fields_.back();
  }
  CHECK(found->is_group);
  return found->group;
}

std::string TextGroup::text(int depth) const {
  const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
  std::string text;
  for (const TextField& field : fields_) {
    text += indent + field.name;
    if (!field.is_group) {
      text += ": " + field.value + "\n";
      continue;
    }
    const std::string line = on_one_line(field.group);
    if (indent.size() + field.name.size() + line.size() < kLine) {
      text += line.empty() ? " {}\n" : " { " + line + " }\n";
    } else {
      text += " {\n" + field.group.text(depth + 1) + indent + "}\n";
    }
  }
  return text;
}

}  // namespace rehearse
