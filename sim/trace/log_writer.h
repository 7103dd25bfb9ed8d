#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/kernel/event_record.h"
#include "sim/trace/event_digest.h"
#include "sim/trace/log_header.h"

namespace rehearse {

// Writes the file events.bin (event_log.proto) piece by piece, holding at most one block of records.
class LogWriter : public EventListener {
 public:
  // `write` gets the file's bytes in order; what it throws ends the run.
  LogWriter(const LogHeader& header, std::function<void(std::string_view)> write);

  void on_record(const EventRecord& record) override;
  // The rest, and the end: the digest of what was written, and how the run ended.
  void finish(const std::string& outcome);

 private:
  void flush();

  std::function<void(std::string_view)> write_;
  std::vector<EventRecord> block_;
  std::uint64_t records_ = 0;
  EventDigest digest_;
  std::string header_frame_;
  std::string buffer_;
};

}  // namespace rehearse
