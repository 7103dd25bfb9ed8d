#pragma once

#include <cstdint>

#include "core/base/check.h"

namespace rehearse {

// Element types of buffers and tensor files. The two of 16 bits are types of sizes and times alone: nothing computes
// with them yet, so that only buffers without elements (cost-only mode) have them.
enum class DType : std::uint8_t { kFloat32, kFloat64, kInt32, kBFloat16, kFloat16 };

constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 4;
    case DType::kFloat64:
      return 8;
    case DType::kInt32:
      return 4;
    case DType::kBFloat16:
    case DType::kFloat16:
      return 2;
  }
  check_failed(__FILE__, __LINE__, "unknown dtype");
}

// The name safetensors gives it.
constexpr const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "F32";
    case DType::kFloat64:
      return "F64";
    case DType::kInt32:
      return "I32";
    case DType::kBFloat16:
      return "BF16";
    case DType::kFloat16:
      return "F16";
  }
  check_failed(__FILE__, __LINE__, "unknown dtype");
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace rehearse
