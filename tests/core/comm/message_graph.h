#pragma once

#include <cstdint>
#include <vector>

#include "sim/net/config.h"

namespace rehearse {

// Who sends how much to whom and after what: an independent evaluator of how long a collective takes on a switch. A
// rank has lanes, which are lists of steps; a step sends a message, takes one, or both at once, and begins when the one
// before it in its lane is done. Times follow from two rules alone: a port carries one message at a time, each way, in
// the order they come; a first byte needs alpha from port to port. So without contention a rank is done at the end of
// the longest path of messages to it.
class MessageGraph {
 public:
  explicit MessageGraph(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  // The next step of the rank's lane. Messages are matched by (from, to, channel), in order.
  void exchange(int rank, int to, std::int64_t bytes, int from, int channel = 0, int lane = 0);
  void send(int rank, int to, std::int64_t bytes, int channel = 0, int lane = 0);
  void take(int rank, int from, int channel = 0, int lane = 0);

  // Which of two things that happen at the same moment comes first: the one that was settled earlier, or later. Where
  // both give the same times, the two rules alone settle them.
  enum class Ties : std::uint8_t { kEarlierFirst, kLaterFirst };
  // When each rank is done with all of its steps. Fails the test if some step never is.
  std::vector<Duration> finished(const NetworkConfig& network, Ties ties = Ties::kEarlierFirst) const;

  // Whether all steps end on a network where a message only leaves once its receiver takes it.
  bool ends_where_sends_wait() const;

  struct Traffic {
    std::int64_t messages_sent = 0;
    std::int64_t bytes_sent = 0;
    std::int64_t messages_received = 0;
    std::int64_t bytes_received = 0;
  };
  std::vector<Traffic> traffic() const;

 private:
  struct Step {
    int to = -1;  // -1: sends nothing
    std::int64_t bytes = 0;
    int from = -1;  // -1: takes nothing
    int channel = 0;
  };
  using Lane = std::vector<Step>;
  class Evaluation;

  void add(int rank, int lane, Step step);

  std::vector<std::vector<Lane>> ranks_;
};

}  // namespace rehearse
