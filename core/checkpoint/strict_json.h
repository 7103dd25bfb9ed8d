#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/json.h"

// Reading and writing the JSON files of a checkpoint. Include in .cc files only: the JSON header is large.

namespace rehearse {

// `object` with a last key "checksum", the SHA-256 of the text before that key's line:
// `head -n -2 FILE | sha256sum` prints it. Requires an object that is not empty.
std::string seal_json(const Json& object);

// The object that seal_json made `text` from. `source` names the file in messages. Throws InputError for any other
// text: a checksum that does not match, cut or appended bytes, JSON that is not in the one form that seal_json writes,
// or keys that appear twice.
Json unseal_json(std::string_view text, const std::string& source);

// A JSON value with its place in a file. Each reader throws InputError that names source, JSON path, what was found and
// what is allowed.
class JsonValue {
 public:
  JsonValue(const Json& value, std::string source, std::string path)
      : value_(&value), source_(std::move(source)), path_(std::move(path)) {}

  std::int64_t integer(std::int64_t min, std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  double number() const;
  bool boolean() const;
  std::string text() const;
  // 64 lower-case hex digits.
  std::string sha256() const;
  // 16 lower-case hex digits.
  std::uint64_t hex64() const;
  std::vector<JsonValue> list() const;
  [[noreturn]] void refuse(const std::string& allowed) const;

 private:
  friend class JsonObject;
  const Json* value_;
  std::string source_;
  std::string path_;
};

// An object all of whose keys must be read: finish() refuses the first that was not.
class JsonObject {
 public:
  explicit JsonObject(const JsonValue& value);
  JsonValue at(const char* key);  // must be there
  bool has(const char* key) const { return value_.value_->contains(key); }
  void finish() const;

 private:
  JsonValue value_;
  std::vector<std::string> known_;
};

}  // namespace rehearse
