#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "sim/kernel/event_record.h"
#include "sim/trace/event_digest.h"
#include "sim/trace/log_header.h"

namespace rehearse {

// Records in order, one at a time.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // False at the end.
  virtual bool next(EventRecord& record) = 0;
};

// Reads a file events.bin, a block at a time. Every error is an InputError that names the file and what is wrong: not
// an event log, another schema version, cut short, damaged. A block whose records do not match the block's own digest
// was changed after it was written: with `altered` given, that is noted there and reading goes on (whoever compares
// records will find which); else it is an error.
class LogReader : public RecordSource {
 public:
  explicit LogReader(const std::string& path, std::string* altered = nullptr);
  // Reads from a stream that is called `path` in errors.
  LogReader(std::unique_ptr<std::istream> stream, const std::string& path, std::string* altered = nullptr);
  ~LogReader() override;

  const LogHeader& header() const { return header_; }
  bool next(EventRecord& record) override;
  // Of the whole log, and how its run ended, as it says itself; once next() has given false.
  const std::string& event_digest() const { return event_digest_; }
  const std::string& outcome() const { return outcome_; }
  std::uint64_t records() const { return records_; }

 private:
  class Frames;
  void read_header();
  void read_block();
  void note_altered(const std::string& what);
  [[noreturn]] void refuse(const std::string& what) const;

  std::string path_;
  std::string* altered_;
  std::unique_ptr<std::istream> stream_;
  std::unique_ptr<Frames> frames_;
  LogHeader header_;
  std::string header_frame_;
  EventDigest digest_;  // of what was read
  std::vector<EventRecord> block_;
  std::size_t next_ = 0;
  std::uint64_t records_ = 0;  // read so far
  bool ended_ = false;
  std::string event_digest_;
  std::string outcome_;
};

}  // namespace rehearse
