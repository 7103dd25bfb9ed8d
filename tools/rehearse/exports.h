#pragma once

#include <memory>
#include <string>

#include "sim/cluster/training_run.h"
#include "tools/rehearse/command_line.h"

namespace rehearse {

// Writes the files that --trace and its like ask for, from what a run's hooks hear.
class Exports {
 public:
  // Throws InputError where a file cannot be written at all: its folder is missing, it is a directory, or a step range
  // that the run does not reach. `out` is the directory of --out, which may not be there yet. The scenario outlives
  // this.
  Exports(const ExportOptions& options, const Scenario& scenario, const std::string& out = "");
  ~Exports();
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  // Whether anything was asked for.
  bool any() const;
  // Adds what listens to the hooks; nothing where nothing was asked for. Outlives the run.
  void attach(TrainingHooks& hooks);
  // From the hooks of those names.
  void on_step(const StepRecord& step);
  void on_checkpoint(const CheckpointRecord& checkpoint);
  void on_recovery(const RecoveryRecord& recovery);
  // The run is over: writes the files, and says which in lines for people.
  std::string finish(const TrainingRecord& record);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rehearse
