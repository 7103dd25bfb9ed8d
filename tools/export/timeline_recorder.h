#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/kernel/activity_listener.h"
#include "tools/export/timeline.h"

namespace rehearse {

// Makes a Timeline of a run that it hears as EventListener and as ActivityListener. Memory is bounded: when `most`
// slices are held, every second step that is held is given up, and so on; a single step that is larger is cut, and
// Timeline::dropped counts what is missing. The same run gives the same timeline.
class TimelineRecorder : public EventListener, public ActivityListener {
 public:
  static constexpr std::size_t kMost = 300'000;

  // The scenario outlives the recorder. Without `steps` all are shown.
  TimelineRecorder(const Scenario& scenario, std::optional<StepRange> steps, std::size_t most = kMost);

  void on_record(const EventRecord& record) override;
  void on_network(const Network& network) override;
  void on_operation(const PendingOp& op, TimePoint now, bool failed) override;
  void on_sent(const EventRecord& message, TimePoint now, TimePoint left) override;
  void on_collective_begin(int rank, const Call& call, Bytes size, TimePoint now) override;
  void on_collective_end(int rank, const Call& call, TimePoint now) override;

  // From TrainingHooks, as they come.
  void on_step(const StepRecord& step);
  void on_checkpoint(const CheckpointRecord& checkpoint);
  // The run is over.
  Timeline finish(const TrainingRecord& record);

 private:
  // What matches a message's delivery with its sending.
  struct MessageKey {
    int source;
    int destination;
    std::uint32_t group;
    std::uint32_t generation;
    std::uint64_t call;
    auto operator<=>(const MessageKey&) const = default;
  };
  struct CallKey {
    std::uint32_t group;
    std::uint32_t generation;
    std::uint64_t call;
    auto operator<=>(const CallKey&) const = default;
  };
  struct RankState {
    std::optional<Slice> phase;
    std::array<TimePoint, kStreams> stream_free;
    std::map<CallKey, Slice> collectives;
    std::int64_t step = 0;
    Bytes sent;  // so far
  };
  static MessageKey key_of(const EventRecord& message);
  RankState& state(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  bool shows(std::int64_t step) const;
  void keep(const Slice& slice);
  void thin_out();
  void close(int rank, TimePoint now, bool cut);
  void close_all(TimePoint now);
  void on_delivery(const EventRecord& record);
  void count_in_flight(TimePoint now, std::int64_t step);
  void record_links(TimePoint now, std::int64_t step);
  void point(TimePoint time, std::uint32_t counter, double value, std::int64_t step);

  const Scenario& scenario_;
  std::optional<StepRange> steps_;
  std::size_t most_;
  const Network* network_ = nullptr;
  Timeline timeline_;
  std::vector<RankState> ranks_;
  std::map<MessageKey, std::deque<Slice>> under_way_;
  std::int64_t in_flight_ = 0;
  std::int32_t arrows_ = 0;
  TimePoint now_;
  TimePoint links_since_;
  std::vector<Bytes> link_bytes_;              // by link, when the last step ended
  std::map<std::int64_t, Duration> standing_;  // steps that were not undone
  Duration trained_;                           // in them
};

}  // namespace rehearse
