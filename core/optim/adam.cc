#include "core/optim/adam.h"

#include <cmath>

#include "core/base/check.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/simd.h"

namespace rehearse {

double power(double base, std::int64_t exponent) {
  CHECK_GE(exponent, 0);
  double result = 1;
  for (double square = base; exponent > 0; exponent >>= 1, square *= square) {
    if (exponent % 2 == 1) result *= square;
  }
  return result;
}

template <class T>
void adam_update(const AdamStep& step, std::span<T> p, std::span<T> m, std::span<T> v, std::span<const T> g,
                 std::span<const DecayRange> decay) {
  using simd::V;
  constexpr std::int64_t kLanes = simd::kLanes<T>;
  const AdamConfig& c = step.config;
  const auto n = static_cast<std::int64_t>(p.size());
  CHECK_GE(step.applied_step, 1);
  CHECK(m.size() == p.size() && v.size() == p.size() && g.size() == p.size());

  if (c.weight_decay != 0) {
    const T shrink = static_cast<T>(1.0 - step.lr * c.weight_decay);
    std::int64_t end = 0;
    for (const DecayRange& range : decay) {
      CHECK_GE(range.offset, end);
      CHECK_GE(range.count, 0);
      end = range.offset + range.count;
      CHECK_LE(end, n);
      if (range.decays) scale_in_place(range.count, p.data() + range.offset, shrink);
    }
  }

  const V<T> beta1 = simd::broadcast<T>(static_cast<T>(c.beta1));
  const V<T> beta2 = simd::broadcast<T>(static_cast<T>(c.beta2));
  const V<T> rest1 = simd::broadcast<T>(static_cast<T>(1.0 - c.beta1));
  const V<T> rest2 = simd::broadcast<T>(static_cast<T>(1.0 - c.beta2));
  const V<T> eps = simd::broadcast<T>(static_cast<T>(c.eps));
  const V<T> step_size = simd::broadcast<T>(static_cast<T>(step.lr / (1.0 - power(c.beta1, step.applied_step))));
  const V<T> correction2 = simd::broadcast<T>(static_cast<T>(std::sqrt(1.0 - power(c.beta2, step.applied_step))));

  const auto update = [&](V<T>& pi, V<T>& mi, V<T>& vi, V<T> gi) {
    mi = beta1 * mi + rest1 * gi;
    vi = beta2 * vi + rest2 * gi * gi;
    pi = pi - step_size * mi / (simd::sqrt(vi) / correction2 + eps);
  };
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    V<T> pi = simd::load(&p[static_cast<std::size_t>(i)]);
    V<T> mi = simd::load(&m[static_cast<std::size_t>(i)]);
    V<T> vi = simd::load(&v[static_cast<std::size_t>(i)]);
    update(pi, mi, vi, simd::load(&g[static_cast<std::size_t>(i)]));
    simd::store(&p[static_cast<std::size_t>(i)], pi);
    simd::store(&m[static_cast<std::size_t>(i)], mi);
    simd::store(&v[static_cast<std::size_t>(i)], vi);
  }
  if (i < n) {
    const __m256i mask = simd::first_lanes<T>(n - i);
    V<T> pi = simd::load(&p[static_cast<std::size_t>(i)], mask);
    V<T> mi = simd::load(&m[static_cast<std::size_t>(i)], mask);
    V<T> vi = simd::load(&v[static_cast<std::size_t>(i)], mask);
    update(pi, mi, vi, simd::load(&g[static_cast<std::size_t>(i)], mask));
    simd::store(&p[static_cast<std::size_t>(i)], mask, pi);
    simd::store(&m[static_cast<std::size_t>(i)], mask, mi);
    simd::store(&v[static_cast<std::size_t>(i)], mask, vi);
  }
}

template void adam_update(const AdamStep&, std::span<float>, std::span<float>, std::span<float>, std::span<const float>,
                          std::span<const DecayRange>);
template void adam_update(const AdamStep&, std::span<double>, std::span<double>, std::span<double>,
                          std::span<const double>, std::span<const DecayRange>);

}  // namespace rehearse
