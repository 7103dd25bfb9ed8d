#include "tests/determinism/edited_checkpoint.h"

#include <cstring>
#include <span>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/run_state.h"
#include "core/checkpoint/shard_file.h"
#include "core/formats/safetensors.h"
#include "tests/core/checkpoint/tiny_checkpoint.h"

namespace rehearse::testing_determinism {
namespace {

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

void set_record(FileRecord& record, std::span<const std::byte> contents) {
  record.sha256 = sha256_hex(contents);
  record.bytes = static_cast<std::int64_t>(contents.size());
}

}  // namespace

EditedCheckpoint::EditedCheckpoint(const CheckpointRecord& checkpoint)
    : manifest(parse_manifest(checkpoint.files.at(kManifestFile).text(), kManifestFile)), files_(checkpoint.files) {
  CHECK(manifest.dtype == DType::kFloat32);
}

EditedCheckpoint::ShardState EditedCheckpoint::shard(int rank) const {
  const ShardRecord& record = manifest.shards[static_cast<std::size_t>(rank)];
  const StateView view =
      parse_shard_file(record, manifest.dtype, files_.at(record.file.file).bytes(), record.file.file);
  return {floats_of(view.master), floats_of(view.m), floats_of(view.v)};
}

void EditedCheckpoint::set_shard(int rank, const ShardState& state) {
  ShardRecord& record = manifest.shards[static_cast<std::size_t>(rank)];
  const std::vector<std::byte> contents =
      write_shard_file(manifest.dtype, StateView(std::as_bytes(std::span(state.master)),
                                                 std::as_bytes(std::span(state.m)), std::as_bytes(std::span(state.v))));
  files_[record.file.file] = FileData::copy_of(contents);
  set_record(record.file, contents);
}

std::map<std::string, std::vector<float>> EditedCheckpoint::model() const {
  std::map<std::string, std::vector<float>> parameters;
  const SafetensorsFile file = SafetensorsFile::parse(files_.at(kModelFile).bytes(), kModelFile);
  for (const TensorView& tensor : file.tensors()) parameters[tensor.name] = floats_of(tensor.data);
  return parameters;
}

void EditedCheckpoint::set_model(const std::map<std::string, std::vector<float>>& parameters) {
  std::vector<TensorView> tensors;
  for (const ParameterRecord& record : manifest.parameters) {
    TensorView view;
    view.name = record.name;
    view.shape = record.shape;
    view.data = std::as_bytes(std::span(parameters.at(record.name)));
    tensors.push_back(view);
  }
  const std::vector<std::byte> contents = write_model_file(tensors);
  files_[kModelFile] = FileData::copy_of(contents);
  set_record(manifest.model, contents);
}

void EditedCheckpoint::edit_manifest_text(const std::string& from, const std::string& to) {
  from_ = from;
  to_ = to;
}

ResumeFrom EditedCheckpoint::as_step(std::int64_t step) const {
  ResumeFrom resume;
  resume.step = step;
  resume.files = files_;
  std::string text = write_manifest(manifest);
  if (!from_.empty()) text = edited_and_resealed(text, from_, to_);
  resume.files[kManifestFile] = FileData::copy_of(text);
  RunState state = parse_run_state(files_.at(kRunStateFile).text(), kRunStateFile);
  state.manifest_sha256 = sha256_hex(text);
  resume.files[kRunStateFile] = FileData::copy_of(write_run_state(state));
  return resume;
}

ShardPlace place_of(const Manifest& manifest, std::int64_t flat_index) {
  for (const ShardRecord& shard : manifest.shards) {
    std::int64_t index = 0;
    for (const ShardRange& range : shard.ranges) {
      const UnitRecord& unit = manifest.units[static_cast<std::size_t>(range.unit)];
      const std::int64_t begin = manifest.flat_offset(unit) + range.param_shard_offset;
      if (flat_index >= begin && flat_index < begin + range.param_shard_numel) {
        return {static_cast<int>(shard.rank), index + flat_index - begin};
      }
      index += range.param_shard_numel;
    }
  }
  check_failed(__FILE__, __LINE__, "no rank saved the element");
}

std::vector<SavedPiece> saved_pieces(const Manifest& manifest) {
  std::vector<SavedPiece> pieces;
  std::int64_t flat = 0;
  for (std::size_t t = 0; t < manifest.parameters.size(); ++t) {
    for (std::int64_t i = 0; i < manifest.parameters[t].numel(); ++i, ++flat) {
      const ShardPlace place = place_of(manifest, flat);
      const bool goes_on =
          i > 0 && pieces.back().rank == place.rank && pieces.back().index + pieces.back().count == place.index;
      if (goes_on) {
        ++pieces.back().count;
        continue;
      }
      SavedPiece piece;
      piece.tensor = static_cast<int>(t);
      piece.rank = place.rank;
      piece.offset = i;
      piece.index = place.index;
      piece.count = 1;
      pieces.push_back(piece);
    }
  }
  return pieces;
}

}  // namespace rehearse::testing_determinism
