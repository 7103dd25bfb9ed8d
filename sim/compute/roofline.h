#pragma once

#include <cstdint>
#include <span>

#include "core/base/device_kernel.h"
#include "core/base/dtype.h"
#include "core/base/units.h"

namespace rehearse {

// A device whose kernels are bound by arithmetic or by memory (Williams et al., 2009), with the cost of launching them
// and with products that are computed in tiles. The time of a piece of work is, over its kernels,
//
//   sum of  launch_overhead + max(ceil(operations / rate), ceil(bytes / memory_bandwidth)),
//
// in whole picoseconds, each kernel rounded up. Of a kernel that goes element by element, operations are its own and
// the rate is the peak of its type. `count` products (m, k) by (k, n) are cut in tiles of a x b, lying or standing,
// whichever are fewer; `multiprocessors` U tiles are computed at the same time, and a wave of fewer takes as long:
//
//   waves      = ceil(count ceil(m / a) ceil(n / b) / U)
//   operations = 2 a b U waves (k + fill)
//   rate       = floor(peak efficiency)
//
// which is tile and wave quantisation as in NVIDIA's "Matrix Multiplication Background" (DU-09799-001, chapter 3); fill
// is what a tile's begin and end cost, so that efficiency saturates in k as k / (k + fill). With tiles of 1 x 1, one
// multiprocessor and no fill, operations are 2 m n k count.
struct Roofline {
  // Of the arithmetic types; 0 where the device has none of that type.
  FlopRate float32;
  FlopRate float64;
  FlopRate bfloat16;
  FlopRate float16;
  Bandwidth memory_bandwidth;
  Duration launch_overhead;
  // The part of the peak that a large product reaches in a full wave, in 1 / 10^9: above 0 and at most 10^9.
  std::int64_t efficiency_billionths = 1'000'000'000;
  std::int64_t multiprocessors = 1;
  std::int64_t tile_m = 1;
  std::int64_t tile_n = 1;
  std::int64_t fill = 0;

  // 0 where the device has none.
  FlopRate peak(DType dtype) const;
  // Throws InputError where the time leaves 64 bits. Requires a peak of the kernel's type, and a bandwidth.
  Duration time_of(const DeviceKernel& kernel) const;
  // Of all of them.
  Duration time_of(std::span<const DeviceKernel> kernels) const;
  // Of work that says only so much: one kernel, element by element in float32; none where both are 0.
  Duration time_of(Flops flops, Bytes bytes) const;
};

}  // namespace rehearse
