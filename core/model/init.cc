#include "core/model/init.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace rehearse {
namespace {

enum class Rule { kNormal, kUniform, kOnes, kZeros };

Rule rule_for(const ParameterLayout& layout, int tensor) {
  using L = ParameterLayout;
  const int stage = layout.stage_of(tensor);
  const int within = tensor - layout.first_tensor(stage);
  if (stage == 0) return Rule::kNormal;
  if (stage == layout.stages() - 1) {
    return within == L::kLnfWeight ? Rule::kOnes : within == L::kLnfBias ? Rule::kZeros : Rule::kUniform;
  }
  if (within == L::kLn1Weight || within == L::kLn2Weight) return Rule::kOnes;
  if (within == L::kLn1Bias || within == L::kLn2Bias) return Rule::kZeros;
  return Rule::kUniform;
}

// Inputs of the linear layer a tensor belongs to; a bias takes its weight's, which stands before it.
std::int64_t fan_in(const ParameterLayout& layout, int tensor) {
  const auto& tensors = layout.tensors();
  const ParameterInfo& info = tensors[static_cast<std::size_t>(tensor)];
  return info.is_matrix() ? info.shape[1] : tensors[static_cast<std::size_t>(tensor) - 1].shape[1];
}

}  // namespace

template <class T>
void initialise(const ParameterLayout& layout, const RandomStream& root, const ParameterTable<T>& table) {
  const RandomStream init = root.fork("init");
  for (int tensor = 0; tensor < static_cast<int>(layout.tensors().size()); ++tensor) {
    const ParameterInfo& info = layout.tensors()[static_cast<std::size_t>(tensor)];
    T* const out = table[tensor];
    if (out == nullptr) continue;
    RandomStream stream = init.fork(info.name);
    const Rule rule = rule_for(layout, tensor);
    if (rule == Rule::kOnes || rule == Rule::kZeros) {
      std::fill(out, out + info.numel, rule == Rule::kOnes ? T{1} : T{0});
      continue;
    }
    const double bound = rule == Rule::kUniform ? 1.0 / std::sqrt(static_cast<double>(fan_in(layout, tensor))) : 0;
    for (std::int64_t i = 0; i < info.numel; ++i) {
      const double value = rule == Rule::kNormal ? stream.normal() : (2.0 * stream.uniform() - 1.0) * bound;
      out[i] = static_cast<T>(static_cast<float>(value));
    }
  }
}

template void initialise(const ParameterLayout&, const RandomStream&, const ParameterTable<float>&);
template void initialise(const ParameterLayout&, const RandomStream&, const ParameterTable<double>&);

}  // namespace rehearse
