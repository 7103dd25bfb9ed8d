#pragma once

#include <string>
#include <vector>

#include "sim/kernel/event_record.h"
#include "sim/trace/log_header.h"

namespace rehearse::testing_command {

// A whole events.bin in memory, for tests that change it.
struct EventFile {
  LogHeader header;
  std::vector<EventRecord> records;
  std::string event_digest;
  std::string outcome;
};

EventFile read_events(const std::string& path);
// With right digests of its blocks and of the whole, whatever `event_digest` says.
void write_events(const std::string& path, const EventFile& file);

}  // namespace rehearse::testing_command
