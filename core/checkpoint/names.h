#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The names of a checkpoint's files and directories.

namespace rehearse {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kRunStateFile = "run_state.json";
inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kScenarioFile = "scenario.textproto";
inline constexpr const char* kInputsDirectory = "inputs";

// "shard_00002.safetensors".
std::string shard_file_name(std::int64_t rank);
// The rank of exactly such a name, nothing for any other.
std::optional<std::int64_t> rank_of_shard_file(std::string_view name);

// "step_000010", the state after step 10; longer where six digits do not suffice.
std::string step_directory_name(std::int64_t step);
// The step of exactly such a name, nothing for any other: temporary names never count as checkpoints.
std::optional<std::int64_t> step_of_directory(std::string_view name);

// Where a checkpoint is built before it is published. The generation keeps late writes of a rank that was fenced out
// away from the directory its successors build.
std::string building_directory_name(std::int64_t step, std::uint32_t generation);
// What a published checkpoint is renamed to before it is deleted, so that half of one is never taken for a whole.
std::string deleting_directory_name(std::int64_t step);
// What a published checkpoint is renamed to while another of its step takes its place.
std::string replaced_directory_name(std::int64_t step);

enum class TemporaryKind : std::uint8_t { kBuilding, kDeleting, kReplaced };
struct TemporaryName {
  TemporaryKind kind = TemporaryKind::kBuilding;
  std::int64_t step = 0;
};
// What a temporary name is for; nothing for any other name.
std::optional<TemporaryName> temporary_of(std::string_view name);

// The copy of input number `index` (from 0) in a checkpoint: "inputs/00_text.txt", the index and the last name of
// `path`.
std::string input_copy_name(std::int64_t index, std::string_view path);

}  // namespace rehearse
