#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/checkpoint/manifest.h"

namespace rehearse {

// run_state.json: what a checkpoint knows of the run it came from and that may differ between runs of equal arithmetic.
// Outside all claims of equal bytes.

inline constexpr std::int64_t kRunStateSchema = 1;
// Larger input files are recorded by path and SHA-256 alone.
inline constexpr std::int64_t kInputCopyLimit = std::int64_t{64} << 20;

// An input file that the scenario names.
struct InputRecord {
  std::string path;  // as written in the scenario
  std::string sha256;
  std::int64_t bytes = 0;
  std::optional<std::string> copy;  // the file in the checkpoint; nothing for one over kInputCopyLimit
  bool operator==(const InputRecord&) const = default;
};

struct RunState {
  std::int64_t schema_version = kRunStateSchema;
  std::string manifest_sha256;  // of the manifest beside it, so that files of two checkpoints never mix
  TimePoint simulated_time;
  std::int64_t generation = 0;
  std::string scenario_sha256;  // of the whole scenario with its input files, time included
  FileRecord scenario;          // scenario.textproto
  std::vector<InputRecord> inputs;
  // What the world outside the job wants kept beside it, a simulator's fault plan for one; nothing to the job.
  std::vector<std::int64_t> outside;
  bool operator==(const RunState&) const = default;
};

// The file's text: the same state always gives the same bytes.
std::string write_run_state(const RunState& state);

// Reads what write_run_state wrote, and nothing else; errors as for parse_manifest.
RunState parse_run_state(std::string_view text, const std::string& source);

}  // namespace rehearse
