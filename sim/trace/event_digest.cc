#include "sim/trace/event_digest.h"

#include <span>

namespace rehearse {

void EventDigest::on_record(const EventRecord& record) {
  waiting_[waiting_count_++] = record;
  ++records_;
  if (waiting_count_ == waiting_.size()) flush();
  if (records_ % kRecordsPerBlock == 0) end_block();
}

void EventDigest::flush() {
  block_.update(std::as_bytes(std::span(waiting_.data(), waiting_count_)));
  waiting_count_ = 0;
}

void EventDigest::end_block() {
  flush();
  const Digest128 digest = block_.finish();
  blocks_.update(std::as_bytes(std::span(&digest, 1)));
}

std::string EventDigest::finish() {
  if (records_ % kRecordsPerBlock != 0) end_block();
  return blocks_.finish_hex();
}

}  // namespace rehearse
