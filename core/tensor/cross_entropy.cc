#include "core/tensor/cross_entropy.h"

#include <limits>

#include "core/base/math.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/softmax.h"

namespace rehearse {

template <class T>
double cross_entropy_forward(std::int64_t rows, std::int64_t vocab, T* logits, const std::int32_t* targets) {
  double loss = 0;
  for (std::int64_t row = 0; row < rows; ++row, logits += vocab) {
    const T target_logit = logits[targets[row]];
    T maximum = 0;
    T sum = 0;
    exponentials_of_rows(1, vocab, logits, &maximum, &sum);
    const T inverse = T{1} / sum;
    scale_in_place(vocab, logits, inverse);
    // A sum of exponentials up to exp(0) is in [1, vocab] unless the row is not finite.
    const bool finite = sum >= T{1} && sum <= std::numeric_limits<T>::max();
    const double log_sum =
        finite ? deterministic_log(static_cast<double>(sum)) : std::numeric_limits<double>::quiet_NaN();
    loss += log_sum + static_cast<double>(maximum) - static_cast<double>(target_logit);
  }
  return loss;
}

template <class T>
void cross_entropy_backward(std::int64_t rows, std::int64_t vocab, T scale, T* probs, const std::int32_t* targets) {
  for (std::int64_t row = 0; row < rows; ++row, probs += vocab) {
    probs[targets[row]] -= T{1};
    scale_in_place(vocab, probs, scale);
  }
}

template double cross_entropy_forward(std::int64_t, std::int64_t, float*, const std::int32_t*);
template double cross_entropy_forward(std::int64_t, std::int64_t, double*, const std::int32_t*);
template void cross_entropy_backward(std::int64_t, std::int64_t, float, float*, const std::int32_t*);
template void cross_entropy_backward(std::int64_t, std::int64_t, double, double*, const std::int32_t*);

}  // namespace rehearse
