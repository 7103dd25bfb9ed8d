#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/checkpoint/guard_history.h"

namespace rehearse {

// manifest.json: what a checkpoint holds and where; README.md of this folder specifies the file. Like the shards and
// the model it describes, it depends on the arithmetic alone, never on time (design section 3, D2).

inline constexpr std::int64_t kManifestSchema = 1;

// How many ways each kind of parallelism cuts the job; the product is the world size.
struct ParallelLayout {
  std::int64_t data = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  bool operator==(const ParallelLayout&) const = default;
};

// A parameter of the model, in flat order. Resharding matches state by these names.
struct ParameterRecord {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t numel() const;
  bool operator==(const ParameterRecord&) const = default;
};

// A unit of sharding: `parameters` consecutive parameters of the flat order from `first_parameter` on, together `numel`
// elements, padded to `padded_numel` = the next multiple of 16 x data-parallel ranks.
struct UnitRecord {
  std::string first_parameter;
  std::int64_t parameters = 0;
  std::int64_t numel = 0;
  std::int64_t padded_numel = 0;
  bool operator==(const UnitRecord&) const = default;
};

// Real elements of one unit, never padding; the offset counts from the start of the unit.
struct ShardRange {
  ShardRange() = default;
  ShardRange(std::int64_t range_unit, std::int64_t offset, std::int64_t numel)
      : unit(range_unit), param_shard_offset(offset), param_shard_numel(numel) {}
  std::int64_t end() const { return param_shard_offset + param_shard_numel; }
  bool operator==(const ShardRange&) const = default;

  std::int64_t unit = 0;
  std::int64_t param_shard_offset = 0;
  std::int64_t param_shard_numel = 0;
};
std::int64_t total_numel(const std::vector<ShardRange>& ranges);

// A rank's place in the layout.
struct Coordinates {
  std::int64_t data = 0;
  std::int64_t tensor = 0;
  std::int64_t pipeline = 0;
  bool operator==(const Coordinates&) const = default;
};

// A file beside the manifest.
struct FileRecord {
  std::string file;
  std::string sha256;
  std::int64_t bytes = 0;
  bool operator==(const FileRecord&) const = default;
};

// What one rank saved. A rank that holds nothing but padding has no ranges, and still a file.
struct ShardRecord {
  std::int64_t rank = 0;
  Coordinates coordinates;
  FileRecord file;
  std::vector<ShardRange> ranges;  // by unit
  bool operator==(const ShardRecord&) const = default;
};

// A random stream that is drawn from in sequence: its key and how many draws were taken.
struct RandomStreamRecord {
  std::string name;
  std::uint64_t key = 0;
  std::int64_t position = 0;
  bool operator==(const RandomStreamRecord&) const = default;
};

struct LrSpikeRecord {
  std::int64_t step = 0;
  double factor = 1;
  bool operator==(const LrSpikeRecord&) const = default;
};

// The learning rate as a function of applied steps.
struct ScheduleRecord {
  double lr = 0;
  std::int64_t warmup_steps = 0;
  bool cosine = false;
  double min_lr = 0;
  std::int64_t total_steps = 0;
  std::optional<LrSpikeRecord> lr_spike;
  bool operator==(const ScheduleRecord&) const = default;
};

struct Manifest {
  std::int64_t schema_version = kManifestSchema;
  std::int64_t world_size = 0;
  ParallelLayout layout;
  std::int64_t zero_stage = 0;
  DType dtype = DType::kFloat32;  // of master weights and moments
  std::int64_t step = 0;          // the state after this step
  std::int64_t batch_index = 0;   // the next batch
  std::int64_t applied_steps = 0;
  std::optional<GuardHistory> guards;  // of a job that has guards
  ScheduleRecord schedule;
  std::string arithmetic_sha256;  // of everything that decides the bits
  std::vector<RandomStreamRecord> random_streams;
  std::vector<ParameterRecord> parameters;
  std::vector<UnitRecord> units;
  std::vector<ShardRecord> shards;  // by rank
  FileRecord model;
  bool operator==(const Manifest&) const = default;

  // Elements of all parameters.
  std::int64_t numel() const;
  // Where a unit begins in the flat order. Requires a unit of this manifest.
  std::int64_t flat_offset(const UnitRecord& unit) const;
};

// The file's text: the same manifest always gives the same bytes. Requires a manifest that check_manifest accepts.
std::string write_manifest(const Manifest& manifest);

// Reads what write_manifest wrote, and nothing else; `source` names the file in messages. Throws InputError for a wrong
// checksum, unknown, missing or repeated keys, values of a wrong type or out of range, text in any other form, and for
// everything check_manifest refuses.
Manifest parse_manifest(std::string_view text, const std::string& source);

// One shard's record as text, how a rank tells rank 0 what it wrote; parsed as strictly as the manifest.
std::string write_shard_record(const ShardRecord& shard);
ShardRecord parse_shard_record(std::string_view text, const std::string& source);

// Throws InputError unless the parts fit each other: the layout's product is the world size, one shard a rank with
// coordinates of its own and its canonical file name, units that cover every parameter once, padding by the rule, and
// ranges that cover every real element of every unit exactly once.
void check_manifest(const Manifest& manifest, const std::string& source);

// What a job that wants to continue from a checkpoint has configured.
struct ExpectedManifest {
  std::int64_t world_size = 0;
  ParallelLayout layout;
  std::int64_t zero_stage = 0;
  DType dtype = DType::kFloat32;
  std::string arithmetic_sha256;
  std::vector<ParameterRecord> parameters;
};

// Throws InputError that names the first setting in which the checkpoint is not this job's, with both values.
void check_matches(const Manifest& manifest, const ExpectedManifest& expected, const std::string& source);
// The same for a job that may cut its state in another way: only the parameters, by name and shape, and the dtype
// count.
void check_matches_for_resharding(const Manifest& manifest, const ExpectedManifest& expected,
                                  const std::string& source);

}  // namespace rehearse
