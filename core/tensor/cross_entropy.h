#pragma once

#include <cstdint>

namespace rehearse {

// Sum over rows, from 0, of -log softmax(logits row)[target], in double; NaN where a row holds NaN or overflows.
// `logits` (rows x vocab) becomes the probabilities. target(row) stands at targets[row]; each in [0, vocab).
template <class T>
double cross_entropy_forward(std::int64_t rows, std::int64_t vocab, T* logits, const std::int32_t* targets);

// The probabilities become the gradient of scale * the sum above: scale (p - 1[column is the target]).
template <class T>
void cross_entropy_backward(std::int64_t rows, std::int64_t vocab, T scale, T* probs, const std::int32_t* targets);

}  // namespace rehearse
