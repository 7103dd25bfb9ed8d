#include "sim/config/overrides.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "core/base/error.h"
#include "sim/config/field_value.h"
#include "sim/config/text_lexer.h"

namespace rehearse {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

struct Step {
  std::string name;
  std::optional<int> index;
};

class Override {
 public:
  Override(const std::string& text, Origins& origins) : option_("--set " + text), origins_(origins) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) fail("allowed: PATH=VALUE, such as train.steps=40");
    path_ = text.substr(0, equals);
    value_ = text.substr(equals + 1);
  }

  void apply(Message& root) {
    Message* message = &root;
    std::string done;
    std::string_view rest = path_;
    for (;;) {
      const std::size_t dot = rest.find('.');
      const Step step = parse_step(rest.substr(0, dot));
      const FieldDescriptor& field = find(*message, step, done);
      done = join_path(done, rest.substr(0, dot));
      const bool last = dot == std::string_view::npos;
      if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        if (!last) fail(done + " is a value and has no fields");
        set(*message, field, step);
        return;
      }
      if (last) {
        set_empty(*message, field, done);
        return;
      }
      message = enter(*message, field, step, done);
      rest.remove_prefix(dot + 1);
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw InputError(option_ + ": " + what); }

  Step parse_step(std::string_view text) const {
    const std::size_t bracket = text.find('[');
    if (bracket == std::string_view::npos) return Step{std::string(text), std::nullopt};
    int index = -1;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + bracket + 1, end, index);
    if (error != std::errc() || stop + 1 != end || *stop != ']' || index < 0) {
      fail("'" + std::string(text) + "' has no index; allowed: NAME[0], NAME[1] and so on");
    }
    return Step{std::string(text.substr(0, bracket)), index};
  }

  const FieldDescriptor& find(const Message& message, const Step& step, const std::string& group) const {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(step.name);
    if (field == nullptr) {
      fail("unknown field '" + step.name + "' in " + (group.empty() ? "the scenario" : group) + "; " +
           suggestion(step.name, field_names(*message.GetDescriptor())));
    }
    if (!field->is_repeated()) {
      if (step.index) fail("'" + step.name + "' is no list; leave out the index");
      return *field;
    }
    const int size = message.GetReflection()->FieldSize(message, field);
    if (step.index && *step.index <= size) return *field;
    fail("'" + step.name + "' is a list of " + std::to_string(size) + "; allowed: " + step.name + "[0]" +
         (size > 0 ? " to " + step.name + "[" + std::to_string(size) + "]" : "") + ", where the last adds an element");
  }

  Message* enter(Message& message, const FieldDescriptor& field, const Step& step, const std::string& path) {
    const Reflection& access = *message.GetReflection();
    const bool exists =
        field.is_repeated() ? *step.index < access.FieldSize(message, &field) : access.HasField(message, &field);
    if (!exists) origins_.set(path, option_);
    if (!field.is_repeated()) return access.MutableMessage(&message, &field);
    return exists ? access.MutableRepeatedMessage(&message, &field, *step.index) : access.AddMessage(&message, &field);
  }

  void set(Message& message, const FieldDescriptor& field, const Step& step) {
    const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    TextToken token = lex_value(value_, option_);
    if (is_text) token.kind = TextToken::Kind::kString;
    const Reflection& access = *message.GetReflection();
    if (field.is_repeated() && *step.index < access.FieldSize(message, &field)) {
      fail("'" + step.name + "[" + std::to_string(*step.index) + "]' exists; only a further element can be set");
    }
    const std::string problem = set_field(message, field, token);
    if (!problem.empty()) fail(problem);
    origins_.set(path_, option_);
  }

  // The whole group anew, with nothing written in it: what takes the place of another one of its oneof.
  void set_empty(Message& message, const FieldDescriptor& field, const std::string& path) {
    if (value_ != "{}" || field.is_repeated()) {
      const std::vector<std::string> names = field_names(*field.message_type());
      fail("'" + path + "' is a group of fields; " +
           (names.empty() ? std::string() : "set one of them, " + suggestion("", names) + "; ") +
           (field.is_repeated() ? "it is a list" : "{} is the group with nothing written in it"));
    }
    const Reflection& access = *message.GetReflection();
    access.ClearField(&message, &field);
    access.MutableMessage(&message, &field);
    origins_.set(path, option_);
  }

  std::string option_;
  std::string path_;
  std::string value_;
  Origins& origins_;
};

}  // namespace

void apply_override(const std::string& override, Message& message, Origins& origins) {
  Override(override, origins).apply(message);
}

}  // namespace rehearse
