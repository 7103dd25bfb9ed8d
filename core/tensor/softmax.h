#pragma once

#include <cstdint>

namespace rehearse {

// Row t of `scores` (rows x width at stride row_stride, first_row + t its position) becomes softmax(scale * row) over
// columns 0 .. first_row + t; later columns become 0. Lanes as in layernorm.h. A row with NaN becomes NaN.
template <class T>
void causal_softmax_forward(std::int64_t rows, std::int64_t width, std::int64_t first_row, T scale, T* scores,
                            std::int64_t row_stride);

// dprobs (rows x width at stride dprobs_stride) becomes scale * p (dp - sum(p dp)), the gradient of the raw scores;
// columns after the row's position become 0. probs: what the forward pass left.
template <class T>
void causal_softmax_backward(std::int64_t rows, std::int64_t width, std::int64_t first_row, T scale, const T* probs,
                             std::int64_t probs_stride, T* dprobs, std::int64_t dprobs_stride);

// Every row of x (rows x width) becomes exp(x - maximum of the row); maxima and sums (rows) are those of the row and of
// its exponentials. Part of the cross-entropy.
template <class T>
void exponentials_of_rows(std::int64_t rows, std::int64_t width, T* x, T* maxima, T* sums);

}  // namespace rehearse
