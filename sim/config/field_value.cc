#include "sim/config/field_value.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/numbers.h"
#include "sim/config/origins.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

const config::Rule& rule_of(const FieldDescriptor& field) { return field.options().GetExtension(config::rule); }

// Bounds in the schema are doubles; those of whole numbers are whole and small enough to be exact.
std::string bound_text(double bound) {
  if (bound == std::floor(bound) && std::fabs(bound) < 1e15) return std::to_string(static_cast<std::int64_t>(bound));
  return shortest_text(bound);
}

template <class T>
bool obeys(const config::Rule& rule, T value) {
  const auto number = static_cast<double>(value);
  return (!rule.has_min() || number >= rule.min()) && (!rule.has_max() || number <= rule.max()) &&
         (!rule.has_above() || number > rule.above()) && (!rule.has_below() || number < rule.below());
}

std::string range_text(const std::string& noun, const config::Rule& rule) {
  if (rule.has_min() && rule.has_max() && rule.max() == rule.min() + 1 && noun == "whole numbers") {
    return bound_text(rule.min()) + " or " + bound_text(rule.max());
  }
  std::string text = noun;
  if (rule.has_min()) text += " from " + bound_text(rule.min());
  if (rule.has_above()) text += " above " + bound_text(rule.above());
  if (rule.has_max()) text += (rule.has_min() ? " to " : " up to ") + bound_text(rule.max());
  if (rule.has_below())
    text += std::string(rule.has_min() || rule.has_above() ? " to" : "") + " below " + bound_text(rule.below());
  return text;
}

std::vector<std::string> value_names(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return names;
}

std::string refusal(const TextToken& token, const FieldDescriptor& field, const std::string& why = "") {
  return "found " + found_text(token) + why + "; " + allowed_text(field);
}

// Why a number that is no plain decimal is not read.
std::string number_problem(const std::string& text) {
  const std::string digits =
      text.substr(text.find_first_not_of("+-") == std::string::npos ? 0 : text.find_first_not_of("+-"));
  if (digits.starts_with("0x") || digits.starts_with("0X")) return ", which is hexadecimal";
  if (digits.size() > 1 && digits[0] == '0' && digits.find_first_not_of("0123456789") == std::string::npos) {
    return ", which other readers take as octal";
  }
  if (digits.starts_with("inf") || digits.starts_with("nan")) return ", which is not finite";
  return ", which is no decimal number";
}

template <class T>
struct Parsed {
  T value{};
  std::string problem;
};

template <class T>
Parsed<T> parse_integer(const TextToken& token, const FieldDescriptor& field) {
  Parsed<T> parsed;
  if (token.kind != TextToken::Kind::kNumber) {
    parsed.problem = refusal(token, field);
  } else if (!is_decimal_number(token.text)) {
    parsed.problem = refusal(token, field, number_problem(token.text));
  } else if (token.text.find_first_of(".eE") != std::string::npos) {
    parsed.problem = refusal(token, field, ", which is not written as a whole number");
  } else {
    const char* end = token.text.data() + token.text.size();
    const auto [stop, error] = std::from_chars(token.text.data(), end, parsed.value);
    if (error != std::errc() || stop != end || !obeys(rule_of(field), parsed.value)) {
      parsed.problem = refusal(token, field);
    }
  }
  return parsed;
}

Parsed<double> parse_double(const TextToken& token, const FieldDescriptor& field) {
  Parsed<double> parsed;
  const bool word = token.kind == TextToken::Kind::kName;
  if (word && (token.text == "inf" || token.text == "nan" || token.text == "infinity")) {
    parsed.problem = refusal(token, field, ", which is not finite");
  } else if (token.kind != TextToken::Kind::kNumber) {
    parsed.problem = refusal(token, field);
  } else if (!is_decimal_number(token.text)) {
    parsed.problem = refusal(token, field, number_problem(token.text));
  } else {
    const char* end = token.text.data() + token.text.size();
    const auto [stop, error] = std::from_chars(token.text.data(), end, parsed.value);
    if (error != std::errc() || stop != end) {
      parsed.problem = refusal(token, field, ", which a double cannot hold");
    } else if (!obeys(rule_of(field), parsed.value)) {
      parsed.problem = refusal(token, field);
    }
    if (parsed.value == 0) parsed.value = 0;  // -0 is 0
  }
  return parsed;
}

// Reads a quantity, keeps its canonical spelling in `text`, and gives its size in base units.
std::int64_t read_quantity(config::Rule::Unit unit, std::string& text) {
  const auto canonical = [&](auto quantity) {
    text = canonical_text(quantity);
    return quantity;
  };
  switch (unit) {
    case config::Rule::DURATION:
      return canonical(parse_duration(text)).ps();
    case config::Rule::BANDWIDTH:
      return canonical(parse_bandwidth(text)).bits_per_second();
    case config::Rule::SIZE:
      return canonical(parse_size(text)).count();
    case config::Rule::FLOP_RATE:
      return canonical(parse_flop_rate(text)).per_second();
  }
  check_failed(__FILE__, __LINE__, "unknown unit");
}

