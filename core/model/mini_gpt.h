#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/model/activations.h"
#include "core/model/layout.h"

namespace rehearse {

// Throws InputError for the first token id outside [0, vocab), naming its sequence and position. `tokens`: sequences of
// `length` ids one after another; `source` names where they come from.
void check_tokens(std::span<const std::int32_t> tokens, std::int64_t length, std::int64_t vocab, const char* source);

// The decoder-only transformer of design section 7 (pre-norm blocks as in GPT-2), stage by stage: stage 0 is the
// embedding, 1..L the blocks, L + 1 the final LayerNorm, the head and the loss. Stateless: parameters, gradients and
// activations belong to the caller. Tokens: int32 [batch, context + 1], inputs [:, :-1], targets [:, 1:], already
// checked.
template <class T>
class MiniGpt {
 public:
  explicit MiniGpt(const ModelConfig& config) : layout_(config) {}
  // Of another shape than the MiniGPT's only for its layout: forward and backward are not called.
  explicit MiniGpt(ParameterLayout layout) : layout_(std::move(layout)) {}

  const ParameterLayout& layout() const { return layout_; }
  int stages() const { return layout_.stages(); }

  // Stages run in order 0, 1, ..., L + 1; after the last, activations.loss is the mean loss over batch x positions.
  void forward(int stage, const ParameterTable<const T>& params, std::span<const std::int32_t> tokens,
               Activations<T>& activations) const;

  // A block's forward again, right before its backward: activations as they were after its forward, bit for bit. Where
  // the activations recompute blocks, for every block but the last, whose activations are still there.
  void recompute(int stage, const ParameterTable<const T>& params, Activations<T>& activations) const;
  // Whether backward of the stage needs that.
  bool needs_recompute(int stage, bool recompute_blocks) const {
    return recompute_blocks && stage >= 1 && stage < layout_.config().layers;
  }

  // Stages run in order L + 1, ..., 0 after a whole forward pass with the same parameters and tokens, once. ADDS the
  // gradient of loss_scale * mean loss into the tensors of the stage; loss_scale is 1/M for M accumulated microbatches.
  void backward(int stage, const ParameterTable<const T>& params, std::span<const std::int32_t> tokens,
                const ParameterTable<T>& grads, Activations<T>& activations, double loss_scale) const;

 private:
  void check_call(std::span<const std::int32_t> tokens, const Activations<T>& activations) const;
  void block_forward(std::int64_t block, const ParameterTable<const T>& params, Activations<T>& activations) const;
  void block_backward(std::int64_t block, const ParameterTable<const T>& params, const ParameterTable<T>& grads,
                      Activations<T>& activations) const;
  void head_forward(const ParameterTable<const T>& params, std::span<const std::int32_t> tokens,
                    Activations<T>& activations) const;
  void head_backward(const ParameterTable<const T>& params, std::span<const std::int32_t> tokens,
                     const ParameterTable<T>& grads, Activations<T>& activations, double loss_scale) const;

  ParameterLayout layout_;
};

// The tensors whose gradient is final once backward of `stage` ran: all of the stage's own, as no two stages share one.
std::vector<int> gradients_final_after(const ParameterLayout& layout, int stage);

}  // namespace rehearse
