#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace rehearse {

enum class NetworkFaultKind : std::uint8_t {
  kLinkDown,
  kPartition,
  kBandwidth,
  kLatency,
  kLoss,
  kDuplicate,
  kReorder,
  kDelay,
  kCorrupt,
};
inline constexpr int kNetworkFaultKinds = 9;
// The field of `faults` that it is.
const char* name_of(NetworkFaultKind kind);

inline constexpr int kAnyRank = -1;
inline constexpr std::int64_t kWholePpb = 1'000'000'000;

// The links that a fault is about: from a rank to a rank, or from one set of ranks to another.
struct LinkChoice {
  int from = kAnyRank;
  int to = kAnyRank;
  std::vector<int> from_set;  // where not empty, instead of the two, with to_set
  std::vector<int> to_set;
  bool both_ways = false;
  bool has(int source, int destination) const;
};

// When a fault is in force. A step begins when the first rank begins it, for the first time in the run.
struct FaultWindow {
  std::optional<TimePoint> from_time;
  std::optional<TimePoint> until_time;
  std::int64_t from_step = 0;  // from the start
  std::optional<std::int64_t> until_step;
  bool has_time() const { return from_time.has_value() || until_time.has_value(); }
};

enum class PacketChoice : std::uint8_t { kMessages, kAcks, kAll };

// Which of the packets on its links a fault strikes: from the first-th that it sees while it is in force on, each with
// a probability, and so many at most.
struct StrikeRule {
  PacketChoice of = PacketChoice::kAll;
  std::int64_t first = 1;
  std::optional<std::int64_t> probability_ppb;  // in billionths; left out: every one
  std::optional<std::int64_t> count;            // left out: without end
};

// A link that fails, or a rule on the messages that go over it.
struct NetworkFault {
  NetworkFaultKind kind = NetworkFaultKind::kLoss;
  int index = 0;  // among those of its kind, in the order of the scenario: its random stream
  LinkChoice links;
  FaultWindow window;
  StrikeRule strikes;                      // kLoss and what follows
  std::int64_t bandwidth_ppb = kWholePpb;  // kBandwidth
  Duration by;                             // kLatency, kDelay, kReorder: so much later; kDuplicate: the copy
  Duration jitter;                         // kLatency: and up to so much, at random

  bool strikes_single_messages() const { return kind >= NetworkFaultKind::kLoss; }
  // Whether it strikes few enough messages for each to be told.
  bool is_told_by_message() const;
  // Whether the network does not keep what is sent and its order, so that a transport must.
  bool needs_transport() const;
};

// What a fault is about in words: "link 1 -> 2", "every link".
std::string text_of(const LinkChoice& links);

// What of the network fails in a run, decided before it starts.
struct NetworkFaultPlan {
  std::vector<NetworkFault> faults;
  bool empty() const { return faults.empty(); }
  bool needs_transport() const;
};

}  // namespace rehearse
