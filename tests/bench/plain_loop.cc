#include "tests/bench/plain_loop.h"

#include <algorithm>
#include <span>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/checkpoint/shard_file.h"
#include "core/data/token_source.h"
#include "core/model/init.h"
#include "core/model/mini_gpt.h"
#include "core/optim/adam.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/reduce.h"

namespace rehearse {
namespace {

volatile double sink = 0;  // keeps what is only hashed or measured

}  // namespace

PlainLoop::PlainLoop(const Scenario& scenario) : scenario_(scenario) {
  CHECK(scenario.train.dtype == DType::kFloat32 && scenario.train.zero_stage == 1);
  const ParameterLayout layout(scenario.train.model);
  const std::int64_t multiple = 16 * scenario.ranks;
  padded_ = (layout.total() + multiple - 1) / multiple * multiple;
  chunk_ = padded_ / scenario.ranks;
}

std::string PlainLoop::run() {
  const ParameterLayout layout(scenario_.train.model);
  replicas_.assign(static_cast<std::size_t>(scenario_.ranks), Replica());
  for (Replica& replica : replicas_) {
    replica.parameters.assign(static_cast<std::size_t>(padded_), 0);
    replica.gradients.assign(static_cast<std::size_t>(padded_), 0);
    replica.m.assign(static_cast<std::size_t>(chunk_), 0);
    replica.v.assign(static_cast<std::size_t>(chunk_), 0);
  }
  initialise(layout, RandomStream(scenario_.seed), table_of_flat(layout, replicas_[0].parameters.data()));
  for (std::size_t r = 0; r < replicas_.size(); ++r) {
    replicas_[r].parameters = replicas_[0].parameters;
    const auto begin = replicas_[r].parameters.begin() + static_cast<std::ptrdiff_t>(r) * chunk_;
    replicas_[r].master.assign(begin, begin + chunk_);
  }
  const std::int64_t steps = scenario_.train.steps;
  train(0, steps);
  const auto parameters = std::span<const float>(replicas_[0].parameters).first(static_cast<std::size_t>(layout.total()));
  const std::string weights = sha256_hex(std::as_bytes(parameters));
  if (scenario_.expect.resume_from.has_value()) {
    load(at_resume_step_);
    train(*scenario_.expect.resume_from, steps);
    CHECK_EQ(weights, sha256_hex(std::as_bytes(parameters)));
  }
  return weights;
}

void PlainLoop::train(std::int64_t from, std::int64_t to) {
  const TrainConfig& config = scenario_.train;
  const MiniGpt<float> model(config.model);
  const auto source = make_token_source(config.data, config.seed, scenario_.ranks, config.batch, config.model.context,
                                        config.model.vocab);
  std::vector<Activations<float>> activations;
  for (int r = 0; r < scenario_.ranks; ++r) activations.emplace_back(config.model, config.batch, nullptr);
  const auto length = static_cast<std::size_t>(config.model.context + 1);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(config.batch) * length);
  const DecayRange all{0, chunk_, true};
  for (std::int64_t step = from + 1; step <= to; ++step) {
    for (int r = 0; r < scenario_.ranks; ++r) {
      Replica& replica = replicas_[static_cast<std::size_t>(r)];
      for (std::int64_t i = 0; i < config.batch; ++i) {
        source->sequence(step - 1, r, i, std::span(tokens).subspan(static_cast<std::size_t>(i) * length, length));
      }
      std::fill(replica.gradients.begin(), replica.gradients.end(), 0.0F);
      const auto parameters = table_of_flat<const float>(model.layout(), replica.parameters.data());
      const auto gradients = table_of_flat(model.layout(), replica.gradients.data());
      Activations<float>& mine = activations[static_cast<std::size_t>(r)];
      for (int stage = 0; stage < model.stages(); ++stage) model.forward(stage, parameters, tokens, mine);
      for (int stage = model.stages() - 1; stage >= 0; --stage) {
        model.backward(stage, parameters, tokens, gradients, mine, 1.0);
      }
    }
    reduce();
    for (std::size_t r = 0; r < replicas_.size(); ++r) {
      Replica& replica = replicas_[r];
      float* g = replica.gradients.data() + static_cast<std::int64_t>(r) * chunk_;
      sink = sum_of_squares(chunk_, g) + static_cast<double>(count_nonfinite(chunk_, g));
      divide_in_place(chunk_, g, static_cast<float>(scenario_.ranks));
      AdamStep adam;
      adam.config = config.adam;
      adam.lr = config.adam.lr;
      adam.applied_step = step;
      adam_update<float>(adam, replica.master, replica.m, replica.v,
                         std::span<const float>(g, static_cast<std::size_t>(chunk_)), std::span(&all, 1));
    }
    for (Replica& replica : replicas_) {
      for (std::size_t r = 0; r < replicas_.size(); ++r) {
        std::copy(replicas_[r].master.begin(), replicas_[r].master.end(),
                  replica.parameters.begin() + static_cast<std::ptrdiff_t>(r) * chunk_);
      }
      double squares = 0;
      for (const ParameterInfo& info : model.layout().tensors()) {
        const float* tensor = replica.parameters.data() + info.offset;
        squares += sum_of_squares(info.numel, tensor);
        const Digest128 digest = xxh3_128(std::as_bytes(std::span(tensor, static_cast<std::size_t>(info.numel))));
        squares += static_cast<double>(digest.low & 1);
      }
      sink = squares;
    }
    if (config.checkpoint.every_steps > 0 && step % config.checkpoint.every_steps == 0) {
      Saved saved = save();
      if (scenario_.expect.resume_from == step) at_resume_step_ = std::move(saved);
    }
  }
}

