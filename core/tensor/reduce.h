#pragma once

#include <cstdint>

namespace rehearse {

// Sum of x[i]^2 in double. Element i is squared in double and added to lane i mod 16, lanes from 0; then lanes are
// added as l, l+4, l+8, l+12 in this order for l = 0..3, and the four results as (0 + 2) + (1 + 3).
template <class T>
double sum_of_squares(std::int64_t n, const T* x);

// How many elements are infinite or NaN.
template <class T>
std::int64_t count_nonfinite(std::int64_t n, const T* x);

// out[j] += the sum over rows of x (rows x columns), rows from 0, summed before it is added. The gradient of a bias.
template <class T>
void add_column_sums(std::int64_t rows, std::int64_t columns, const T* x, T* out);

}  // namespace rehearse
