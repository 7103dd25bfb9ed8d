#include "tools/export/field_reference.h"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "sim/config/scenario.pb.h"

namespace rehearse {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;

// Nobody nests groups deeper; a schema that contained itself would.
constexpr int kDeepest = 20;

std::string words_of(std::string comment) {
  std::istringstream in(comment);
  std::string text;
  std::string word;
  while (in >> word) text += (text.empty() ? "" : " ") + word;
  return text;
}

class Schema {
 public:
  Schema() {
    google::protobuf::FileDescriptorSet files;
    CHECK(files.ParseFromString(scenario_schema()));
    CHECK_EQ(files.file_size(), 1);
    file_ = files.file(0);
    for (const auto& location : file_.source_code_info().location()) {
      std::string comment = location.leading_comments();
      if (!location.trailing_comments().empty()) comment += " " + location.trailing_comments();
      comments_[{location.path().begin(), location.path().end()}] = words_of(comment);
    }
    const std::string package = "." + file_.package() + ".";
    for (int i = 0; i < file_.message_type_size(); ++i) index_message(file_.message_type(i), {4, i}, package);
    for (int i = 0; i < file_.enum_type_size(); ++i) {
      enums_[package + file_.enum_type(i).name()] = Enum{&file_.enum_type(i), {5, i}};
    }
  }

  std::vector<FieldEntry> fields() {
    const auto found = messages_.find("." + file_.package() + ".Scenario");
    CHECK(found != messages_.end());
    add(found->second, "", 0);
    return std::move(entries_);
  }

 private:
  using Path = std::vector<int>;
  struct Message {
    const DescriptorProto* proto = nullptr;
    Path path;
  };
  struct Enum {
    const EnumDescriptorProto* proto = nullptr;
    Path path;
  };

  void index_message(const DescriptorProto& message, const Path& path, const std::string& scope) {
    const std::string name = scope + message.name();
    messages_[name] = Message{&message, path};
    for (int i = 0; i < message.enum_type_size(); ++i) {
      enums_[name + "." + message.enum_type(i).name()] = Enum{&message.enum_type(i), joined(path, {4, i})};
    }
    for (int i = 0; i < message.nested_type_size(); ++i) {
      index_message(message.nested_type(i), joined(path, {3, i}), name + ".");
    }
  }

  static Path joined(Path path, std::initializer_list<int> more) {
    path.insert(path.end(), more);
    return path;
  }

  std::string comment_of(const Path& path) const {
    const auto found = comments_.find(path);
    return found == comments_.end() ? "" : found->second;
  }

  std::string type_of(const FieldDescriptorProto& field, const config::Rule& rule) const {
    switch (rule.has_unit() ? rule.unit() : 0) {
      case config::Rule::DURATION:
        return "duration";
      case config::Rule::BANDWIDTH:
        return "bandwidth";
      case config::Rule::SIZE:
        return "size";
      case config::Rule::FLOP_RATE:
        return "flop rate";
      default:
        break;
    }
    if (rule.has_file()) return rule.file() == config::Rule::INPUT ? "file" : "file or digest";
    switch (field.type()) {
      case FieldDescriptorProto::TYPE_STRING:
        return "text";
      case FieldDescriptorProto::TYPE_BOOL:
        return "true or false";
      case FieldDescriptorProto::TYPE_DOUBLE:
        return "number";
      case FieldDescriptorProto::TYPE_INT64:
      case FieldDescriptorProto::TYPE_INT32:
      case FieldDescriptorProto::TYPE_UINT64:
        return "whole number";
      default:
        break;
    }
    const auto found = enums_.find(field.type_name());
    if (found == enums_.end()) return "group";
    const EnumDescriptorProto& values = *found->second.proto;
    std::string words;
    for (int i = 0; i < values.value_size(); ++i) {
      if (i > 0) words += i + 1 == values.value_size() ? " or " : ", ";
      words += values.value(i).name();
    }
    return words;
  }

  // 1e9 is written out: people know limits as whole numbers.
  static std::string bound(double value) {
    const bool whole = value > -1e15 && value < 1e15 && value == static_cast<double>(static_cast<std::int64_t>(value));
    return whole ? std::to_string(static_cast<std::int64_t>(value)) : shortest_text(value);
  }

  static std::string allowed_of(const config::Rule& rule) {
    std::string words;
    const auto add = [&](bool has, const char* text, double value) {
      if (has) words += (words.empty() ? "" : ", ") + std::string(text) + bound(value);
    };
    add(rule.has_min(), "at least ", rule.min());
    add(rule.has_above(), "above ", rule.above());
    add(rule.has_max(), "at most ", rule.max());
    add(rule.has_below(), "below ", rule.below());
    if (!rule.has_unit() || words.empty()) return words;
    switch (rule.unit()) {
      case config::Rule::DURATION:
        return words + " ps";
      case config::Rule::BANDWIDTH:
        return words + " bit/s";
      case config::Rule::SIZE:
        return words + " B";
      case config::Rule::FLOP_RATE:
        return words + " FLOP/s";
    }
    check_failed(__FILE__, __LINE__, "unknown unit");
  }

