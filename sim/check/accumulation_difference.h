#pragma once

#include <cstdint>
#include <vector>

#include "core/model/mini_gpt.h"
#include "core/train/observer.h"

namespace rehearse {

// How far a rank's gradient, accumulated over microbatches, is from that of its whole batch at once: the largest
// difference of an element over all ranks and steps. The whole batch's gradient is computed here, outside of the job.
//
// Does not cover: what the ranks make of their gradients afterwards.
template <class T>
class AccumulationDifference : public TrainObserver {
 public:
  AccumulationDifference(const ModelConfig& config, std::int64_t batch);

  void on_gradients(int rank, std::int64_t step, std::span<const std::int32_t> tokens, const TensorsView& parameters,
                    const TensorsView& gradients) override;

  // NaN once any difference was.
  double largest() const { return largest_; }

 private:
  MiniGpt<T> model_;
  Activations<T> activations_;
  std::vector<T> gradients_;  // flat
  double largest_ = 0;
};

}  // namespace rehearse
