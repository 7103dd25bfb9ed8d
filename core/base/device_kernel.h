#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/base/units.h"

namespace rehearse {

// One launch on a device: matrix products of one shape, or something that goes element by element.
struct DeviceKernel {
  // `count` independent products of a matrix (m, k) by one (k, n). m is 0 where it goes element by element.
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t count = 1;
  Flops flops;                    // 2 m n k count for products
  Bytes bytes;                    // read and written in the device's memory, each array once
  DType dtype = DType::kFloat32;  // of the arithmetic

  bool is_product() const { return m > 0; }
};

}  // namespace rehearse
