#pragma once

#include <optional>
#include <string>

#include "sim/cluster/training_run.h"
#include "sim/trace/log_header.h"

namespace rehearse {

// What a run with --out left, as far as it takes to run it again.
struct Recording {
  std::string path;         // of the directory
  std::string events_path;  // of its events.bin
  LogHeader header;
  Scenario scenario;
  std::optional<ResumeFrom> resume;
  std::string outcome;  // of the recorded run
  std::uint64_t records = 0;
  std::string event_digest;
  std::string altered;  // which of the log's records were changed after they were written; empty for none
};

// Reads and checks the directory, every record of the log included. Throws InputError that names the file: missing, no
// event log, another schema version, cut short, damaged, a scenario or a checkpoint that the log is not of.
Recording read_recording(const std::string& path);

// Whether `path` is a directory with an event log.
bool is_recording(const std::string& path);

// The header of a log of this program.
LogHeader make_log_header(const Scenario& scenario, const std::optional<ResumeFrom>& resume);

// What of program and processor is not as it was, in words; empty where both are.
std::string changed_since(const LogHeader& header);

}  // namespace rehearse
