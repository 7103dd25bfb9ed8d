#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/parallel/data_parallel.h"
#include "core/parallel/unit_flow.h"
#include "core/train/batch_share.h"
#include "core/train/config.h"
#include "core/train/microbatch.h"

namespace rehearse {

// A rank's passes over its part of a batch, microbatch by microbatch, with the units' traffic beside them.
template <class T>
class Passes {
 public:
  // All outlive this.
  Passes(RankContext& context, const MiniGpt<T>& model, DataParallel<T>& parallel, const BatchShare& share,
         std::shared_ptr<const ModelWork> work, const TrainConfig& config);

  // A phase of the passes begins; `first`: of the step's first microbatch.
  using Enter = std::function<void(Phase phase, bool first)>;
  // The mean loss of the part; its gradients are in the DataParallel then, or reduced already, as UnitFlow says.
  // `tokens`: those of all microbatches, good until it is done. `keep_whole`: no gradient is reduced yet.
  Task<double> train(std::span<const std::int32_t> tokens, bool keep_whole, const Enter& enter);
  // The mean loss alone.
  Task<double> measure(std::span<const std::int32_t> tokens);

  UnitFlow<T>& flow() { return flow_; }
  Microbatch<T>& microbatch() { return microbatch_; }

 private:
  StageHook* hook() { return flow_.acts() ? &flow_ : nullptr; }

  DataParallel<T>& parallel_;
  const BatchShare& share_;
  Microbatch<T> microbatch_;
  UnitFlow<T> flow_;
};

}  // namespace rehearse
