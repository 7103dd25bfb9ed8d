#include "core/checkpoint/strict_json.h"

#include <algorithm>
#include <set>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/base/error.h"

namespace rehearse {
namespace {

constexpr std::string_view kTailBegin = "  \"checksum\": \"";
constexpr std::string_view kTailEnd = "\"\n}\n";
constexpr std::size_t kHexSize = 64;
constexpr std::size_t kTailSize = kTailBegin.size() + kHexSize + kTailEnd.size();

[[noreturn]] void refuse_file(const std::string& source, const std::string& what) {
  throw InputError(source + ": " + what);
}

std::string excerpt(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

// The library keeps one of two equal keys in silence, hence the sets.
Json parse(std::string_view text, const std::string& source) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second)
        refuse_file(source, "key " + excerpt(parsed) + " appears twice in one object");
    }
    return true;
  };
  try {
    return parse_json(text, watch);
  } catch (const Json::exception& error) {
    refuse_file(source, std::string("not JSON in UTF-8: ") + error.what());
  }
}

}  // namespace

std::string seal_json(const Json& object) {
  CHECK(object.is_object() && !object.empty());
  std::string text = object.dump(2);
  CHECK(text.ends_with("\n}"));
  text.resize(text.size() - 2);
  text += ",\n";
  const std::string checksum = sha256_hex(text);
  text += kTailBegin;
  text += checksum;
  text += kTailEnd;
  return text;
}

Json unseal_json(std::string_view text, const std::string& source) {
  const std::size_t covered = text.size() - std::min(text.size(), kTailSize);
  const std::string_view tail = text.substr(covered);
  if (tail.size() != kTailSize || !tail.starts_with(kTailBegin) || !tail.ends_with(kTailEnd)) {
    refuse_file(source,
                "does not end with its checksum line: the file is cut short, has bytes after its end, or is damaged");
  }
  const std::string found(tail.substr(kTailBegin.size(), kHexSize));
  if (!is_sha256_hex(found)) {
    refuse_file(source, "checksum: found " + excerpt(Json(found)) + ", allowed are 64 lower-case hex digits");
  }
  const std::string computed = sha256_hex(text.substr(0, covered));
  if (found != computed) {
    refuse_file(source, "checksum does not match: the file says " + found + ", its contents give " + computed +
                            "; the file is damaged or was edited");
  }
  // A file that is written again byte for byte has no repeated key and no second spelling: the quick way suffices.
  Json object = parse_json_or_discarded(text);
  if (object.is_object()) {
    object.erase("checksum");
    if (!object.empty() && seal_json(object) == text) return object;
  }
  // Otherwise it is looked at closely, to say what is wrong.
  object = parse(text, source);
  if (!object.is_object()) refuse_file(source, "must hold one JSON object");
  object.erase("checksum");
  if (object.empty()) refuse_file(source, "holds nothing but its checksum");
  // One content, one text: no second spelling of a number, a string or white space.
  refuse_file(source, "is not in the form this program writes (two-space JSON, shortest numbers): it was edited");
}

void JsonValue::refuse(const std::string& allowed) const {
  refuse_file(source_, path_ + ": found " + excerpt(*value_) + ", allowed is " + allowed);
}

std::int64_t JsonValue::integer(std::int64_t min, std::int64_t max) const {
  const std::string allowed = max == std::numeric_limits<std::int64_t>::max()
                                  ? "an integer of at least " + std::to_string(min)
                                  : "an integer from " + std::to_string(min) + " to " + std::to_string(max);
  // Integers that do not fit 64 bits arrive as floating point.
  if (!value_->is_number_integer()) refuse(allowed);
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::uint64_t{INT64_MAX}) refuse(allowed);
  const auto value = value_->get<std::int64_t>();
  if (value < min || value > max) refuse(allowed);
  return value;
}

double JsonValue::number() const {
  if (!value_->is_number_float()) refuse("a number with a decimal point");
  return value_->get<double>();
}

bool JsonValue::boolean() const {
  if (!value_->is_boolean()) refuse("true or false");
  return value_->get<bool>();
}

std::string JsonValue::text() const {
  if (!value_->is_string() || value_->get_ref<const std::string&>().empty()) refuse("a string that is not empty");
  return value_->get<std::string>();
}

std::string JsonValue::sha256() const {
  if (!value_->is_string() || !is_sha256_hex(value_->get_ref<const std::string&>())) refuse("64 lower-case hex digits");
  return value_->get<std::string>();
}

std::uint64_t JsonValue::hex64() const {
  const char* allowed = "16 lower-case hex digits";
  if (!value_->is_string()) refuse(allowed);
  const auto& digits = value_->get_ref<const std::string&>();
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) refuse(allowed);
    value = value << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (digits.size() != 16) refuse(allowed);
  return value;
}

std::vector<JsonValue> JsonValue::list() const {
  if (!value_->is_array()) refuse("a list");
  std::vector<JsonValue> items;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    items.emplace_back((*value_)[i], source_, path_ + "[" + std::to_string(i) + "]");
  }
  return items;
}

JsonObject::JsonObject(const JsonValue& value) : value_(value) {
  if (!value.value_->is_object()) value.refuse("an object");
}

JsonValue JsonObject::at(const char* key) {
  known_.emplace_back(key);
  const std::string path = value_.path_.empty() ? key : value_.path_ + "." + key;
  const auto found = value_.value_->find(key);
  if (found == value_.value_->end()) refuse_file(value_.source_, "key \"" + path + "\" is missing");
  return JsonValue(*found, value_.source_, path);
}

void JsonObject::finish() const {
  for (const auto& [key, value] : value_.value_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string allowed;
    for (const std::string& known : known_) allowed += (allowed.empty() ? "" : ", ") + known;
    const std::string path = value_.path_.empty() ? key : value_.path_ + "." + key;
    refuse_file(value_.source_, "unknown key " + excerpt(Json(path)) + ", allowed are " + allowed);
  }
}

}  // namespace rehearse
