#pragma once

#include <map>
#include <string>

#include "sim/cluster/training_run.h"

namespace rehearse {

// From the checkpoint of a step, of a job whose scenario has this arithmetic hash.
inline ResumeFrom resume_of(const TrainingRecord& record, std::int64_t step, const std::string& reshard_from) {
  ResumeFrom resume;
  resume.step = step;
  resume.reshard_from = reshard_from;
  for (const CheckpointRecord& checkpoint : record.checkpoints) {
    if (checkpoint.step == step) resume.files = checkpoint.files;
  }
  return resume;
}

// Files of a step's checkpoint that tell of the state alone.
inline std::map<std::string, std::string> state_of(const TrainingRecord& record, std::int64_t step) {
  std::map<std::string, std::string> files;
  for (const CheckpointRecord& checkpoint : record.checkpoints) {
    if (checkpoint.step != step) continue;
    for (const auto& [name, data] : checkpoint.files) {
      if (name.ends_with(".safetensors") || name == "manifest.json") files.emplace(name, data.text());
    }
  }
  return files;
}

}  // namespace rehearse
