#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sim/kernel/activity_listener.h"

namespace rehearse {

// What a rank's time went into; the parts add up to the whole.
struct TimeSplit {
  Duration computing;   // the device works, and nothing is communicated
  Duration overlapped;  // the device works while the rank is in a collective
  Duration exposed;     // the rank is in a collective that all its ranks have come to, and the device idles
  Duration waiting;     // the same, but some rank has not come to it
  Duration other;       // neither: storage, and whatever is between

  Duration whole() const { return computing + overlapped + exposed + waiting + other; }
  TimeSplit& operator+=(const TimeSplit& more);
};

// Calls of steps that are alike: of one operation, in one phase, on buffers of one size.
struct CallRow {
  Operation operation = Operation::kPointToPoint;
  Phase phase = Phase::kStart;
  bool of_model = false;       // on a unit of the model's state
  std::int64_t elements = -1;  // of the whole buffer; -1 where ranks may differ
  DType dtype = DType::kFloat32;
  Bytes size;
  // Over all steps.
  std::int64_t calls = 0;
  Duration late;  // from the first rank's coming to the last one's
  Duration time;  // from the last rank's coming to the last one's end
  Duration shortest;
  Duration longest;
};

// A piece of the critical path: what held up the end of a step.
struct PathPiece {
  enum class Kind : std::uint8_t { kCompute, kCollective, kOther };
  Kind kind = Kind::kOther;
  int rank = 0;  // whose work it was; of a collective, the rank that it ended on
  Operation operation = Operation::kPointToPoint;
  Duration time;
};

// Adds up what the steps of a run take, from outside. A rank's step lasts from its first phase to the first phase of
// its next step, or the end: so a save or a held-out loss after a step is of it. A step counts when all ranks have
// ended it; steps that a restart cut short do not. What comes before step 1 is left out.
class StepCosts : public ActivityListener {
 public:
  explicit StepCosts(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  // Called when a rank begins the first of all steps.
  void set_begin_listener(std::function<void()> listener) { on_begin_ = std::move(listener); }
  // Called when all ranks have ended a step.
  void set_step_listener(std::function<void(std::int64_t step)> listener) { on_step_ = std::move(listener); }

  bool hears_operations() const override { return false; }
  void on_phase(int rank, std::int64_t step, Phase phase, TimePoint now) override;
  void on_collective_begin(int rank, const Call& call, Bytes size, TimePoint now) override;
  void on_collective_end(int rank, const Call& call, TimePoint now) override;
  void on_compute(int rank, TimePoint begin, TimePoint end) override;
  void on_restart(int ranks, TimePoint now) override;

  // Steps that counted; a step that was done twice counts twice.
  std::int64_t steps() const { return steps_; }
  // Of all ranks in all those steps, and how many such ranks' steps that are.
  const TimeSplit& split() const { return split_; }
  std::int64_t rank_steps() const { return rank_steps_; }
  // From the first rank's beginning to the last one's end.
  Duration shortest_step() const { return shortest_step_; }
  Duration longest_step() const { return longest_step_; }
  // In the order in which they first came.
  const std::vector<CallRow>& rows() const { return rows_; }

  // Of the last step that counted, backwards in time from its last rank's end to the beginning of the rank that the
  // path comes from. Where a collective ends the path goes on with the rank that came to it last: right for
  // collectives whose every rank waits for all others, and an upper bound for the others.
  const std::vector<PathPiece>& critical_path() const { return path_; }
  std::int64_t path_step() const { return path_step_; }

 private:
  struct CallKey {
    std::uint32_t group_id = 0;
    std::uint64_t sequence = 0;
    auto operator<=>(const CallKey&) const = default;
  };
  struct CallTimes {
    std::size_t row = 0;
    int size = 0;  // of the group
    int begun = 0;
    int ended = 0;
    TimePoint first_begin;
    TimePoint last_begin;
    int last_rank = 0;  // that came
    TimePoint last_end;
  };
  // A stretch of a rank's time.
  struct Stretch {
    TimePoint begin;
    TimePoint end;
    bool is_call = false;
    CallKey call;
  };
  struct RankStep {
    TimePoint begin;
    TimePoint end;
    std::vector<Stretch> stretches;
  };
  struct OpenStep {
    std::vector<RankStep> ranks;
    std::size_t ended = 0;
    std::map<CallKey, CallTimes> calls;
  };
  struct OpenCall {
    CallKey key;
    TimePoint begin;
    std::int64_t step = 0;
  };
  struct Rank {
    std::int64_t step = 0;
    Phase phase = Phase::kStart;
    std::vector<OpenCall> calls;
  };

  Rank& rank_of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  OpenStep& open(std::int64_t step);
  std::size_t row_of(const Call& call, Phase phase, Bytes size);
  void end_step(int rank, TimePoint now);
  void count(std::int64_t step, OpenStep& open);
  static TimeSplit split_of(const RankStep& rank, const OpenStep& open);
  void find_path(const OpenStep& open);

  std::vector<Rank> ranks_;
  std::map<std::int64_t, OpenStep> open_;
  std::function<void()> on_begin_;
  std::function<void(std::int64_t)> on_step_;
  std::int64_t steps_ = 0;
  std::int64_t rank_steps_ = 0;
  TimeSplit split_;
  Duration shortest_step_;
  Duration longest_step_;
  std::vector<CallRow> rows_;
  std::vector<PathPiece> path_;
  std::int64_t path_step_ = 0;
};

}  // namespace rehearse
