#pragma once

#include <cstdint>

#include "core/base/units.h"

namespace rehearse {

// One exchange of a schedule: a message to one group rank, and the one that another sends at the same time.
struct ScheduledExchange {
  ScheduledExchange(int to_rank, int from_rank, std::int64_t first_element, Bytes sent_bytes, Bytes received_bytes)
      : to(to_rank), from(from_rank), offset(first_element), sent(sent_bytes), received(received_bytes) {}
  int to;
  int from;
  std::int64_t offset;  // of the call's buffer, where the message that is sent begins
  Bytes sent;
  Bytes received;
};

// What an algorithm exchanges on one rank where buffers have no elements, so that nothing has to be done between two
// messages: the s-th exchange begins when the one before is done. A pure function of the step; the messages are those
// that the algorithm's own loop would send, and so are their times and errors.
class ExchangeSchedule {
 public:
  virtual ~ExchangeSchedule() = default;
  // At least 1.
  virtual int steps() const = 0;
  // step: 0..steps()-1.
  virtual ScheduledExchange at(int step) const = 0;
};

}  // namespace rehearse
