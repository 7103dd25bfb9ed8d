#pragma once

#include <cstdint>
#include <vector>

#include "core/data/token_source.h"
#include "core/model/init.h"
#include "sim/config/scenario.h"
#include "tests/reference/trainer.h"

namespace rehearse {

// What the one-process trainer of tests/reference makes of a scenario's job, from the seed's parameters and tokens.
inline reference::Result<float> oracle(const Scenario& scenario) {
  const TrainConfig& config = scenario.train;
  const ParameterLayout layout(config.model);
  std::vector<float> params(static_cast<std::size_t>(layout.total()));
  initialise(layout, RandomStream(scenario.seed), table_of_flat(layout, params.data()));
  const auto source = make_token_source(config.data, scenario.seed, scenario.ranks, config.batch, config.model.context,
                                        config.model.vocab);
  reference::Tokens tokens;
  tokens.steps = config.steps;
  tokens.ranks = scenario.ranks;
  tokens.batch = config.batch;
  std::vector<std::int32_t> sequence(static_cast<std::size_t>(config.model.context) + 1);
  for (std::int64_t step = 0; step < config.steps; ++step) {
    for (int rank = 0; rank < scenario.ranks; ++rank) {
      for (std::int64_t i = 0; i < config.batch; ++i) {
        source->sequence(step, rank, i, sequence);
        tokens.ids.insert(tokens.ids.end(), sequence.begin(), sequence.end());
      }
    }
  }
  reference::Options options;
  options.lr = config.adam.lr;
  options.weight_decay = config.adam.weight_decay;
  options.decay_matrices_only = config.adam.decay == Decay::kMatrices;
  options.clip_norm = config.clip_norm.value_or(0);
  options.accumulate = config.accumulate;
  options.warmup_steps = config.schedule.warmup_steps;
  options.cosine = config.schedule.cosine;
  options.min_lr = config.schedule.min_lr;
  return reference::train(config.model, params, tokens, options);
}

}  // namespace rehearse
