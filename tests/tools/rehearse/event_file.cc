#include "tests/tools/rehearse/event_file.h"

#include "sim/trace/log_reader.h"
#include "sim/trace/log_writer.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {

EventFile read_events(const std::string& path) {
  LogReader log(path);
  EventFile file;
  file.header = log.header();
  EventRecord record;
  while (log.next(record)) file.records.push_back(record);
  file.event_digest = log.event_digest();
  file.outcome = log.outcome();
  return file;
}

void write_events(const std::string& path, const EventFile& file) {
  std::string bytes;
  LogWriter log(file.header, [&bytes](std::string_view piece) { bytes += piece; });
  for (const EventRecord& record : file.records) log.on_record(record);
  log.finish(file.outcome);
  write_file(path, bytes);
}

}  // namespace rehearse::testing_command
