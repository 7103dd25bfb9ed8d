#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/comm/algorithms.h"
#include "tests/core/comm/oracle.h"

namespace rehearse {

// In which order an element's numbers are added, as its algorithm's header says it: group ranks, and kAdd for the sum
// of the two before it, the left operand first.
using SumOrder = std::vector<int>;
inline constexpr int kAdd = -1;

// "((x0 + x1) + x2)".
std::string text_of(const SumOrder& order);

// The order of each of `count` elements.
std::vector<SumOrder> orders_of(AllReduceAlgorithm algorithm, int ranks, std::int64_t count,
                                const AlgorithmOptions& options);
std::vector<SumOrder> orders_of(ReduceScatterAlgorithm algorithm, int ranks, std::int64_t count);
SumOrder order_of(ReduceAlgorithm algorithm, int ranks, int root);

template <class T>
T sum_in_order(const SumOrder& order, const PerRank<T>& x, std::int64_t element) {
  std::vector<T> stack;
  for (const int what : order) {
    if (what == kAdd) {
      const T right = stack.back();
      stack.pop_back();
      stack.back() = stack.back() + right;
    } else {
      stack.push_back(x[static_cast<std::size_t>(what)][static_cast<std::size_t>(element)]);
    }
  }
  return stack.back();
}

template <class T>
std::vector<T> sums_in_order(const std::vector<SumOrder>& orders, const PerRank<T>& x) {
  std::vector<T> sums;
  for (std::size_t i = 0; i < x[0].size(); ++i) {
    sums.push_back(sum_in_order(orders[i], x, static_cast<std::int64_t>(i)));
  }
  return sums;
}

}  // namespace rehearse
