#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"

namespace rehearse {

// Makes messages of one source and destination arrive in the order they were sent, whatever they take by themselves,
// with a seeded uniform draw from [0, jitter] added to each, from a stream of its source.
class PairOrder {
 public:
  // `stream` is the network's.
  PairOrder(Duration jitter, int ranks, const RandomStream& stream) : jitter_(jitter) {
    if (jitter == Duration()) return;
    const RandomStream draws = stream.fork("jitter");
    for (int rank = 0; rank < ranks; ++rank) draws_.push_back(draws.fork(static_cast<std::uint64_t>(rank)));
  }

  bool is_exact() const { return draws_.empty(); }

  // The next draw of the source.
  Duration draw(int source) {
    if (draws_.empty()) return Duration();
    const auto bound = static_cast<std::uint64_t>(jitter_.ps()) + 1;
    return Duration::picoseconds(static_cast<std::int64_t>(draws_[static_cast<std::size_t>(source)].below(bound)));
  }

  // When a message arrives that would by itself at `arrival`. Of each pair the latest arrival is kept until it is past.
  TimePoint in_order(int source, int destination, TimePoint arrival, TimePoint now) {
    const auto [last, is_new] = last_.try_emplace({source, destination}, arrival);
    if (!is_new) last->second = std::max(last->second, arrival);
    const TimePoint result = last->second;
    if (last_.size() >= 2 * kept_ + 1024) {
      std::erase_if(last_, [now](const auto& entry) { return entry.second <= now; });
      kept_ = last_.size();
    }
    return result;
  }

 private:
  Duration jitter_;
  std::vector<RandomStream> draws_;
  std::map<std::pair<int, int>, TimePoint> last_;
  std::size_t kept_ = 0;
};

}  // namespace rehearse
