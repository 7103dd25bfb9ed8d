#include "sim/trace/record_comparison.h"

namespace rehearse {
namespace {

constexpr std::size_t kBefore = 10;

}  // namespace

void RecordComparison::on_record(const EventRecord& record) {
  if (difference_.has_value()) return;
  EventRecord expected;
  if (!expected_.next(expected)) {
    differ(std::nullopt, record);
    return;
  }
  if (expected != record) {
    differ(expected, record);
    return;
  }
  ++compared_;
  if (before_.size() == kBefore) before_.pop_front();
  before_.push_back(record);
}

void RecordComparison::finish() {
  if (difference_.has_value()) return;
  EventRecord expected;
  if (expected_.next(expected)) differ(expected, std::nullopt);
}

void RecordComparison::differ(std::optional<EventRecord> expected, std::optional<EventRecord> found) {
  difference_.emplace();
  difference_->index = compared_;
  difference_->expected = expected;
  difference_->found = found;
  difference_->before.assign(before_.begin(), before_.end());
  if (on_difference_) on_difference_();
}

std::optional<RecordDifference> first_difference(RecordSource& expected, RecordSource& found) {
  RecordComparison comparison(expected);
  EventRecord record;
  while (!comparison.difference().has_value() && found.next(record)) comparison.on_record(record);
  comparison.finish();
  return comparison.difference();
}

}  // namespace rehearse
