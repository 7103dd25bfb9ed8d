#pragma once

#include <cstdint>

#include "core/base/buffer.h"

namespace rehearse {

// Each element on its own, in the type itself and never fused, so the bits are the same for any cut of the array.

// dst[i] += src[i], n elements; what a collective's reduction does. The arrays are the same or apart.
template <class T>
void add_in_place(std::int64_t n, T* dst, const T* src);
// The same for views of equal count and dtype float or double that have elements.
void add_in_place(BufferView dst, BufferView src);

// x[i] *= factor.
template <class T>
void scale_in_place(std::int64_t n, T* x, T factor);

// x[i] /= divisor: the one division that turns a sum over ranks into an average.
template <class T>
void divide_in_place(std::int64_t n, T* x, T divisor);

// x[i] *= y[i].
template <class T>
void multiply_in_place(std::int64_t n, T* x, const T* y);

// y[i] += a * x[i], the product rounded first.
template <class T>
void axpy(std::int64_t n, T a, const T* x, T* y);

}  // namespace rehearse
