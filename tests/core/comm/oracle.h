#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/base/random.h"

namespace rehearse {

// One vector per group rank.
template <class T>
using PerRank = std::vector<std::vector<T>>;

// Numbers of very different sizes and both signs, so that another order of summation gives other bits.
template <class T>
PerRank<T> uneven_values(std::uint64_t seed, int ranks, std::int64_t count) {
  PerRank<T> all;
  for (int rank = 0; rank < ranks; ++rank) {
    RandomStream stream = RandomStream(seed).fork(static_cast<std::uint64_t>(rank));
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i) {
      const int exponent = static_cast<int>(stream.below(40)) - 20;
      values.push_back(static_cast<T>(std::ldexp(2 * stream.uniform() - 1, exponent)));
    }
    all.push_back(std::move(values));
  }
  return all;
}

// Whose chunk element i of `count` is, found by counting: `size` chunks, the first (count mod size) one element longer.
inline int owner_of(std::int64_t i, std::int64_t count, int size) {
  std::int64_t end = 0;
  for (int r = 0;; ++r) {
    end += count / size;
    if (r < count % size) ++end;
    if (i < end) return r;
  }
}

inline std::int64_t elements_of(int r, std::int64_t count, int size) {
  std::int64_t elements = 0;
  for (std::int64_t i = 0; i < count; ++i) elements += owner_of(i, count, size) == r ? 1 : 0;
  return elements;
}

// The documented order: an element of chunk r is ((x[r+1] + x[r+2]) + ...) + x[r].
template <class T>
std::vector<T> ring_sum(const PerRank<T>& x) {
  const int size = static_cast<int>(x.size());
  const auto count = static_cast<std::int64_t>(x[0].size());
  std::vector<T> sums;
  for (std::int64_t i = 0; i < count; ++i) {
    const int r = owner_of(i, count, size);
    T sum = x[static_cast<std::size_t>((r + 1) % size)][static_cast<std::size_t>(i)];
    for (int k = 2; k <= size; ++k)
      sum = sum + x[static_cast<std::size_t>((r + k) % size)][static_cast<std::size_t>(i)];
    sums.push_back(sum);
  }
  return sums;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// The element counts that collectives are tested with on `size` ranks.
inline std::vector<std::int64_t> counts_for(int size) { return {0, 1, 2, size - 1, size, size + 1, 97, 1000}; }

inline int floor_log2(int n) { return n < 2 ? 0 : 1 + floor_log2(n / 2); }
inline int ceil_log2(int n) { return n < 2 ? 0 : 1 + ceil_log2((n + 1) / 2); }

}  // namespace rehearse
