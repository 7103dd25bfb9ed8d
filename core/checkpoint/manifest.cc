#include "core/checkpoint/manifest.h"

#include <cmath>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/checkpoint/strict_json.h"

namespace rehearse {
namespace {

std::string hex64(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

Json number(double value) {
  CHECK(std::isfinite(value));
  return value;
}

Json json_of(const FileRecord& file) {
  Json json;
  json["file"] = file.file;
  json["sha256"] = file.sha256;
  json["bytes"] = file.bytes;
  return json;
}

Json json_of(const ScheduleRecord& schedule) {
  Json json;
  json["lr"] = number(schedule.lr);
  json["warmup_steps"] = schedule.warmup_steps;
  json["cosine"] = schedule.cosine;
  json["min_lr"] = number(schedule.min_lr);
  json["total_steps"] = schedule.total_steps;
  if (schedule.lr_spike) {
    json["lr_spike"]["step"] = schedule.lr_spike->step;
    json["lr_spike"]["factor"] = number(schedule.lr_spike->factor);
  }
  return json;
}

Json json_of(const GuardHistory& guards) {
  Json json;
  json["losses"] = Json::array();
  for (const double loss : guards.losses) json["losses"].push_back(number(loss));
  json["consecutive_skips"] = guards.consecutive_skips;
  return json;
}

Json json_of(const RandomStreamRecord& stream) {
  Json json;
  json["name"] = stream.name;
  json["key"] = hex64(stream.key);
  json["position"] = stream.position;
  return json;
}

Json json_of(const ParameterRecord& parameter) {
  Json json;
  json["name"] = parameter.name;
  json["shape"] = parameter.shape;
  return json;
}

Json json_of(const UnitRecord& unit) {
  Json json;
  json["first_parameter"] = unit.first_parameter;
  json["parameters"] = unit.parameters;
  json["numel"] = unit.numel;
  json["padded_numel"] = unit.padded_numel;
  return json;
}

Json json_of(const ShardRange& range) {
  Json json;
  json["unit"] = range.unit;
  json["param_shard_offset"] = range.param_shard_offset;
  json["param_shard_numel"] = range.param_shard_numel;
  return json;
}

Json json_of(const ShardRecord& shard) {
  Json json;
  json["rank"] = shard.rank;
  json["coordinates"]["data"] = shard.coordinates.data;
  json["coordinates"]["tensor"] = shard.coordinates.tensor;
  json["coordinates"]["pipeline"] = shard.coordinates.pipeline;
  json["file"] = shard.file.file;
  json["sha256"] = shard.file.sha256;
  json["bytes"] = shard.file.bytes;
  json["ranges"] = Json::array();
  for (const ShardRange& range : shard.ranges) json["ranges"].push_back(json_of(range));
  return json;
}

template <class Record>
Json list_of(const std::vector<Record>& records) {
  Json json = Json::array();
  for (const Record& record : records) json.push_back(json_of(record));
  return json;
}

}  // namespace

std::int64_t ParameterRecord::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) CHECK(!__builtin_mul_overflow(count, extent, &count));
  return count;
}

std::int64_t total_numel(const std::vector<ShardRange>& ranges) {
  std::int64_t total = 0;
  for (const ShardRange& range : ranges) total += range.param_shard_numel;
  return total;
}

std::int64_t Manifest::numel() const {
  std::int64_t total = 0;
  for (const ParameterRecord& parameter : parameters) total += parameter.numel();
  return total;
}

std::int64_t Manifest::flat_offset(const UnitRecord& unit) const {
  std::int64_t offset = 0;
  for (const ParameterRecord& parameter : parameters) {
    if (parameter.name == unit.first_parameter) return offset;
    offset += parameter.numel();
  }
  check_failed(__FILE__, __LINE__, "no parameter " + unit.first_parameter);
}

std::string write_manifest(const Manifest& manifest) {
  try {
    check_manifest(manifest, "the manifest to be written");
  } catch (const InputError& error) {
    check_failed(__FILE__, __LINE__, error.what());  // our mistake, not that of a file
  }
  Json json;
  json["schema_version"] = manifest.schema_version;
  json["step"] = manifest.step;
  json["batch_index"] = manifest.batch_index;
  json["applied_steps"] = manifest.applied_steps;
  if (manifest.guards) json["guards"] = json_of(*manifest.guards);
  json["world_size"] = manifest.world_size;
  json["layout"]["data"] = manifest.layout.data;
  json["layout"]["tensor"] = manifest.layout.tensor;
  json["layout"]["pipeline"] = manifest.layout.pipeline;
  json["zero_stage"] = manifest.zero_stage;
  json["dtype"] = name_of(manifest.dtype);
  json["arithmetic_sha256"] = manifest.arithmetic_sha256;
  json["schedule"] = json_of(manifest.schedule);
  json["random_streams"] = list_of(manifest.random_streams);
  json["parameters"] = list_of(manifest.parameters);
  json["units"] = list_of(manifest.units);
  json["shards"] = list_of(manifest.shards);
  json["model"] = json_of(manifest.model);
  return seal_json(json);
}

std::string write_shard_record(const ShardRecord& shard) { return seal_json(json_of(shard)); }

}  // namespace rehearse
