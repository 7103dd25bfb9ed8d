#include "sim/config/text_reader.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/config/field_value.h"

namespace rehearse {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;

class Reader {
 public:
  Reader(std::vector<TextToken> tokens, Origins& origins) : tokens_(std::move(tokens)), origins_(origins) {}

  // Reads fields up to `closing` ("}" or ">"), or to the end of the text where that is "".
  void read_group(Message& message, const std::string& path, std::string_view closing) {
    for (;;) {
      const TextToken& token = peek();
      if (token.kind == TextToken::Kind::kSymbol && token.text == closing) return;
      if (token.kind == TextToken::Kind::kEnd) {
        if (closing.empty()) return;
        fail(token, path, "found the end of the file; allowed: a field or the closing " + std::string(closing));
      }
      read_field(message, path);
      if (is_symbol(",") || is_symbol(";")) take();
    }
  }

 private:
  const TextToken& peek() const { return tokens_[index_]; }
  TextToken take() { return tokens_[index_ + 1 < tokens_.size() ? index_++ : index_]; }
  bool is_symbol(std::string_view text) const { return peek().kind == TextToken::Kind::kSymbol && peek().text == text; }

  [[noreturn]] void fail(const TextToken& token, const std::string& path, const std::string& what) const {
    throw InputError(origins_.source() + ":" + std::to_string(token.position.line) + ":" +
                     std::to_string(token.position.column) + ": " + (path.empty() ? "" : path + ": ") + what);
  }

  void read_field(Message& message, const std::string& group) {
    const TextToken name = take();
    if (name.kind != TextToken::Kind::kName) {
      fail(name, group, "found " + found_text(name) + "; allowed: the name of a field");
    }
    const std::string path = join_path(group, name.text);
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name.text);
    if (field == nullptr) {
      fail(name, path, "unknown field; " + suggestion(name.text, field_names(*message.GetDescriptor())));
    }
    check_not_written(message, *field, name, path);

    const bool is_group = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (is_symbol(":")) {
      take();
    } else if (!is_group) {
      fail(peek(), path, "found " + found_text(peek()) + "; allowed: a colon and then a value");
    }
    if (!is_symbol("[")) {
      read_value(message, *field, path, name);
      return;
    }
    if (!field->is_repeated()) fail(peek(), path, "found a list; the field holds one value");
    take();
    while (!is_symbol("]")) {
      read_value(message, *field, path, peek());
      if (is_symbol(",")) {
        take();
      } else if (!is_symbol("]")) {
        fail(peek(), path, "found " + found_text(peek()) + "; allowed: , or ]");
      }
    }
    take();
  }

  void check_not_written(const Message& message, const FieldDescriptor& field, const TextToken& name,
                         const std::string& path) {
    if (field.is_repeated()) return;
    if (!written_.insert(path).second) {
      fail(name, path, "found a second time; the first is at " + origins_.where(path) + ", and it may be written once");
    }
    const OneofDescriptor* oneof = field.real_containing_oneof();
    if (oneof == nullptr) return;
    const FieldDescriptor* other = message.GetReflection()->GetOneofFieldDescriptor(message, oneof);
    if (other == nullptr) return;
    std::string names;
    for (int i = 0; i < oneof->field_count(); ++i) names += (i == 0 ? "" : ", ") + oneof->field(i)->name();
    const std::string other_path = path.substr(0, path.size() - field.name().size()) + other->name();
    fail(name, path,
         "contradicts " + other->name() + " at " + origins_.where(other_path) + "; allowed: one of " + names);
  }

  void read_value(Message& message, const FieldDescriptor& field, std::string path, const TextToken& name) {
    if (field.is_repeated()) {
      path += "[" + std::to_string(message.GetReflection()->FieldSize(message, &field)) + "]";
    }
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      origins_.set(path, name.position);
      const TextToken opening = take();
      const bool opens = opening.kind == TextToken::Kind::kSymbol && (opening.text == "{" || opening.text == "<");
      if (!opens)
        fail(opening, path, "found " + found_text(opening) + "; allowed: { and the fields of " + field.name());
      Message* group = field.is_repeated() ? message.GetReflection()->AddMessage(&message, &field)
                                           : message.GetReflection()->MutableMessage(&message, &field);
      read_group(*group, path, opening.text == "{" ? "}" : ">");
      take();
      return;
    }
    const TextToken token = take();
    const std::string problem = set_field(message, field, token);
    if (!problem.empty()) fail(token, path, problem);
    origins_.set(path, token.position);
  }

  std::vector<TextToken> tokens_;
  std::size_t index_ = 0;
  Origins& origins_;
  std::set<std::string> written_;
};

}  // namespace

void read_text(std::string_view text, Message& message, Origins& origins) {
  Reader(lex_text(text, origins.source()), origins).read_group(message, "", "");
}

}  // namespace rehearse