  // What the schema says of its values: "LOSS: what the rank tells the others."
  std::string values_of(const Enum& one) const {
    std::string text = comment_of(one.path);
    for (int i = 0; i < one.proto->value_size(); ++i) {
      std::string words = comment_of(joined(one.path, {2, i}));
      if (words.empty()) continue;
      if (words.back() != '.') words += '.';
      text += (text.empty() ? "" : " ") + one.proto->value(i).name() + ": " + words;
    }
    return text;
  }

  // Where a field has none of its own, those of its values, of its group, or of the field before it speak for it.
  std::string own_comment(const Message& message, int field) const {
    std::string comment = comment_of(joined(message.path, {2, field}));
    const auto values = enums_.find(message.proto->field(field).type_name());
    if (values != enums_.end()) {
      const std::string words = values_of(values->second);
      if (!words.empty()) comment += (comment.empty() ? "" : " ") + words;
    }
    if (comment.empty()) comment = comment_of(message.path);
    // Not from inside a choice, nor over one.
    const auto chosen = [&](int index) { return message.proto->field(index).has_oneof_index(); };
    for (int before = field - 1; comment.empty() && before >= 0 && !chosen(field) && !chosen(before); --before) {
      comment = comment_of(joined(message.path, {2, before}));
    }
    return comment;
  }

  void add(const Message& message, const std::string& prefix, int depth) {
    CHECK_LT(depth, kDeepest);
    for (int i = 0; i < message.proto->field_size(); ++i) {
      const FieldDescriptorProto& field = message.proto->field(i);
      const config::Rule& rule = field.options().GetExtension(config::rule);
      FieldEntry entry;
      entry.path = prefix + field.name();
      entry.type = type_of(field, rule);
      entry.allowed = allowed_of(rule);
      entry.required = field.label() == FieldDescriptorProto::LABEL_REQUIRED;
      entry.repeated = field.label() == FieldDescriptorProto::LABEL_REPEATED;
      if (field.has_default_value()) {
        entry.default_value = field.default_value();
        if (field.type() == FieldDescriptorProto::TYPE_STRING) entry.default_value = "\"" + entry.default_value + "\"";
      }
      entry.comment = own_comment(message, i);
      if (field.has_oneof_index()) {
        const std::string choice = comment_of(joined(message.path, {8, field.oneof_index()}));
        if (!choice.empty()) entry.comment += (entry.comment.empty() ? "" : " ") + ("(" + choice + ")");
      }
      // The schema says once, where the first of them stands, what faults of the network have in common.
      const bool of_network = entry.comment.empty() && entry.path.starts_with("faults.");
      if (of_network) entry.comment = "As faults.link_down says for all faults of the network.";
      const auto group = messages_.find(field.type_name());
      const bool is_group = entry.type == "group" && group != messages_.end();
      if (is_group) {
        const std::string about = comment_of(group->second.path);
        if (!about.empty()) entry.comment += (entry.comment.empty() ? "" : " ") + about;
      }
      entries_.push_back(entry);
      if (is_group) add(group->second, entry.path + ".", depth + 1);
    }
  }

  FileDescriptorProto file_;
  std::map<Path, std::string> comments_;
  // By full name: ".rehearse.config.Cluster".
  std::map<std::string, Message> messages_;
  std::map<std::string, Enum> enums_;
  std::vector<FieldEntry> entries_;
};

std::string wrapped_comment(const std::string& text) {
  constexpr std::size_t kColumns = 100;
  std::istringstream in(text);
  std::string out;
  std::string line;
  std::string word;
  while (in >> word) {
    if (!line.empty() && line.size() + word.size() + 5 > kColumns) {
      out += "    " + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + "    " + line + "\n";
}

}  // namespace

std::vector<FieldEntry> scenario_fields() { return Schema().fields(); }

std::string field_reference(const std::string& path) {
  std::string out;
  for (const FieldEntry& field : scenario_fields()) {
    const bool below = path.empty() || field.path == path || field.path.starts_with(path + ".");
    if (!below) continue;
    out += field.path + (field.repeated ? " (may be repeated)" : "") + ": " + field.type;
    if (!field.allowed.empty()) out += ", " + field.allowed;
    if (field.required) out += "; required";
    if (!field.default_value.empty()) out += "; default " + field.default_value;
    out += "\n" + wrapped_comment(field.comment);
  }
  if (out.empty()) throw InputError("fields: a scenario has no field '" + path + "'; see 'rehearse fields' for all");
  return out;
}

}  // namespace rehearse
