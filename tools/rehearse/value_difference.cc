#include "tools/rehearse/value_difference.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/base/check.h"
#include "core/base/numbers.h"

namespace rehearse {
namespace {

std::string hex(std::uint64_t value, int digits) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text = "0x";
  for (int digit = digits - 1; digit >= 0; --digit) text += kDigits[(value >> (4 * digit)) & 15];
  return text;
}

// Floats in the order of their values, so that neighbours differ by one; -0 and +0 are one apart.
template <class Bits>
Bits ordered(Bits bits) {
  constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

template <class T, class Bits>
std::string value_text(Bits bits) {
  const T value = std::bit_cast<T>(bits);
  std::string number;
  if constexpr (std::is_integral_v<T>) {
    number = std::to_string(value);
  } else {
    number = shortest_text(value);
  }
  return number + " (" + hex(bits, static_cast<int>(sizeof(Bits)) * 2) + ")";
}

template <class T, class Bits>
std::string distance_text(Bits a, Bits b) {
  if constexpr (std::is_integral_v<T>) {
    return "";
  } else {
    if (std::isnan(std::bit_cast<T>(a)) || std::isnan(std::bit_cast<T>(b))) return "";
    const Bits one = ordered(a);
    const Bits other = ordered(b);
    const Bits distance = one > other ? one - other : other - one;
    return std::to_string(distance) + (distance == 1 ? " unit" : " units") + " in the last place";
  }
}

template <class T, class Bits>
std::optional<ValueDifference> compare(std::span<const std::byte> a, std::span<const std::byte> b) {
  std::optional<ValueDifference> found;
  for (std::size_t i = 0; i < a.size() / sizeof(T); ++i) {
    Bits one{};
    Bits other{};
    std::memcpy(&one, a.data() + i * sizeof(T), sizeof(T));
    std::memcpy(&other, b.data() + i * sizeof(T), sizeof(T));
    if (one == other) continue;
    if (!found) {
      found.emplace();
      found->index = static_cast<std::int64_t>(i);
      found->a = value_text<T>(one);
      found->b = value_text<T>(other);
      found->distance = distance_text<T>(one, other);
    }
    ++found->differing;
  }
  return found;
}

}  // namespace

std::optional<ValueDifference> first_value_difference(DType dtype, std::span<const std::byte> a,
                                                      std::span<const std::byte> b) {
  CHECK_EQ(a.size(), b.size());
  switch (dtype) {
    case DType::kFloat32:
      return compare<float, std::uint32_t>(a, b);
    case DType::kFloat64:
      return compare<double, std::uint64_t>(a, b);
    case DType::kInt32:
      return compare<std::int32_t, std::uint32_t>(a, b);
    case DType::kBFloat16:
    case DType::kFloat16:
      break;
  }
  check_failed(__FILE__, __LINE__, std::string("no file that is read has elements of ") + name_of(dtype));
}

std::string index_text(std::int64_t index, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = index % shape[d];
    index /= shape[d];
  }
  std::string text = "[";
  for (std::size_t d = 0; d < at.size(); ++d) text += (d > 0 ? ", " : "") + std::to_string(at[d]);
  return text + "]";
}

}  // namespace rehearse
