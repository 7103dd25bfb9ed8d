#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>

#include "core/checkpoint/manifest.h"
#include "core/checkpoint/run_state.h"
#include "core/checkpoint/shard_file.h"

namespace rehearse {

// Every file of a checkpoint directory: path in it -> contents.
using CheckpointFiles = std::map<std::string, std::span<const std::byte>>;

struct VerifiedCheckpoint {
  Manifest manifest;
  RunState run_state;
  State state;  // of all parameters, in flat order
};

// Reads a checkpoint only after everything in it was verified: one flipped bit, one missing or extra file, one file of
// another checkpoint throws InputError that says what and where. `source` names the directory in messages. Inputs that
// were too large to copy stand in run_state; the caller holds the file and checks it with check_input.
VerifiedCheckpoint verify_checkpoint(const CheckpointFiles& files, const std::string& source);

// The parts of it, for a loader that reads one file at a time.

// Throws InputError unless `paths` are just the files that a checkpoint of this manifest and run state has.
void check_file_names(const Manifest& manifest, const RunState& run_state, const std::set<std::string>& paths,
                      const std::string& source);
// Parses run_state.json and throws InputError unless it belongs to this manifest's text.
RunState parse_run_state_of(std::string_view manifest_text, std::string_view text, const std::string& source);
// Throws InputError unless `bytes` are those of the input file that the checkpoint was made with.
void check_input(const InputRecord& input, std::span<const std::byte> bytes, const std::string& source);

}  // namespace rehearse
