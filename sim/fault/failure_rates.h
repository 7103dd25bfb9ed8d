#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"

namespace rehearse {

// How a failure of a node shows: a process ends, which its peers notice; the host is gone without a word; or a rank
// stops and lives on.
enum class FailureKind : std::uint8_t { kProcess, kHost, kHang };

// One of the reasons for failures, with its share of them: weight / sum of all weights.
struct FailureCause {
  std::string words;  // "GPU HBM3 memory"; empty where there is no more to say than the kind
  FailureKind kind = FailureKind::kProcess;
  std::int64_t weight = 1;
};

// "process crash", "host loss", "hang"
const char* name_of(FailureKind kind);

// A node that fails so many times as often as the others. A job that has fewer ranks than planned may not have it.
struct LemonNode {
  int node = 0;
  double factor = 1;
};

// Nodes that fail at random: each of its own, at a constant rate (a Poisson process), so that the time from one failure
// of a node to the next is exponential. Inside a window of the simulation's time alone, where it has one.
struct FailureRate {
  double per_node_day = 0;
  int ranks_per_node = 8;  // the last node may have fewer
  std::vector<FailureCause> causes;
  std::vector<LemonNode> lemons;
  TimePoint from;
  std::optional<TimePoint> until;

  bool has_window() const { return from > TimePoint() || until.has_value(); }
};

// One failure: of a node, at a time, in one of its ranks.
struct DrawnFailure {
  TimePoint time;
  int node = 0;
  std::int64_t number = 0;  // of the node's failures, from 0
  int rank = 0;
  std::size_t cause = 0;  // index in the rate's causes
};

// The failures of a rate, drawn one by one: each is a pure function of the stream, the node and its number, so that
// nobody's order of asking matters. Logarithms are ours, times whole picoseconds: every machine draws the same.
class FailureDraws {
 public:
  FailureDraws(const FailureRate& rate, int ranks, const RandomStream& stream);

  int nodes() const { return nodes_; }
  // The node's failure `number` where the one before was at `previous`, or where it is the first and `previous` is not
  // looked at. Nothing where it comes after the window or after the end of virtual time; no later one comes then.
  std::optional<DrawnFailure> draw(int node, std::int64_t number, TimePoint previous) const;

 private:
  double mean_gap_ps(int node) const;

  FailureRate rate_;
  int ranks_;
  int nodes_;
  RandomStream stream_;
  std::int64_t weights_ = 0;
};

// How many nodes a rate has where there are so many ranks.
int nodes_of(const FailureRate& rate, int ranks);

// The mean time between failures of a job on so many ranks, in seconds: one over the sum of its nodes' rates. (A small
// job's is beyond what virtual time holds.) Nothing where there are no rates, or one has a window.
std::optional<double> mean_seconds_between_failures(const std::vector<FailureRate>& rates, int ranks);

}  // namespace rehearse
