#include "core/checkpoint/trust.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/strict_json.h"

namespace rehearse {
namespace {

constexpr const char* kTrustedFile = "trusted.json";
constexpr const char* kNewTrustedFile = "trusted.json.new";
constexpr std::int64_t kTrustedSchema = 1;

std::vector<std::int64_t> steps_of(const JsonValue& list) {
  std::vector<std::int64_t> steps;
  for (const JsonValue& step : list.list()) steps.push_back(step.integer(1));
  std::sort(steps.begin(), steps.end());
  return steps;
}

TrustedSteps parse_trusted(std::string_view text, const std::string& source) {
  const Json json = unseal_json(text, source);
  JsonObject object(JsonValue(json, source, ""));
  object.at("schema_version").integer(kTrustedSchema, kTrustedSchema);
  TrustedSteps steps;
  steps.remote = steps_of(object.at("steps"));
  if (object.has("local_steps")) steps.local = steps_of(object.at("local_steps"));
  object.finish();
  return steps;
}

}  // namespace

StoragePath trusted_file(const StoragePath& parent) { return parent.child(kTrustedFile); }

std::string text_of(const TrustedSteps& steps) {
  Json json;
  json["schema_version"] = kTrustedSchema;
  json["steps"] = steps.remote;
  if (!steps.local.empty()) json["local_steps"] = steps.local;
  return seal_json(json);
}

Task<TrustedSteps> read_trusted(Storage& storage, StoragePath parent) {
  const StoragePath file = trusted_file(parent);
  TrustedSteps steps;
  try {
    const Payload data = co_await storage.read(file);
    if (data.has_data()) steps = parse_trusted(data.text(), file.text());
  } catch (const StorageError& error) {
    if (error.kind() != StorageError::Kind::kNotFound) throw;
  }
  co_return steps;
}

Task<> write_trusted(Storage& storage, StoragePath parent, TrustedSteps steps) {
  const StoragePath fresh = parent.child(kNewTrustedFile);
  const StoragePath file = trusted_file(parent);
  Payload text = host_payload(text_of(steps));
  co_await write_durable(storage, fresh, std::move(text));
  co_await storage.rename(fresh, file);
  co_await storage.fsync_directory(parent);
}

}  // namespace rehearse
