#include "core/model/mini_gpt.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/model/linear.h"
#include "core/tensor/cross_entropy.h"
#include "core/tensor/embedding.h"
#include "core/tensor/layernorm.h"

namespace rehearse {

void check_tokens(std::span<const std::int32_t> tokens, std::int64_t length, std::int64_t vocab, const char* source) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocab) continue;
    const auto at = static_cast<std::int64_t>(i);
    throw InputError(std::string(source) + ": token " + std::to_string(tokens[i]) + " in sequence " +
                     std::to_string(at / length) + ", position " + std::to_string(at % length) +
                     " (both from 0) is not in the vocabulary; allowed are 0 to " + std::to_string(vocab - 1));
  }
}

std::vector<int> gradients_final_after(const ParameterLayout& layout, int stage) {
  std::vector<int> tensors;
  for (int t = layout.first_tensor(stage); t < layout.first_tensor(stage + 1); ++t) tensors.push_back(t);
  return tensors;
}

template <class T>
void MiniGpt<T>::check_call(std::span<const std::int32_t> tokens, const Activations<T>& activations) const {
  CHECK(layout_.config().is_mini_gpt());
  CHECK(activations.config() == layout_.config());
  CHECK_EQ(static_cast<std::int64_t>(tokens.size()), activations.batch() * (layout_.config().context + 1));
}

template <class T>
void MiniGpt<T>::forward(int stage, const ParameterTable<const T>& params, std::span<const std::int32_t> tokens,
                         Activations<T>& activations) const {
  check_call(tokens, activations);
  CHECK(stage == 0 || stage == activations.next_forward);
  const ModelConfig& c = layout_.config();
  if (stage == 0) {
    embedding_forward(activations.batch(), c.context, c.embed, {tokens.data(), c.context + 1},
                      params[ParameterLayout::kTokens], params[ParameterLayout::kPositions], activations.stream[0]);
  } else if (stage <= c.layers) {
    block_forward(stage - 1, params, activations);
    activations.kept_block = stage - 1;
  } else {
    CHECK_EQ(stage, stages() - 1);
    head_forward(params, tokens, activations);
  }
  const bool done = stage == stages() - 1;
  activations.next_forward = done ? -1 : stage + 1;
  activations.next_backward = done ? stage : -1;
}

template <class T>
void MiniGpt<T>::recompute(int stage, const ParameterTable<const T>& params, Activations<T>& activations) const {
  CHECK(needs_recompute(stage, activations.recomputes_blocks()));
  CHECK_EQ(stage, activations.next_backward);
  block_forward(stage - 1, params, activations);
  activations.kept_block = stage - 1;
}

template <class T>
void MiniGpt<T>::backward(int stage, const ParameterTable<const T>& params, std::span<const std::int32_t> tokens,
                          const ParameterTable<T>& grads, Activations<T>& activations, double loss_scale) const {
  check_call(tokens, activations);
  CHECK_GE(stage, 0);
  CHECK_EQ(stage, activations.next_backward);
  const ModelConfig& c = layout_.config();
  if (stage == stages() - 1) {
    head_backward(params, tokens, grads, activations, loss_scale);
  } else if (stage > 0) {
    CHECK(!activations.recomputes_blocks() || activations.kept_block == stage - 1);
    block_backward(stage - 1, params, grads, activations);
  } else {
    embedding_backward(activations.batch(), c.context, c.embed, {tokens.data(), c.context + 1},
                       static_cast<const T*>(activations.dstream), grads[ParameterLayout::kTokens],
                       grads[ParameterLayout::kPositions]);
  }
  activations.next_backward = stage - 1;
}

template <class T>
void MiniGpt<T>::head_forward(const ParameterTable<const T>& params, std::span<const std::int32_t> tokens,
                              Activations<T>& a) const {
  const ModelConfig& c = layout_.config();
  const int first = layout_.first_tensor(stages() - 1);
  layernorm_forward<T>(a.rows(), c.embed, a.stream.back(), params[first + ParameterLayout::kLnfWeight],
                       params[first + ParameterLayout::kLnfBias], a.lnf, a.lnf_mean, a.lnf_rstd);
  const Linear<T> head{a.rows(), c.vocab, c.embed, a.scratch()};
  head.forward(a.lnf, params[first + ParameterLayout::kHeadWeight], nullptr, nullptr, a.logits);
  double sum = 0;
  for (std::int64_t b = 0; b < a.batch(); ++b) {
    sum += cross_entropy_forward(c.context, c.vocab, a.logits + b * c.context * c.vocab,
                                 tokens.data() + b * (c.context + 1) + 1);
  }
  a.loss = sum / static_cast<double>(a.rows());
}

template <class T>
void MiniGpt<T>::head_backward(const ParameterTable<const T>& params, std::span<const std::int32_t> tokens,
                               const ParameterTable<T>& grads, Activations<T>& a, double loss_scale) const {
  const ModelConfig& c = layout_.config();
  const int first = layout_.first_tensor(stages() - 1);
  const T scale = static_cast<T>(loss_scale / static_cast<double>(a.rows()));
  for (std::int64_t b = 0; b < a.batch(); ++b) {
    cross_entropy_backward(c.context, c.vocab, scale, a.logits + b * c.context * c.vocab,
                           tokens.data() + b * (c.context + 1) + 1);
  }
  const Linear<T> head{a.rows(), c.vocab, c.embed, a.scratch()};
  head.add_weight_gradient(a.logits, a.lnf, grads[first + ParameterLayout::kHeadWeight]);
  head.input_gradient(a.logits, params[first + ParameterLayout::kHeadWeight], a.dinner);
  std::fill(a.dstream, a.dstream + a.rows() * c.embed, T{0});
  layernorm_backward<T>(a.rows(), c.embed, a.dinner, a.stream.back(), params[first + ParameterLayout::kLnfWeight],
                        a.lnf_mean, a.lnf_rstd, a.dstream, grads[first + ParameterLayout::kLnfWeight],
                        grads[first + ParameterLayout::kLnfBias]);
}

template class MiniGpt<float>;
template class MiniGpt<double>;

}  // namespace rehearse
