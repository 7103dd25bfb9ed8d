#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

namespace rehearse {

// Spreads what overlaps over lanes: two slices of one track and lane never share a moment in which both last.
// `track_of` gives a slice's track as a number; `lanes` gets each slice's lane, from 0. Slices have `begin` and `end`.
template <class Slice, class TrackOf>
void assign_lanes(const std::vector<Slice>& slices, std::vector<int>& lanes, const TrackOf& track_of) {
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return slices[a].begin < slices[b].begin; });
  std::map<std::int64_t, std::vector<std::int64_t>> free_from;  // by track and lane, in picoseconds
  lanes.assign(slices.size(), 0);
  for (const std::size_t index : order) {
    const Slice& slice = slices[index];
    auto& free = free_from[track_of(slice)];
    const auto lane =
        std::find_if(free.begin(), free.end(), [&](std::int64_t from) { return from <= slice.begin.ps(); });
    lanes[index] = static_cast<int>(lane - free.begin());
    if (lane == free.end()) {
      free.push_back(slice.end.ps());
    } else {
      *lane = slice.end.ps();
    }
  }
}

}  // namespace rehearse
