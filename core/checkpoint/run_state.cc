#include "core/checkpoint/run_state.h"

#include "core/checkpoint/names.h"
#include "core/checkpoint/strict_json.h"

namespace rehearse {

std::string write_run_state(const RunState& state) {
  Json json;
  json["schema_version"] = state.schema_version;
  json["manifest_sha256"] = state.manifest_sha256;
  json["simulated_ps"] = state.simulated_time.ps();
  json["generation"] = state.generation;
  json["scenario_sha256"] = state.scenario_sha256;
  json["scenario"]["file"] = state.scenario.file;
  json["scenario"]["sha256"] = state.scenario.sha256;
  json["scenario"]["bytes"] = state.scenario.bytes;
  json["inputs"] = Json::array();
  for (const InputRecord& input : state.inputs) {
    Json record;
    record["path"] = input.path;
    record["sha256"] = input.sha256;
    record["bytes"] = input.bytes;
    if (input.copy) record["copy"] = *input.copy;
    json["inputs"].push_back(record);
  }
  if (!state.outside.empty()) json["outside"] = state.outside;
  return seal_json(json);
}

RunState parse_run_state(std::string_view text, const std::string& source) {
  const Json json = unseal_json(text, source);
  JsonObject object(JsonValue(json, source, ""));
  RunState state;
  state.schema_version = object.at("schema_version").integer(kRunStateSchema, kRunStateSchema);
  state.manifest_sha256 = object.at("manifest_sha256").sha256();
  state.simulated_time = TimePoint::at(Duration::picoseconds(object.at("simulated_ps").integer(0)));
  state.generation = object.at("generation").integer(0);
  state.scenario_sha256 = object.at("scenario_sha256").sha256();
  JsonObject scenario(object.at("scenario"));
  const JsonValue file = scenario.at("file");
  state.scenario.file = file.text();
  if (state.scenario.file != kScenarioFile) file.refuse(kScenarioFile);
  state.scenario.sha256 = scenario.at("sha256").sha256();
  state.scenario.bytes = scenario.at("bytes").integer(0);
  scenario.finish();
  for (const JsonValue& value : object.at("inputs").list()) {
    JsonObject record(value);
    InputRecord input;
    input.path = record.at("path").text();
    input.sha256 = record.at("sha256").sha256();
    input.bytes = record.at("bytes").integer(0);
    const std::string copy_name = input_copy_name(static_cast<std::int64_t>(state.inputs.size()), input.path);
    if (record.has("copy") || input.bytes <= kInputCopyLimit) {
      const JsonValue copy = record.at("copy");
      input.copy = copy.text();
      if (*input.copy != copy_name) copy.refuse(copy_name);
      if (input.bytes > kInputCopyLimit)
        copy.refuse("no copy of a file over " + std::to_string(kInputCopyLimit) + " bytes");
    }
    record.finish();
    state.inputs.push_back(input);
  }
  if (object.has("outside")) {
    for (const JsonValue& value : object.at("outside").list()) state.outside.push_back(value.integer(0));
  }
  object.finish();
  return state;
}

}  // namespace rehearse
