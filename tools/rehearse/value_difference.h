#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/dtype.h"

namespace rehearse {

// The first element in which two arrays of equal size differ, bit for bit.
struct ValueDifference {
  std::int64_t index = 0;
  std::string a;  // "0.125 (0x3e000000)"
  std::string b;
  std::string distance;        // "1 unit in the last place"; empty where that has no meaning
  std::int64_t differing = 0;  // elements in all
};

// None where all bits are equal. Both hold whole elements of the type, as many.
std::optional<ValueDifference> first_value_difference(DType dtype, std::span<const std::byte> a,
                                                      std::span<const std::byte> b);

// "[3, 5]" for an element of a tensor of that shape, in row-major order.
std::string index_text(std::int64_t index, std::span<const std::int64_t> shape);

}  // namespace rehearse
