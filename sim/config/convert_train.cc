#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/base/numbers.h"
#include "core/data/token_source.h"
#include "core/model/cost.h"
#include "core/train/batch_share.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

void convert_optimizer(const config::Train& train, const Origins& origins, TrainConfig& out) {
  out.adam.lr = train.adam().lr();
  out.adam.beta1 = train.adam().beta1();
  out.adam.beta2 = train.adam().beta2();
  out.adam.eps = train.adam().eps();
  out.adam.weight_decay = train.adam().weight_decay();
  out.adam.decay = train.adam().decay() == config::Adam::MATRICES ? Decay::kMatrices : Decay::kAll;
  if (train.has_clip_norm()) out.clip_norm = train.clip_norm();

  const config::Schedule& schedule = train.schedule();
  out.schedule = ScheduleConfig{schedule.warmup_steps(), schedule.cosine(), schedule.min_lr()};
  const std::string steps = "train.steps, which is " + std::to_string(train.steps());
  if (schedule.warmup_steps() > train.steps()) {
    origins.fail("train.schedule.warmup_steps",
                 "found " + std::to_string(schedule.warmup_steps()) + "; allowed: at most " + steps);
  }
  if (schedule.min_lr() > train.adam().lr()) {
    origins.fail("train.schedule.min_lr", "found " + shortest_text(schedule.min_lr()) +
                                              "; allowed: at most train.adam.lr, which is " +
                                              shortest_text(train.adam().lr()));
  }
  if (schedule.min_lr() > 0 && !schedule.cosine()) {
    origins.fail("train.schedule.min_lr",
                 "found " + shortest_text(schedule.min_lr()) + " without cosine; allowed: only where cosine is true");
  }
  if (train.has_lr_spike()) {
    out.lr_spike = LrSpike{train.lr_spike().step(), train.lr_spike().factor()};
    if (train.lr_spike().step() > train.steps()) {
      origins.fail("train.lr_spike.step",
                   "found " + std::to_string(train.lr_spike().step()) + "; allowed: 1 to " + steps);
    }
  }
}

void convert_steps(const config::Train& train, const Origins& origins, TrainConfig& out) {
  out.steps = train.steps();
  out.batch = train.batch();
  out.accumulate = train.accumulate();
  out.zero_stage = static_cast<int>(train.zero_stage());
  out.overlap = train.overlap();
  out.recompute_blocks = train.recompute_blocks();
  out.eval_every = train.eval_every();
  if (train.has_bucket()) out.bucket_bytes = parse_size(train.bucket()).count();
  if (train.batch() % train.accumulate() != 0) {
    origins.fail("train.accumulate", "found " + std::to_string(train.accumulate()) +
                                         "; allowed: a divisor of train.batch, which is " +
                                         std::to_string(train.batch()));
  }
  const ModelConfig& model = out.model;
  const std::int64_t scores = model.attention == Attention::kFlash ? 0 : model.heads * model.context;
  const std::int64_t widest =
      std::max({model.vocab, model.mlp_inputs() * model.ffn_width(), model.qkv_width(), scores});
  if (static_cast<__int128>(train.batch()) * model.context * widest > kMostElements) {
    origins.fail("train.batch",
                 "found " + std::to_string(train.batch()) +
                     ", which makes a tensor of more than 2^40 elements; allowed: a smaller batch or model");
  }
  try {
    const StateTypes types = out.state_types();
    const ModelWork work(model, train.batch() / train.accumulate(), types.parameters, types.gradients);
  } catch (const InputError& error) {
    origins.fail("train.batch", "found " + std::to_string(train.batch()) + ", which is too large for this model (" +
                                    error.what() + "); allowed: a smaller batch or model");
  }
}

void convert_checkpoint(const config::Checkpoint& checkpoint, const Origins& origins, TrainConfig& out) {
  out.checkpoint.every_steps = checkpoint.every_steps();
  if (checkpoint.has_every()) out.checkpoint.every_time = parse_duration(checkpoint.every());
  out.checkpoint.asynchronous = checkpoint.asynchronous();
  out.checkpoint.keep = checkpoint.keep();
  if (checkpoint.keep() > 0 && !out.checkpoint.any()) {
    origins.fail("checkpoint.keep", "found " + std::to_string(checkpoint.keep()) +
                                        " without checkpoints; allowed: only with checkpoint.every_steps or every");
  }
  if (checkpoint.asynchronous() && !out.checkpoint.any()) {
    origins.fail("checkpoint.asynchronous",
                 "found true without checkpoints; allowed: only with checkpoint.every_steps or every");
  }
}

Reaction convert_policy(config::Guards::Policy policy) {
  switch (policy) {
    case config::Guards::STOP:
      return Reaction::kStop;
    case config::Guards::SKIP_STEP:
      return Reaction::kSkipStep;
    case config::Guards::ROLLBACK:
      return Reaction::kRollback;
    case config::Guards::ROLLBACK_AND_SKIP_BATCHES:
      return Reaction::kRollbackAndSkipBatches;
    case config::Guards::EVICT:
      return Reaction::kEvict;
  }
  check_failed(__FILE__, __LINE__, "a policy that the schema does not have");
}

