#include "sim/check/accumulation_difference.h"

#include <algorithm>
#include <cmath>

namespace rehearse {

template <class T>
AccumulationDifference<T>::AccumulationDifference(const ModelConfig& config, std::int64_t batch)
    : model_(config),
      activations_(config, batch, nullptr),
      gradients_(static_cast<std::size_t>(model_.layout().total())) {}

template <class T>
void AccumulationDifference<T>::on_gradients(int, std::int64_t, std::span<const std::int32_t> tokens,
                                             const TensorsView& parameters, const TensorsView& gradients) {
  ParameterTable<const T> table;
  for (const std::byte* tensor : parameters.tensors) table.tensors.push_back(reinterpret_cast<const T*>(tensor));
  std::fill(gradients_.begin(), gradients_.end(), T{0});
  const ParameterTable<T> whole = table_of_flat(model_.layout(), gradients_.data());
  for (int stage = 0; stage < model_.stages(); ++stage) model_.forward(stage, table, tokens, activations_);
  for (int stage = model_.stages() - 1; stage >= 0; --stage) {
    model_.backward(stage, table, tokens, whole, activations_, 1.0);
  }
  for (std::size_t t = 0; t < gradients.tensors.size(); ++t) {
    if (gradients.tensors[t] == nullptr) continue;
    const T* accumulated = reinterpret_cast<const T*>(gradients.tensors[t]);
    for (std::int64_t i = 0; i < model_.layout().tensors()[t].numel; ++i) {
      const double difference =
          std::abs(static_cast<double>(accumulated[i]) - static_cast<double>(whole[static_cast<int>(t)][i]));
      if (!(difference <= largest_) && !std::isnan(largest_)) largest_ = difference;
    }
  }
}

template class AccumulationDifference<float>;
template class AccumulationDifference<double>;

}  // namespace rehearse