Parsed<std::string> parse_string(const TextToken& token, const FieldDescriptor& field) {
  Parsed<std::string> parsed;
  const config::Rule& rule = rule_of(field);
  if (token.kind != TextToken::Kind::kString) {
    parsed.problem = refusal(token, field, token.kind == TextToken::Kind::kEnd ? "" : " without quotes");
    return parsed;
  }
  parsed.value = token.value;
  if (rule.has_unit()) {
    try {
      if (!obeys(rule, read_quantity(rule.unit(), parsed.value))) parsed.problem = refusal(token, field);
    } catch (const InputError& error) {
      parsed.problem = error.what();
    }
  } else if (parsed.value.empty()) {
    parsed.problem = refusal(token, field, ", which is empty");
  }
  return parsed;
}

std::string unit_text(const config::Rule& rule) {
  const bool zero_refused = rule.min() > 0;
  const std::string above = zero_refused ? " above 0" : "";
  switch (rule.unit()) {
    case config::Rule::DURATION:
      return "a duration" + above + " such as \"5us\", in quotes";
    case config::Rule::BANDWIDTH:
      return "a bandwidth" + above + " such as \"100Gbps\", in quotes";
    case config::Rule::SIZE:
      return "a size" + above + " such as \"25MB\", in quotes";
    case config::Rule::FLOP_RATE:
      return "a flop rate" + above + " such as \"19.5TFLOPS\", in quotes";
  }
  check_failed(__FILE__, __LINE__, "unknown unit");
}

// The repeated and the singular setter of one type behind one name.
template <class Set, class Add, class T>
std::string store(Parsed<T> parsed, const FieldDescriptor& field, Set set, Add add) {
  if (!parsed.problem.empty()) return parsed.problem;
  field.is_repeated() ? add(parsed.value) : set(parsed.value);
  return "";
}

}  // namespace

std::vector<std::string> field_names(const google::protobuf::Descriptor& group) {
  std::vector<std::string> names;
  for (int i = 0; i < group.field_count(); ++i) names.push_back(group.field(i)->name());
  return names;
}

std::string allowed_text(const FieldDescriptor& field) {
  const config::Rule& rule = rule_of(field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return "allowed: " + range_text("whole numbers", rule);
    case FieldDescriptor::CPPTYPE_UINT64:
      return "allowed: whole numbers from 0 to " + std::to_string(std::numeric_limits<std::uint64_t>::max());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "allowed: " + range_text("numbers", rule);
    case FieldDescriptor::CPPTYPE_BOOL:
      return "allowed: true or false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return suggestion("", value_names(*field.enum_type()));
    case FieldDescriptor::CPPTYPE_STRING:
      return "allowed: " + (rule.has_unit() ? unit_text(rule) : "text in quotes");
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "allowed: { ... }";
    default:
      check_failed(__FILE__, __LINE__, "a type that no scenario field has: " + field.full_name());
  }
}

std::string set_field(Message& message, const FieldDescriptor& field, const TextToken& token) {
  const Reflection& access = *message.GetReflection();
  Message* const m = &message;
  const FieldDescriptor* const f = &field;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return store(
          parse_integer<std::int64_t>(token, field), field, [&](std::int64_t v) { access.SetInt64(m, f, v); },
          [&](std::int64_t v) { access.AddInt64(m, f, v); });
    case FieldDescriptor::CPPTYPE_UINT64:
      return store(
          parse_integer<std::uint64_t>(token, field), field, [&](std::uint64_t v) { access.SetUInt64(m, f, v); },
          [&](std::uint64_t v) { access.AddUInt64(m, f, v); });
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return store(
          parse_double(token, field), field, [&](double v) { access.SetDouble(m, f, v); },
          [&](double v) { access.AddDouble(m, f, v); });
    case FieldDescriptor::CPPTYPE_STRING:
      return store(
          parse_string(token, field), field, [&](const std::string& v) { access.SetString(m, f, v); },
          [&](const std::string& v) { access.AddString(m, f, v); });
    case FieldDescriptor::CPPTYPE_BOOL: {
      Parsed<bool> parsed{token.text == "true", ""};
      if (token.kind != TextToken::Kind::kName || (token.text != "true" && token.text != "false")) {
        parsed.problem = refusal(token, field);
      }
      return store(
          parsed, field, [&](bool v) { access.SetBool(m, f, v); }, [&](bool v) { access.AddBool(m, f, v); });
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* value =
          token.kind == TextToken::Kind::kName ? field.enum_type()->FindValueByName(token.text) : nullptr;
      if (value == nullptr) {
        const std::string name = token.kind == TextToken::Kind::kName ? token.text : "";
        return "found " + found_text(token) + "; " + suggestion(name, value_names(*field.enum_type()));
      }
      return store(
          Parsed<int>{value->number(), ""}, field, [&](int v) { access.SetEnumValue(m, f, v); },
          [&](int v) { access.AddEnumValue(m, f, v); });
    }
    default:
      check_failed(__FILE__, __LINE__, "a type that no scenario field has: " + field.full_name());
  }
}

}  // namespace rehearse