// Chunk r is summed in the order r+1, r+2, ..., r, as the ring does.
void PlainLoop::reduce() {
  const int ranks = scenario_.ranks;
  for (int r = 0; r < ranks; ++r) {
    const std::int64_t offset = r * chunk_;
    for (int hop = 1; hop < ranks; ++hop) {
      const float* received = replicas_[static_cast<std::size_t>((r + hop) % ranks)].gradients.data() + offset;
      add_in_place(chunk_, replicas_[static_cast<std::size_t>((r + hop + 1) % ranks)].gradients.data() + offset, received);
    }
  }
}

PlainLoop::Saved PlainLoop::save() const {
  Saved saved;
  const ParameterLayout layout(scenario_.train.model);
  for (const Replica& replica : replicas_) {
    const StateView state(std::as_bytes(std::span(replica.master)), std::as_bytes(std::span(replica.m)),
                          std::as_bytes(std::span(replica.v)));
    saved.shards.push_back(write_shard_file(DType::kFloat32, state));
    saved.sha256.push_back(sha256_hex(saved.shards.back()));
  }
  std::vector<TensorView> tensors;
  for (const ParameterInfo& info : layout.tensors()) {
    TensorView view;
    view.name = info.name;
    view.shape = info.shape;
    view.data = std::as_bytes(
        std::span(replicas_[0].parameters).subspan(static_cast<std::size_t>(info.offset), static_cast<std::size_t>(info.numel)));
    tensors.push_back(view);
  }
  saved.model = write_model_file(tensors);
  saved.sha256.push_back(sha256_hex(saved.model));
  return saved;
}

void PlainLoop::load(const Saved& saved) {
  for (std::size_t r = 0; r < replicas_.size(); ++r) {
    CHECK_EQ(sha256_hex(saved.shards[r]), saved.sha256[r]);
    const SafetensorsFile file = SafetensorsFile::parse(saved.shards[r], "shard");
    const auto copy = [&](const char* name, std::vector<float>& to) {
      const TensorView* tensor = file.find(name);
      CHECK(tensor != nullptr && tensor->data.size() == to.size() * sizeof(float));
      std::copy_n(reinterpret_cast<const float*>(tensor->data.data()), to.size(), to.begin());
    };
    copy("master", replicas_[r].master);
    copy("m", replicas_[r].m);
    copy("v", replicas_[r].v);
  }
  CHECK_EQ(sha256_hex(saved.model), saved.sha256.back());
  for (Replica& replica : replicas_) {
    for (std::size_t r = 0; r < replicas_.size(); ++r) {
      std::copy(replicas_[r].master.begin(), replicas_[r].master.end(),
                replica.parameters.begin() + static_cast<std::ptrdiff_t>(r) * chunk_);
    }
  }
}

}  // namespace rehearse
