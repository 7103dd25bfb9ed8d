#pragma once

#include <cstdint>
#include <vector>

namespace rehearse {

// Ranks that communicate, in a fixed order; the world is one. `generation` counts restarts of the job: a message of an
// older generation reaches nobody.
struct Group {
  Group(std::uint32_t group_id, std::uint32_t group_generation, std::vector<int> world_ranks, int own_index)
      : id(group_id), generation(group_generation), ranks(std::move(world_ranks)), rank(own_index) {}

  int size() const { return static_cast<int>(ranks.size()); }
  // The world rank of group rank `index`.
  int world_rank(int index) const { return ranks[static_cast<std::size_t>(index)]; }

  std::uint32_t id;
  std::uint32_t generation;
  std::vector<int> ranks;  // world ranks in group order
  int rank;                // this rank's index in `ranks`
};

}  // namespace rehearse
