#include "core/tensor/elementwise.h"

#include "core/base/check.h"

namespace rehearse {

template <class T>
void add_in_place(std::int64_t n, T* dst, const T* src) {
  for (std::int64_t i = 0; i < n; ++i) dst[i] = dst[i] + src[i];
}

void add_in_place(BufferView dst, BufferView src) {
  CHECK(dst.dtype == src.dtype);
  CHECK_EQ(dst.count, src.count);
  if (dst.count == 0) return;
  CHECK(dst.has_elements() && src.has_elements());
  switch (dst.dtype) {
    case DType::kFloat32:
      add_in_place(dst.count, reinterpret_cast<float*>(dst.data), reinterpret_cast<const float*>(src.data));
      return;
    case DType::kFloat64:
      add_in_place(dst.count, reinterpret_cast<double*>(dst.data), reinterpret_cast<const double*>(src.data));
      return;
    case DType::kInt32:
    case DType::kBFloat16:
    case DType::kFloat16:
      break;
  }
  check_failed(__FILE__, __LINE__, std::string("no addition for ") + name_of(dst.dtype));
}

template <class T>
void scale_in_place(std::int64_t n, T* x, T factor) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] * factor;
}

template <class T>
void divide_in_place(std::int64_t n, T* x, T divisor) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] / divisor;
}

template <class T>
void multiply_in_place(std::int64_t n, T* x, const T* y) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] * y[i];
}

template <class T>
void axpy(std::int64_t n, T a, const T* x, T* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = y[i] + a * x[i];
}

#define REHEARSE_INSTANTIATE(T)                                \
  template void add_in_place(std::int64_t, T*, const T*);      \
  template void scale_in_place(std::int64_t, T*, T);           \
  template void divide_in_place(std::int64_t, T*, T);          \
  template void multiply_in_place(std::int64_t, T*, const T*); \
  template void axpy(std::int64_t, T, const T*, T*);
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse
