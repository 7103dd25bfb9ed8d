#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace rehearse {

// World ranks in the order of a group. Ranks that lie equally far apart, as those of the world and of the dimensions of
// a layout do, take no memory of their own: 16,384 ranks hold the world as so many groups of it.
class GroupRanks {
 public:
  // Any ranks, in this order.
  GroupRanks(std::vector<int> ranks)  // NOLINT: converts on purpose, a list of ranks is what a group is
      : count_(static_cast<int>(ranks.size())) {
    if (ranks.empty()) return;
    first_ = ranks.front();
    stride_ = count_ > 1 ? ranks[1] - ranks[0] : 1;
    for (int i = 0; i < count_; ++i) {
      if (ranks[static_cast<std::size_t>(i)] == first_ + i * stride_) continue;
      list_ = std::make_shared<const std::vector<int>>(std::move(ranks));
      return;
    }
  }
  // first, first + stride, first + 2 stride, ...
  static GroupRanks every(int first, int stride, int count) {
    GroupRanks ranks{std::vector<int>()};
    ranks.first_ = first;
    ranks.stride_ = stride;
    ranks.count_ = count;
    return ranks;
  }

  int size() const { return count_; }
  int operator[](int index) const {
    return list_ == nullptr ? first_ + index * stride_ : (*list_)[static_cast<std::size_t>(index)];
  }
  friend bool operator==(const GroupRanks& a, const GroupRanks& b) {
    if (a.count_ != b.count_) return false;
    for (int i = 0; i < a.count_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  int first_ = 0;
  int stride_ = 1;
  int count_ = 0;
  std::shared_ptr<const std::vector<int>> list_;  // where they lie otherwise
};

// Ranks that communicate, in a fixed order; the world is one. `generation` counts restarts of the job: a message of an
// older generation reaches nobody.
struct Group {
  Group(std::uint32_t group_id, std::uint32_t group_generation, GroupRanks world_ranks, int own_index)
      : id(group_id), generation(group_generation), rank(own_index), ranks(std::move(world_ranks)) {}

  int size() const { return ranks.size(); }
  // The world rank of group rank `index`.
  int world_rank(int index) const { return ranks[index]; }

  std::uint32_t id;
  std::uint32_t generation;
  int rank;          // this rank's index in `ranks`
  GroupRanks ranks;  // world ranks in group order
};

}  // namespace rehearse
