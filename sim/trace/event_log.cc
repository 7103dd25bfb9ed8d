#include "sim/trace/event_log.h"

namespace rehearse {

void EventLog::on_record(const EventRecord& record) {
  EventRecord complete = record;
  if (record.rank >= 0) {
    const Doing& now = doing(record.rank);
    // A state says itself which step it is of.
    if (record.kind != EventKind::kState) complete.step = now.step;
    complete.phase = now.phase;
    // What is seen of a rank from outside belongs to no message: the attempt takes the generation's place.
    if (record.kind >= EventKind::kPhase) complete.generation = attempt_;
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
