#pragma once

#include <map>
#include <string>

#include "core/checkpoint/verify.h"
#include "sim/config/scenario.h"
#include "sim/storage/file_data.h"

namespace rehearse {

// A checkpoint on the real disk, read and verified.
struct CheckpointOnDisk {
  std::map<std::string, FileData> files;  // by path in the directory
  Manifest manifest;
  RunState run_state;
};

// Reads every file below the directory and verifies all of them. Only regular files and directories may be in it, no
// symbolic links. Throws InputError that says what is wrong.
CheckpointOnDisk read_checkpoint_directory(const std::string& path);

// The scenario the checkpoint was taken from, with its inputs: from the checkpoint, or, where an input was too large to
// be copied, from where it was, verified. Throws InputError also where the scenario is not the one of the manifest.
Scenario load_checkpoint_scenario(const CheckpointOnDisk& checkpoint, const std::string& path);

}  // namespace rehearse
