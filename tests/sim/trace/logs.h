#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/trace/log_reader.h"
#include "sim/trace/log_writer.h"

// Logs in memory for the tests of this folder.

namespace rehearse {

inline const std::string kLogPath = "dir/events.bin";

// The event digest of these records.
inline std::string digest_of(const std::vector<EventRecord>& records) {
  EventDigest digest;
  for (const EventRecord& record : records) digest.on_record(record);
  return digest.finish();
}

inline LogHeader some_header() {
  LogHeader header;
  header.scenario = "some";
  header.scenario_sha256 = std::string(64, 'a');
  header.arithmetic_sha256 = std::string(64, 'b');
  header.seed = 41;
  header.ranks = 4;
  header.build = "0123abcd";
  header.cpu = "a processor";
  return header;
}

// The pieces that a writer wrote, in order.
inline std::vector<std::string> write_pieces(const std::vector<EventRecord>& records,
                                             const LogHeader& header = some_header()) {
  std::vector<std::string> pieces;
  LogWriter writer(header, [&pieces](std::string_view bytes) { pieces.emplace_back(bytes); });
  for (const EventRecord& record : records) writer.on_record(record);
  writer.finish("DONE");
  return pieces;
}

inline std::string joined(const std::vector<std::string>& pieces) {
  std::string bytes;
  for (const std::string& piece : pieces) bytes += piece;
  return bytes;
}

// What reading a log gives: its records, and how it ended or what is wrong.
struct ReadLog {
  LogHeader header;
  std::vector<EventRecord> records;
  std::uint64_t counted = 0;
  std::string event_digest;
  std::string outcome;
  std::string altered;
  std::string error;  // empty: it was read to its end
};

inline ReadLog read_log(const std::string& bytes, bool note_alterations = false) {
  ReadLog log;
  try {
    LogReader reader(std::make_unique<std::istringstream>(bytes), kLogPath, note_alterations ? &log.altered : nullptr);
    log.header = reader.header();
    for (EventRecord record; reader.next(record);) log.records.push_back(record);
    log.counted = reader.records();
    log.event_digest = reader.event_digest();
    log.outcome = reader.outcome();
  } catch (const InputError& error) {
    log.error = error.what();
  }
  return log;
}

}  // namespace rehearse
