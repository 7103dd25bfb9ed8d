#pragma once

#include <string>

#include "tools/rehearse/console.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/recording.h"

// Include in .cc files only, as json.h.

namespace rehearse {

// What a comparison came to, for people and for programs.
struct DiffReport {
  bool identical = true;
  std::string text;
  Json json = Json::object();
};

// Two recorded runs: the first event and the first state that differ; the values from running both again.
DiffReport diff_runs(const Recording& a, const Recording& b, const Style& style);
// Two checkpoint directories, every hash verified; two safetensors files.
DiffReport diff_checkpoints(const std::string& a, const std::string& b, const Style& style);
DiffReport diff_tensor_files(const std::string& a, const std::string& b, const Style& style);

}  // namespace rehearse
