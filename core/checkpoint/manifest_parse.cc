#include "core/checkpoint/manifest.h"
#include "core/checkpoint/strict_json.h"

namespace rehearse {
namespace {

// Reads the three keys of a file into an object that may have more.
FileRecord file_from(JsonObject& object) {
  FileRecord file;
  file.file = object.at("file").text();
  file.sha256 = object.at("sha256").sha256();
  file.bytes = object.at("bytes").integer(0);
  return file;
}

ParallelLayout layout_from(const JsonValue& value) {
  JsonObject object(value);
  ParallelLayout layout;
  layout.data = object.at("data").integer(1);
  layout.tensor = object.at("tensor").integer(1);
  layout.pipeline = object.at("pipeline").integer(1);
  object.finish();
  return layout;
}

DType dtype_from(const JsonValue& value) {
  const std::string name = value.text();
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16}) {
    if (name == name_of(dtype)) return dtype;
  }
  value.refuse("F32, F64, BF16 or F16");
}

ScheduleRecord schedule_from(const JsonValue& value) {
  JsonObject object(value);
  ScheduleRecord schedule;
  schedule.lr = object.at("lr").number();
  schedule.warmup_steps = object.at("warmup_steps").integer(0);
  schedule.cosine = object.at("cosine").boolean();
  schedule.min_lr = object.at("min_lr").number();
  schedule.total_steps = object.at("total_steps").integer(0);
  if (object.has("lr_spike")) {
    JsonObject spike(object.at("lr_spike"));
    LrSpikeRecord record;
    record.step = spike.at("step").integer(0);
    record.factor = spike.at("factor").number();
    spike.finish();
    schedule.lr_spike = record;
  }
  object.finish();
  return schedule;
}

GuardHistory guards_from(const JsonValue& value) {
  JsonObject object(value);
  GuardHistory guards;
  for (const JsonValue& loss : object.at("losses").list()) guards.losses.push_back(loss.number());
  guards.consecutive_skips = object.at("consecutive_skips").integer(0);
  object.finish();
  return guards;
}

RandomStreamRecord random_stream_from(const JsonValue& value) {
  JsonObject object(value);
  RandomStreamRecord stream;
  stream.name = object.at("name").text();
  stream.key = object.at("key").hex64();
  stream.position = object.at("position").integer(0);
  object.finish();
  return stream;
}

ParameterRecord parameter_from(const JsonValue& value) {
  JsonObject object(value);
  ParameterRecord parameter;
  parameter.name = object.at("name").text();
  for (const JsonValue& extent : object.at("shape").list()) parameter.shape.push_back(extent.integer(1));
  object.finish();
  return parameter;
}

UnitRecord unit_from(const JsonValue& value) {
  JsonObject object(value);
  UnitRecord unit;
  unit.first_parameter = object.at("first_parameter").text();
  unit.parameters = object.at("parameters").integer(1);
  unit.numel = object.at("numel").integer(1);
  unit.padded_numel = object.at("padded_numel").integer(1);
  object.finish();
  return unit;
}

ShardRange range_from(const JsonValue& value) {
  JsonObject object(value);
  ShardRange range;
  range.unit = object.at("unit").integer(0);
  range.param_shard_offset = object.at("param_shard_offset").integer(0);
  range.param_shard_numel = object.at("param_shard_numel").integer(1);
  object.finish();
  return range;
}

ShardRecord shard_from(const JsonValue& value) {
  JsonObject object(value);
  ShardRecord shard;
  shard.rank = object.at("rank").integer(0);
  JsonObject coordinates(object.at("coordinates"));
  shard.coordinates.data = coordinates.at("data").integer(0);
  shard.coordinates.tensor = coordinates.at("tensor").integer(0);
  shard.coordinates.pipeline = coordinates.at("pipeline").integer(0);
  coordinates.finish();
  shard.file = file_from(object);
  for (const JsonValue& range : object.at("ranges").list()) shard.ranges.push_back(range_from(range));
  object.finish();
  return shard;
}

}  // namespace

Manifest parse_manifest(std::string_view text, const std::string& source) {
  const Json json = unseal_json(text, source);
  JsonObject object(JsonValue(json, source, ""));
  Manifest manifest;
  manifest.schema_version = object.at("schema_version").integer(kManifestSchema, kManifestSchema);
  manifest.step = object.at("step").integer(1);
  manifest.batch_index = object.at("batch_index").integer(0);
  manifest.applied_steps = object.at("applied_steps").integer(0);
  if (object.has("guards")) manifest.guards = guards_from(object.at("guards"));
  manifest.world_size = object.at("world_size").integer(1);
  manifest.layout = layout_from(object.at("layout"));
  manifest.zero_stage = object.at("zero_stage").integer(0, 3);
  manifest.dtype = dtype_from(object.at("dtype"));
  manifest.arithmetic_sha256 = object.at("arithmetic_sha256").sha256();
  manifest.schedule = schedule_from(object.at("schedule"));
  for (const JsonValue& stream : object.at("random_streams").list()) {
    manifest.random_streams.push_back(random_stream_from(stream));
  }
  for (const JsonValue& parameter : object.at("parameters").list()) {
    manifest.parameters.push_back(parameter_from(parameter));
  }
  for (const JsonValue& unit : object.at("units").list()) manifest.units.push_back(unit_from(unit));
  for (const JsonValue& shard : object.at("shards").list()) manifest.shards.push_back(shard_from(shard));
  JsonObject model(object.at("model"));
  manifest.model = file_from(model);
  model.finish();
  object.finish();
  check_manifest(manifest, source);
  return manifest;
}

ShardRecord parse_shard_record(std::string_view text, const std::string& source) {
  const Json json = unseal_json(text, source);
  return shard_from(JsonValue(json, source, ""));
}

}  // namespace rehearse