// Who computes whose gradient again.
void convert_recomputing(const config::Guards& guards, const Origins& origins, int ranks, TrainConfig& out) {
  out.guards.recompute_every = guards.recompute_every();
  if (guards.recompute_every() == 0) return;
  const std::string found = "found " + std::to_string(guards.recompute_every());
  if (!guards.has_corruption()) {
    origins.fail("train.guards.recompute_every",
                 found + " without corruption, which says what is done; allowed: only with that guard");
  }
  if (ranks < 2) {
    origins.fail("train.guards.recompute_every",
                 found + " on one rank, which has no other to ask; allowed: 0, or cluster.ranks of 2 or more");
  }
}

void convert_guards(const config::Guards& guards, const Origins& origins, int ranks, TrainConfig& out) {
  const auto convert = [&](bool has, const char* name, config::Guards::Policy policy, config::Guards::Policy never) {
    if (!has) return std::optional<Reaction>();
    if (policy == never) {
      origins.fail(std::string("train.guards.") + name,
                   "found " + config::Guards::Policy_Name(policy) + "; allowed: any other policy for this guard");
    }
    return std::optional<Reaction>(convert_policy(policy));
  };
  using config::Guards;
  out.guards.nonfinite = convert(guards.has_nonfinite(), "nonfinite", guards.nonfinite(), Guards::EVICT);
  out.guards.loss_spike = convert(guards.has_loss_spike(), "loss_spike", guards.loss_spike(), Guards::EVICT);
  out.guards.corruption = convert(guards.has_corruption(), "corruption", guards.corruption(), Guards::SKIP_STEP);
  if (guards.median_window() > 0 && !guards.has_loss_spike()) {
    origins.fail("train.guards.median_window", "found " + std::to_string(guards.median_window()) +
                                                   " without loss_spike; allowed: only with that guard");
  }
  convert_recomputing(guards, origins, ranks, out);
  out.guards.spike_factor = guards.spike_factor();
  out.guards.median_window = guards.median_window();
  out.guards.max_consecutive_skips = guards.max_consecutive_skips();
  out.guards.max_rollbacks = guards.max_rollbacks();
}

void convert_data(const config::Data& data, const NamedFiles& files, const Origins& origins, TrainConfig& out) {
  std::string path;
  switch (data.source_case()) {
    case config::Data::kSynthetic: {
      path = "data.synthetic";
      if (data.synthetic().states() > out.model.vocab) {
        origins.fail("data.synthetic.states", "found " + std::to_string(data.synthetic().states()) +
                                                  "; allowed: at most model.vocab, which is " +
                                                  std::to_string(out.model.vocab));
      }
      const auto noise = to_billionths(data.synthetic().noise());
      if (!noise) origins.fail("data.synthetic.noise", "found more than 9 decimals; allowed: at most 9");
      out.data = MarkovConfig{data.synthetic().states(), *noise};
      break;
    }
    case config::Data::kTextFile:
      path = "data.text_file";
      out.data = TextConfig{files.inputs.at(path)};
      break;
    case config::Data::kTokensFile:
      path = "data.tokens_file";
      out.data = TokensConfig{files.inputs.at(path)};
      break;
    case config::Data::SOURCE_NOT_SET:
      origins.fail("data", "found no source; allowed: one of synthetic, text_file, tokens_file");
  }
}

void check_share(const Origins& origins, const Scenario& scenario) {
  const TrainConfig& train = scenario.train;
  if (divides_batch(train, scenario.ranks)) return;
  origins.fail("cluster.ranks", "found " + std::to_string(scenario.ranks) + "; allowed: a divisor of the " +
                                    std::to_string(sequences_of_batch(train, scenario.ranks)) +
                                    " sequences of a batch, which are train.data_ranks times train.batch = " +
                                    std::to_string(train.data_ranks) + " x " + std::to_string(train.batch));
}

void check_data_fit(const config::Data& data, const Origins& origins, const Scenario& scenario) {
  const TrainConfig& train = scenario.train;
  try {
    check_data(train.data, train.seed, static_cast<int>(train.data_ranks), train.batch, train.model.context,
               train.model.vocab, train.steps, train.eval_every > 0);
  } catch (const InputError& error) {
    const std::string path = data.has_text_file() ? "data.text_file" : "data.tokens_file";
    throw InputError(origins.where(path) + ": " + error.what());  // the message names the field
  }
}

}  // namespace

void convert_train(const config::Scenario& message, const NamedFiles& files, const Origins& origins,
                   Scenario& scenario) {
  TrainConfig& train = scenario.train;
  train.seed = scenario.seed;
  convert_steps(message.train(), origins, train);
  convert_optimizer(message.train(), origins, train);
  convert_checkpoint(message.checkpoint(), origins, train);
  convert_guards(message.train().guards(), origins, static_cast<int>(scenario.ranks), train);
  convert_data(message.data(), files, origins, train);
  check_share(origins, scenario);
  check_data_fit(message.data(), origins, scenario);
}

}  // namespace rehearse
