// A checkpoint of N ranks is taken over by M: every rank holds, of every parameter by name, the very elements that were
// saved; and what M ranks save and N take over again is the first checkpoint, byte for byte.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/checkpoint/names.h"
#include "core/parallel/checkpoint_io.h"
#include "sim/cluster/world.h"
#include "sim/storage/mounts.h"
#include "sim/storage/sim_storage.h"

namespace rehearse {
namespace {

struct Cut {
  int ranks = 1;
  int zero_stage = 1;
  std::int64_t bucket = 0;  // elements
};

enum Part : std::uint64_t { kMaster, kFirstMoment, kSecondMoment };

// Sizes that no number of ranks here divides: 7 x 6 embeddings, vectors of 6.
ModelConfig odd_model() {
  ModelConfig model;
  model.layers = 1;
  model.embed = 6;
  model.heads = 2;
  model.vocab = 7;
  model.context = 5;
  return model;
}

// What the element of a parameter is after step 4.
template <class T>
T value_of(const std::string& name, std::int64_t element, Part part) {
  RandomStream stream = RandomStream(7).fork(name).fork(part).fork(static_cast<std::uint64_t>(element));
  return static_cast<T>(stream.below(1 << 20)) / T{1024} + T{1} / T{3};
}

std::string arithmetic_of(const Cut& cut) {
  return sha256_hex(std::to_string(cut.ranks) + "," + std::to_string(cut.zero_stage) + "," +
                    std::to_string(cut.bucket));
}

CheckpointPlan plan_of(const Cut& cut) {
  CheckpointPlan plan;
  plan.schedule.lr = 0.01;
  plan.schedule.total_steps = 20;
  plan.arithmetic_sha256 = arithmetic_of(cut);
  plan.scenario_sha256 = sha256_hex("scenario");
  plan.scenario_text = "name: \"odd\"\n";
  plan.has_guards = true;
  return plan;
}

TrainCounters counters_after_4() {
  TrainCounters counters;
  counters.step = 4;
  counters.batch_index = 6;
  counters.applied_steps = 3;
  counters.guards.emplace();
  counters.guards->losses = {2.5, 2.25};
  counters.guards->consecutive_skips = 1;
  return counters;
}

class ReshardedJob {
 public:
  ReshardedJob() {
    mounts_.add("shared", StorageConfig{Duration::microseconds(1), Bandwidth::bits_per_second(8'000'000'000)});
  }

  // Runs a program on every rank to its end; throws what a rank threw.
  void run(int ranks, const std::function<Task<>(RankContext&)>& program) {
    WorldConfig config;
    config.ranks = ranks;
    config.network.latency = Duration::microseconds(1);
    config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
    config.device.rate = FlopRate::per_second(1'000'000'000'000);
    World world(config);
    world.set_storage([this](Process& process) { return std::make_unique<SimStorage>(process, mounts_); });
    world.start_all(program);
    ASSERT_EQ(world.run(), RunEnd::kDone);
    for (int rank = 0; rank < ranks; ++rank) {
      if (world.error(rank) != nullptr) std::rethrow_exception(world.error(rank));
    }
  }

  // The files whose bytes depend on the state alone.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& [path, data] : mounts_.at("shared").files.files()) {
      if (path.ends_with(".safetensors") || path.ends_with(kManifestFile)) found.emplace(path, data.text());
    }
    return found;
  }

 private:
  Mounts mounts_;
};

template <class T>
std::unique_ptr<DataParallel<T>> make_parallel(RankContext& context, const ParameterLayout& layout, const Cut& cut) {
  return std::make_unique<DataParallel<T>>(context, layout, cut.zero_stage, cut.bucket, Decay::kAll);
}

template <class T>
Task<SaveResult> save_state(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan,
                            TrainCounters counters) {
  const std::vector<std::int64_t> none;
  SaveRequest request = co_await snapshot_training_state(context, parallel, plan, std::move(counters), none);
  const SaveResult result = co_await publish_training_state(parallel.group(), std::move(request));
  co_return result;
}

template <class T>
Task<> save_values(RankContext& context, const ParameterLayout& layout, Cut cut) {
  const auto parallel = make_parallel<T>(context, layout, cut);
  for (const ShardPiece& piece : parallel->pieces()) {
    const std::string& name = layout.tensors()[static_cast<std::size_t>(piece.tensor)].name;
    std::byte* const parts[] = {piece.master, piece.m, piece.v};
    for (const Part part : {kMaster, kFirstMoment, kSecondMoment}) {
      for (std::int64_t i = 0; i < piece.count; ++i) {
        const T value = value_of<T>(name, piece.offset + i, part);
        std::memcpy(parts[part] + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
      }
    }
  }
  co_await parallel->restore();
  const CheckpointPlan plan = plan_of(cut);
  co_await open_checkpoints(context, *parallel, plan);
  const TrainCounters counters = counters_after_4();
  const SaveResult result = co_await save_state(context, *parallel, plan, counters);
  EXPECT_EQ(result.problem, "");
}

// Elements of every part that differ from what was saved; of parameters, too.
template <class T>
std::int64_t count_wrong(DataParallel<T>& parallel, const ParameterLayout& layout, std::int64_t& looked_at) {
  std::int64_t wrong = 0;
  for (const ShardPiece& piece : parallel.pieces()) {
    const std::string& name = layout.tensors()[static_cast<std::size_t>(piece.tensor)].name;
    const std::byte* const parts[] = {piece.master, piece.m, piece.v};
    for (const Part part : {kMaster, kFirstMoment, kSecondMoment}) {
      // Padding is in no piece's tensor.
      for (std::int64_t i = 0; i < piece.count; ++i) {
        const T value = value_of<T>(name, piece.offset + i, part);
        wrong += std::memcmp(parts[part] + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T)) != 0 ? 1 : 0;
        ++looked_at;
      }
    }
  }
  if (parallel.shards_parameters()) {
    for (const ShardPiece& piece : parallel.pieces()) {
      const auto bytes = static_cast<std::size_t>(piece.count) * sizeof(T);
      wrong += std::memcmp(piece.parameters, piece.master, bytes) != 0 ? 1 : 0;
    }
    return wrong;
  }
  for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
    for (std::int64_t i = 0; i < layout.tensors()[t].numel; ++i) {
      wrong += parallel.parameters().tensors[t][i] != value_of<T>(layout.tensors()[t].name, i, kMaster) ? 1 : 0;
    }
  }
  return wrong;
}

struct Found {
  std::int64_t wrong = 0;
  std::int64_t elements = 0;  // of master weights and moments, over the ranks
};

// Loads on `cut` what was saved on `from`, looks at it, and saves it again.
template <class T>
Task<> load_and_save(RankContext& context, const ParameterLayout& layout, Cut from, Cut cut, Found* found) {
  const auto parallel = make_parallel<T>(context, layout, cut);
  CheckpointPlan plan = plan_of(cut);
  plan.reshard_from.push_back(arithmetic_of(from));
  co_await open_checkpoints(context, *parallel, plan);
  const TrainCounters counters = co_await load_training_state(context, *parallel, plan, 4);
  EXPECT_EQ(counters.step, 4);
  EXPECT_EQ(counters.batch_index, 6);
  EXPECT_EQ(counters.applied_steps, 3);
  EXPECT_EQ(counters.guards, counters_after_4().guards);
  found->wrong += count_wrong(*parallel, layout, found->elements);
  const SaveResult result = co_await save_state(context, *parallel, plan, counters);
  EXPECT_EQ(result.problem, "");
}

template <class T>
void expect_round_trip(const Cut& from, const Cut& to) {
  SCOPED_TRACE("from " + std::to_string(from.ranks) + " ranks, stage " + std::to_string(from.zero_stage) + " to " +
               std::to_string(to.ranks) + ", stage " + std::to_string(to.zero_stage) + ", buckets of " +
               std::to_string(from.bucket) + " and " + std::to_string(to.bucket));
  const ParameterLayout layout(odd_model());
  ReshardedJob job;
  job.run(from.ranks, [&](RankContext& context) { return save_values<T>(context, layout, from); });
  const auto first = job.files();
  ASSERT_EQ(std::ssize(first), from.ranks + 2);

  Found there;
  job.run(to.ranks, [&](RankContext& context) { return load_and_save<T>(context, layout, from, to, &there); });
  EXPECT_EQ(there.wrong, 0);
  EXPECT_EQ(there.elements, 3 * layout.total() * (to.zero_stage == 0 ? to.ranks : 1));
  const auto second = job.files();
  EXPECT_EQ(std::ssize(second), to.ranks + 2);
  EXPECT_NE(second, first);
  const std::string model = "checkpoints/step_000004/" + std::string(kModelFile);
  EXPECT_EQ(second.at(model), first.at(model));

  Found back;
  job.run(from.ranks, [&](RankContext& context) { return load_and_save<T>(context, layout, to, from, &back); });
  EXPECT_EQ(back.wrong, 0);
  EXPECT_EQ(job.files(), first);
}

Cut cut_of(int ranks, int zero_stage, std::int64_t bucket) {
  Cut cut;
  cut.ranks = ranks;
  cut.zero_stage = zero_stage;
  cut.bucket = bucket;
  return cut;
}

const std::vector<int> kRanks = {1, 2, 3, 4, 5, 7};

template <class T>
void expect_all_pairs(int stage, int other_stage, std::int64_t bucket, std::int64_t other_bucket) {
  for (const int ranks : kRanks) {
    for (const int others : kRanks) {
      if (ranks != others)
        expect_round_trip<T>(cut_of(ranks, stage, bucket), cut_of(others, other_stage, other_bucket));
    }
  }
}

TEST(Reshard, StateIsEqualByNameOnAnyNumberOfRanksAndBack) {
  expect_all_pairs<float>(1, 1, 0, 0);
  expect_all_pairs<double>(1, 1, 0, 0);
}

TEST(Reshard, AlsoWhereEveryRankHoldsTheWholeOptimizer) {
  expect_all_pairs<float>(0, 0, 0, 0);
  expect_all_pairs<double>(0, 0, 0, 0);
}

// 48 elements in units: chunks of 16, and ranks with nothing but padding.
TEST(Reshard, AlsoAcrossStagesAndBuckets) {
  expect_all_pairs<float>(1, 0, 48, 48);
  expect_all_pairs<double>(0, 1, 100, 0);
  expect_all_pairs<float>(1, 1, 0, 48);
}

TEST(Reshard, AlsoWhereGradientsOrParametersAreSharded) {
  expect_all_pairs<float>(3, 3, 48, 0);
  expect_all_pairs<double>(3, 0, 100, 48);
  expect_all_pairs<float>(2, 3, 48, 48);
}

// Without being asked, nobody takes over a checkpoint that was cut for others.
TEST(Reshard, IsRefusedWhereNobodyAskedForIt) {
  const ParameterLayout layout(odd_model());
  for (const int others : {1, 3, 5}) {
    ReshardedJob job;
    const Cut from = cut_of(4, 1, 0);
    const Cut to = cut_of(others, 1, 0);
    job.run(4, [&](RankContext& context) { return save_values<float>(context, layout, from); });
    const auto first = job.files();
    Found found;
    try {
      // It is told of another job than the one that saved.
      job.run(others,
              [&](RankContext& context) { return load_and_save<float>(context, layout, cut_of(9, 1, 0), to, &found); });
      FAIL();
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what())
                    .find("world_size of the checkpoint is 4, of this job " + std::to_string(others) +
                          "; other ranks continue it where resharding"),
                std::string::npos)
          << error.what();
    }
    EXPECT_EQ(found.elements, 0);
    EXPECT_EQ(job.files(), first);
  }
}

}  // namespace
}  // namespace rehearse
