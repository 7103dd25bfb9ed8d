#include "sim/trace/event_log.h"

namespace rehearse {

void EventLog::on_record(const EventRecord& record) {
  EventRecord complete = record;
  if (record.rank >= 0) {
    const Doing& now = doing(record.rank);
    complete.step = now.step;
    complete.phase = now.phase;
  }
  for (EventListener* consumer : consumers_) consumer->on_record(complete);
}

void EventLog::enter(int rank, std::int64_t step, Phase phase) {
  doing_[static_cast<std::size_t>(rank)] = Doing{step, phase};
  if (!kernel_.is_heard()) return;
  EventRecord record(EventKind::kPhase);
  record.rank = rank;
  kernel_.record(record);
}

}  // namespace rehearse
