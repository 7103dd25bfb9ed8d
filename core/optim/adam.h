#pragma once

#include <cstdint>
#include <span>

#include "core/optim/config.h"

namespace rehearse {

// What one update needs besides the arrays.
struct AdamStep {
  AdamConfig config;
  double lr = 0;                  // of this step, schedule and spike in it
  std::int64_t applied_step = 0;  // t, from 1
};

// Elements [offset, offset + count) of the shard, and whether weight decay shrinks them.
struct DecayRange {
  std::int64_t offset = 0;
  std::int64_t count = 0;
  bool decays = false;
};

// base^exponent for exponent >= 0 by repeated squaring, from the lowest bit up: a pure function of its arguments, where
// libm's pow may differ between CPUs.
double power(double base, std::int64_t exponent);

// Adam (Kingma & Ba, arXiv:1412.6980) or, with weight decay, AdamW (Loshchilov & Hutter, arXiv:1711.05101) on one shard
// of master weights p, moments m and v, and gradient g, all of equal size:
//   p = p (1 - lr wd) where it decays;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g g
//   p = p - lr/(1 - b1^t) m / (sqrt(v)/sqrt(1 - b2^t) + eps)
// Scalars are made in double and rounded once to T. Each element on its own: any cut into shards gives the same bits.
// `decay` lists ranges in ascending order without overlap; elements in none do not decay. Without weight decay it is
// not read and may be empty.
template <class T>
void adam_update(const AdamStep& step, std::span<T> p, std::span<T> m, std::span<T> v, std::span<const T> g,
                 std::span<const DecayRange> decay);

}  // namespace rehearse
