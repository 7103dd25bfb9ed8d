#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/checkpoint/manifest.h"
#include "sim/cluster/training_run.h"

namespace rehearse::testing_determinism {

// A checkpoint of float32 that a test changes: after that, all its hashes and checksums are right again, so that what
// refuses it, or does not, is what it says.
class EditedCheckpoint {
 public:
  explicit EditedCheckpoint(const CheckpointRecord& checkpoint);

  Manifest manifest;

  struct ShardState {
    std::vector<float> master;
    std::vector<float> m;
    std::vector<float> v;
  };
  ShardState shard(int rank) const;
  void set_shard(int rank, const ShardState& state);

  // The full parameters, by name.
  std::map<std::string, std::vector<float>> model() const;
  void set_model(const std::map<std::string, std::vector<float>>& parameters);

  // Replaces the one place of the manifest's text, where the result is none that anybody would write.
  void edit_manifest_text(const std::string& from, const std::string& to);

  // Sealed, as a checkpoint of `step`: the directory that it is loaded from.
  ResumeFrom as_step(std::int64_t step) const;

 private:
  std::map<std::string, FileData> files_;
  std::string from_;  // in the manifest's text
  std::string to_;
};

// Where an element of the flat vector lies: in whose shard, and where there.
struct ShardPlace {
  int rank = 0;
  std::int64_t index = 0;
};
ShardPlace place_of(const Manifest& manifest, std::int64_t flat_index);

// The elements of a parameter that one rank saved: [index, index + count) of its shard, [offset, offset + count) of the
// parameter.
struct SavedPiece {
  int tensor = 0;
  int rank = 0;
  std::int64_t offset = 0;
  std::int64_t index = 0;
  std::int64_t count = 0;
};
// All of them, by tensor and offset; found element by element.
std::vector<SavedPiece> saved_pieces(const Manifest& manifest);

}  // namespace rehearse::testing_determinism
