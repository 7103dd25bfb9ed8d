#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "sim/trace/log_reader.h"

namespace rehearse {

// Where two sequences of records part.
struct RecordDifference {
  std::uint64_t index = 0;              // of the record, from 0
  std::optional<EventRecord> expected;  // none: the expected sequence has ended
  std::optional<EventRecord> found;     // none: the other one has
  std::vector<EventRecord> before;      // up to ten equal records that came before, oldest first
};

// Compares the records it hears with those of a source, one by one, up to the first that differs.
class RecordComparison : public EventListener {
 public:
  // `on_difference` is called at once when the first difference is found; what it throws leaves through on_record.
  explicit RecordComparison(RecordSource& expected, std::function<void()> on_difference = {})
      : expected_(expected), on_difference_(std::move(on_difference)) {}

  void on_record(const EventRecord& record) override;
  // The run has ended: nothing more is expected either.
  void finish();
  const std::optional<RecordDifference>& difference() const { return difference_; }
  std::uint64_t compared() const { return compared_; }

 private:
  void differ(std::optional<EventRecord> expected, std::optional<EventRecord> found);

  RecordSource& expected_;
  std::function<void()> on_difference_;
  std::deque<EventRecord> before_;
  std::uint64_t compared_ = 0;
  std::optional<RecordDifference> difference_;
};

// The first difference of two sources.
std::optional<RecordDifference> first_difference(RecordSource& expected, RecordSource& found);

// Records that one run has made and another has yet to be compared with.
class RecordQueue : public EventListener, public RecordSource {
 public:
  void on_record(const EventRecord& record) override {
    if (!closed_) records_.push_back(record);
  }
  // Nobody compares any more.
  void close() {
    closed_ = true;
    records_.clear();
  }
  bool next(EventRecord& record) override {
    if (records_.empty()) return false;
    record = records_.front();
    records_.pop_front();
    return true;
  }

 private:
  std::deque<EventRecord> records_;
  bool closed_ = false;
};

}  // namespace rehearse
