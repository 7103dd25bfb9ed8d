#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "sim/config/scenario.h"

namespace rehearse {

struct LoadOptions {
  std::vector<std::string> overrides;  // "train.steps=40", applied in order (overrides.h)
  std::optional<std::uint64_t> seed;   // wins over the file and over overrides
};

// Reads the whole file at a path, up to `limit` bytes; throws InputError that names the path otherwise.
using FileReader = std::function<std::string(const std::string& path, Bytes limit)>;

inline constexpr Bytes kScenarioFileLimit{std::int64_t{1} << 20};
inline constexpr Bytes kInputFileLimit{std::int64_t{4} << 30};
inline constexpr Bytes kCopyLimit{std::int64_t{64} << 20};

// Reads a scenario and the files it names. Strict: whatever is unknown, missing, contradictory, out of range or does
// not fit is an InputError "FILE:LINE:COLUMN: FIELD: what was found; what is allowed" (or "--set ...: ..."), before
// anything runs.
Scenario load_scenario(const std::string& path, const LoadOptions& options = {});

// The same from a text in memory that stands for the file `source_name`; input files come from `read_file`.
Scenario parse_scenario(const std::string& text, const std::string& source_name, const FileReader& read_file,
                        const LoadOptions& options = {});

// Reads from the real disk.
std::string read_real_file(const std::string& path, Bytes limit);

struct CopiedFile {
  std::string path;  // relative to the folder of the copy: "inputs/story.txt"
  std::shared_ptr<const std::string> contents;
};

// A scenario that stands on its own in any folder: written there as `text` with `files` beside it, it loads to the same
// run with the same hashes. Input files above `limit` are not copied: the text names them by absolute path, and
// `left_out` says which, with their SHA-256.
struct ScenarioCopy {
  std::string text;
  std::vector<CopiedFile> files;
  std::vector<InputFile> left_out;
};
ScenarioCopy make_scenario_copy(const Scenario& scenario, Bytes limit = kCopyLimit);
// As a checkpoint holds it: without the mode, so that the files of either mode have the same sizes.
ScenarioCopy make_checkpoint_copy(const Scenario& scenario);

}  // namespace rehearse
