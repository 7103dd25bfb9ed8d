#include <cstdint>

#include "core/model/linear.h"
#include "core/model/mini_gpt.h"
#include "core/tensor/attention.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/gelu.h"
#include "core/tensor/layernorm.h"
#include "core/tensor/reduce.h"

// One pre-norm transformer block, x -> x + proj(attention(ln1 x)) -> + fc2(gelu(fc1(ln2 x))), forward and backward.
// Residuals are added inside the products that make them.

namespace rehearse {
namespace {

// The four linear layers of a block.
template <class T>
struct BlockLinears {
  explicit BlockLinears(const Activations<T>& a)
      : e(a.config().embed),
        qkv{a.rows(), 3 * e, e, a.scratch()},
        proj{a.rows(), e, e, a.scratch()},
        fc1{a.rows(), 4 * e, e, a.scratch()},
        fc2{a.rows(), e, 4 * e, a.scratch()} {}

  std::int64_t e;
  Linear<T> qkv, proj, fc1, fc2;
};

}  // namespace

template <class T>
void MiniGpt<T>::block_forward(std::int64_t block, const ParameterTable<const T>& params, Activations<T>& a) const {
  using L = ParameterLayout;
  const int first = layout_.first_tensor(static_cast<int>(block) + 1);
  const BlockLinears<T> linear(a);
  const auto& keep = a.blocks[static_cast<std::size_t>(block)];
  const T* const x = a.stream[static_cast<std::size_t>(block)];
  T* const out = a.stream[static_cast<std::size_t>(block) + 1];

  layernorm_forward<T>(a.rows(), linear.e, x, params[first + L::kLn1Weight], params[first + L::kLn1Bias], keep.ln1,
                       keep.ln1_mean, keep.ln1_rstd);
  linear.qkv.forward(keep.ln1, params[first + L::kQkv], nullptr, nullptr, keep.qkv);
  attention_forward<T>(a.attention_shape(), keep.qkv, keep.probs, keep.attention, a.scratch());
  linear.proj.forward(keep.attention, params[first + L::kProj], nullptr, x, keep.middle);

  layernorm_forward<T>(a.rows(), linear.e, keep.middle, params[first + L::kLn2Weight], params[first + L::kLn2Bias],
                       keep.ln2, keep.ln2_mean, keep.ln2_rstd);
  linear.fc1.forward(keep.ln2, params[first + L::kFc1], params[first + L::kFc1Bias], nullptr, keep.slope);
  gelu_forward<T>(a.rows() * 4 * linear.e, keep.slope, keep.gelu, keep.slope);
  linear.fc2.forward(keep.gelu, params[first + L::kFc2], params[first + L::kFc2Bias], keep.middle, out);
}

// a.dstream enters as the gradient of the block's output and leaves as that of its input.
template <class T>
void MiniGpt<T>::block_backward(std::int64_t block, const ParameterTable<const T>& params,
                                const ParameterTable<T>& grads, Activations<T>& a) const {
  using L = ParameterLayout;
  const int first = layout_.first_tensor(static_cast<int>(block) + 1);
  const BlockLinears<T> linear(a);
  const auto& kept = a.blocks[static_cast<std::size_t>(block)];
  const T* const x = a.stream[static_cast<std::size_t>(block)];
  const std::int64_t rows = a.rows();
  const std::int64_t e = linear.e;

  linear.fc2.add_weight_gradient(a.dstream, kept.gelu, grads[first + L::kFc2]);
  add_column_sums<T>(rows, e, a.dstream, grads[first + L::kFc2Bias]);
  linear.fc2.input_gradient(a.dstream, params[first + L::kFc2], a.dmlp);
  multiply_in_place<T>(rows * 4 * e, a.dmlp, kept.slope);
  linear.fc1.add_weight_gradient(a.dmlp, kept.ln2, grads[first + L::kFc1]);
  add_column_sums<T>(rows, 4 * e, a.dmlp, grads[first + L::kFc1Bias]);
  linear.fc1.input_gradient(a.dmlp, params[first + L::kFc1], a.dinner);
  layernorm_backward<T>(rows, e, a.dinner, kept.middle, params[first + L::kLn2Weight], kept.ln2_mean, kept.ln2_rstd,
                        a.dstream, grads[first + L::kLn2Weight], grads[first + L::kLn2Bias]);

  linear.proj.add_weight_gradient(a.dstream, kept.attention, grads[first + L::kProj]);
  linear.proj.input_gradient(a.dstream, params[first + L::kProj], a.dinner);
  attention_backward<T>(a.attention_shape(), kept.qkv, kept.probs, a.dinner, a.dqkv, a.scratch());
  linear.qkv.add_weight_gradient(a.dqkv, kept.ln1, grads[first + L::kQkv]);
  linear.qkv.input_gradient(a.dqkv, params[first + L::kQkv], a.dinner);
  layernorm_backward<T>(rows, e, a.dinner, x, params[first + L::kLn1Weight], kept.ln1_mean, kept.ln1_rstd, a.dstream,
                        grads[first + L::kLn1Weight], grads[first + L::kLn1Bias]);
}

#define REHEARSE_INSTANTIATE(T)                                                                                    \
  template void MiniGpt<T>::block_forward(std::int64_t, const ParameterTable<const T>&, Activations<T>&) const;    \
  template void MiniGpt<T>::block_backward(std::int64_t, const ParameterTable<const T>&, const ParameterTable<T>&, \
                                           Activations<T>&) const;
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse
