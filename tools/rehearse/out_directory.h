#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"
#include "tools/rehearse/real_files.h"

namespace rehearse {

// The directory that --out names. At every moment what is in it can be read: metrics.jsonl grows line by line
// and events.bin block by block, everything else appears whole under its name. summary.json comes last, so a directory
// that has one is complete.
class OutDirectory {
 public:
  // Takes a directory that is missing or empty, or, with `force`, one that holds nothing but files of an earlier run
  // (own_files.h), which are deleted. `sources` is what the run reads: none of it may lie in a directory that is to be
  // emptied. Throws InputError where the directory cannot be taken, before anything was changed, and RealIoError.
  // Without `records` there will be no metrics.jsonl and no events.bin.
  OutDirectory(const std::string& path, bool force, const std::vector<std::string>& sources, bool records = true);

  const std::string& path() const { return path_; }

  // scenario.textproto and its inputs/.
  void write_scenario(const ScenarioCopy& copy);
  void append_metrics(const std::string& line) { metrics_->append(line); }
  // events.bin grows by these bytes.
  void append_events(std::string_view bytes) { events_->append_bytes(bytes); }
  // resumed_from/: the checkpoint that the run continues from, so that it can be replayed.
  void write_start(const ResumeFrom& start);
  // checkpoints/step_000010, whole or not at all. The oldest of those exported goes when there are more than `keep`
  // (0: all stay).
  void export_checkpoint(const CheckpointRecord& checkpoint, std::int64_t keep);
  // Ends the directory: exported checkpoints that the run itself has deleted go; metrics, events and summary become
  // durable.
  void finish(const std::vector<CheckpointRecord>& checkpoints, const std::string& summary);

 private:
  void remove_checkpoint(std::size_t index);

  std::string path_;
  std::optional<AppendWriter> metrics_;
  std::optional<AppendWriter> events_;
  std::vector<std::string> exported_;  // names in checkpoints/, oldest first
};

}  // namespace rehearse
