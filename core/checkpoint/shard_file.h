#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/checkpoint/manifest.h"
#include "core/formats/safetensors.h"

namespace rehearse {

// The tensor files of a checkpoint, on byte spans: nothing here reads or writes a disk.

// Master weights and Adam's moments of the same elements, in the checkpoint's dtype.
struct StateView {
  StateView() = default;
  StateView(std::span<const std::byte> state_master, std::span<const std::byte> state_m,
            std::span<const std::byte> state_v)
      : master(state_master), m(state_m), v(state_v) {}
  std::span<const std::byte> master;
  std::span<const std::byte> m;
  std::span<const std::byte> v;
};

// The same with memory of its own.
struct State {
  State() = default;
  explicit State(std::size_t bytes) : master(bytes), m(bytes), v(bytes) {}
  std::vector<std::byte> master;
  std::vector<std::byte> m;
  std::vector<std::byte> v;
};

// A shard's file: safetensors with the tensors "master", "m" and "v", each [elements], without metadata.
std::vector<std::byte> write_shard_file(DType dtype, const StateView& state);
// Its size, with so many elements of each.
Bytes size_of_shard_file(DType dtype, std::int64_t elements);

// The model's file: safetensors with the full parameters in flat order, metadata {"format": "pt"} (without it, some
// loaders refuse a file).
std::vector<std::byte> write_model_file(std::span<const TensorView> parameters);
// Its size; the parameters need no data.
Bytes size_of_model_file(std::span<const TensorView> parameters);

// Throws InputError unless `bytes` has the size and the SHA-256 of the record.
void check_file(const FileRecord& record, std::span<const std::byte> bytes, const std::string& source);

// The state in a shard's file; the views point into `bytes`. Checks the file, then that it holds just the tensors that
// write_shard_file gives it, of the dtype and as many elements as the record's ranges. Throws InputError.
StateView parse_shard_file(const ShardRecord& record, DType dtype, std::span<const std::byte> bytes,
                           const std::string& source);

// Throws InputError unless `bytes` is the model's file of the manifest: checked as a file, then its names, shapes,
// dtype and, where `master` (of all parameters in flat order) is given, its values.
void check_model_file(const Manifest& manifest, std::span<const std::byte> bytes,
                      std::optional<std::span<const std::byte>> master, const std::string& source);

// Index of the first element that is a NaN or an infinity.
std::optional<std::int64_t> first_not_finite(DType dtype, std::span<const std::byte> elements);

// Consecutive elements of all parameters in flat order. State is asked for in these, so that a job need not cut its
// parameters in the units the checkpoint was cut in.
struct FlatRange {
  FlatRange() = default;
  FlatRange(std::int64_t range_offset, std::int64_t range_numel) : offset(range_offset), numel(range_numel) {}
  std::int64_t offset = 0;
  std::int64_t numel = 0;
};
std::int64_t total_numel(const std::vector<FlatRange>& ranges);

// Whether a shard holds an element of `wanted`.
bool overlaps(const Manifest& manifest, const ShardRecord& shard, const std::vector<FlatRange>& wanted);

// Copies what a shard holds of `wanted` to its place in `state`, which is the wanted ranges one after the other.
void copy_overlap(const Manifest& manifest, const ShardRecord& shard, const StateView& from,
                  const std::vector<FlatRange>& wanted, State& state);

}  // namespace rehearse
