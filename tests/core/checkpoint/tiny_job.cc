#include "tests/core/checkpoint/tiny_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/digest.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/local_save.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/tier_load.h"
#include "sim/storage/local_disks.h"

namespace rehearse {
namespace {

struct TinyUnit {
  std::int64_t flat_offset;
  std::int64_t numel;
};
constexpr TinyUnit kUnits[] = {{35, 22}, {0, 35}};

std::vector<int> all_ranks(int count) {
  std::vector<int> ranks;
  for (int rank = 0; rank < count; ++rank) ranks.push_back(rank);
  return ranks;
}

std::int64_t padded(std::int64_t numel, int ranks) { return (numel + 16 * ranks - 1) / (16 * ranks) * 16 * ranks; }

std::string tiny_arithmetic(int ranks) { return sha256_hex("arithmetic of " + std::to_string(ranks)); }

Manifest tiny_manifest(int ranks, std::int64_t step) {
  Manifest manifest;
  manifest.world_size = ranks;
  manifest.layout.data = ranks;
  manifest.zero_stage = 1;
  manifest.step = step;
  manifest.batch_index = step;
  manifest.applied_steps = step;
  manifest.schedule.lr = 0.005;
  manifest.schedule.total_steps = 20;
  manifest.arithmetic_sha256 = tiny_arithmetic(ranks);
  manifest.parameters = {{"embed.weight", {5, 7}}, {"ln.bias", {4}}, {"head.weight", {3, 6}}};
  manifest.units = {{"ln.bias", 2, 22, padded(22, ranks)}, {"embed.weight", 1, 35, padded(35, ranks)}};
  return manifest;
}

Payload tiny_model(const Manifest& manifest, const std::vector<float>& master) {
  std::vector<TensorView> tensors;
  std::size_t offset = 0;
  for (const ParameterRecord& parameter : manifest.parameters) {
    const auto count = static_cast<std::size_t>(parameter.numel());
    TensorView tensor;
    tensor.name = parameter.name;
    tensor.shape = parameter.shape;
    tensor.data = std::as_bytes(std::span(master).subspan(offset, count));
    tensors.push_back(tensor);
    offset += count;
  }
  return host_payload(write_model_file(tensors));
}

std::shared_ptr<const CheckpointDraft> tiny_draft(RankContext& context, std::int64_t step, float salt) {
  auto draft = std::make_shared<CheckpointDraft>();
  draft->manifest = tiny_manifest(context.world_size(), step);
  draft->model = tiny_model(draft->manifest, tiny_values(step, 1, salt));
  draft->simulated_time = context.clock().now();
  draft->generation = context.generation();
  draft->scenario_sha256 = sha256_hex("scenario");
  draft->scenario_text = "name: \"tiny\"\n";
  CheckpointInput input;
  input.path = "data/text.txt";
  input.contents = std::make_shared<const std::string>("to be or not to be\n");
  input.sha256 = sha256_hex(*input.contents);
  draft->inputs.push_back(input);
  return draft;
}

}  // namespace

StarCoordinator::StarCoordinator(RankContext& context)
    : context_(context), group_(0, context.generation(), all_ranks(context.world_size()), context.rank()) {}

Task<std::vector<std::string>> StarCoordinator::gather(std::string mine) {
  const Call call(group_, sequence_++, Operation::kGather);
  std::vector<std::string> texts;
  if (context_.rank() != 0) {
    Payload payload = host_payload(mine);
    co_await context_.comm().send(call, 0, std::move(payload));
    co_return texts;
  }
  texts.push_back(mine);
  for (int peer = 1; peer < context_.world_size(); ++peer) {
    const Payload payload = co_await context_.comm().recv(call, peer);
    texts.emplace_back(payload.text());
  }
  co_return texts;
}

Task<std::string> StarCoordinator::broadcast(std::string from_rank_0) {
  const Call call(group_, sequence_++, Operation::kBroadcast);
  if (context_.rank() != 0) {
    const Payload payload = co_await context_.comm().recv(call, 0);
    co_return std::string(payload.text());
  }
  for (int peer = 1; peer < context_.world_size(); ++peer) {
    Payload payload = host_payload(from_rank_0);
    co_await context_.comm().send(call, peer, std::move(payload));
  }
  co_return from_rank_0;
}

Task<Payload> StarCoordinator::pass_on(Payload mine, int distance) {
  const Call call(group_, sequence_++, Operation::kPointToPoint);
  const int ranks = context_.world_size();
  const int to = (context_.rank() + distance) % ranks;
  const int from = (context_.rank() - distance + ranks) % ranks;
  Payload other = co_await context_.comm().exchange(call, to, std::move(mine), from);
  co_return other;
}

Task<Payload> StarCoordinator::carry(Payload own, int from, std::vector<int> to) {
  const Call call(group_, sequence_++, Operation::kPointToPoint);
  Payload data;
  for (const int peer : to) {
    if (context_.rank() == from) co_await context_.comm().send(call, peer, own);
    if (context_.rank() == peer) data = co_await context_.comm().recv(call, from);
  }
  co_return data;
}

StorageConfig fast_storage() {
  return StorageConfig{Duration::microseconds(100), Bandwidth::bits_per_second(8'000'000'000)};
}

StoragePath checkpoints() { return StoragePath("shared", "checkpoints"); }

Mounts empty_mounts(const StorageConfig& config) {
  Mounts mounts;
  mounts.add("shared", config);
  return mounts;
}

Mounts mounts_with_disks(int ranks, const StorageConfig& config) {
  Mounts mounts = empty_mounts(config);
  for (int rank = 0; rank < ranks; ++rank) mounts.add(kLocalMount + std::to_string(rank), config);
  return mounts;
}

std::vector<float> tiny_values(std::int64_t step, float part, float salt) {
  std::vector<float> values;
  for (int i = 0; i < 57; ++i) {
    values.push_back(static_cast<float>(i) + 0.125F * part + 100.0F * static_cast<float>(step) + salt);
  }
  return values;
}

std::vector<ShardRange> tiny_ranges(int rank, int ranks) {
  std::vector<ShardRange> ranges;
  for (std::int64_t unit = 0; unit < 2; ++unit) {
    const std::int64_t numel = kUnits[unit].numel;
    const std::int64_t chunk = padded(numel, ranks) / ranks;
    const std::int64_t begin = std::min(numel, rank * chunk);
    const std::int64_t end = std::min(numel, begin + chunk);
    if (begin < end) ranges.emplace_back(unit, begin, end - begin);
  }
  return ranges;
}

std::vector<FlatRange> tiny_wanted(int rank, int ranks) {
  std::vector<FlatRange> wanted;
  for (const ShardRange& range : tiny_ranges(rank, ranks)) {
    wanted.emplace_back(kUnits[range.unit].flat_offset + range.param_shard_offset, range.param_shard_numel);
  }
  return wanted;
}

ExpectedManifest tiny_expectation(int ranks) {
  const Manifest manifest = tiny_manifest(ranks, 1);
  ExpectedManifest expected;
  expected.world_size = manifest.world_size;
  expected.layout = manifest.layout;
  expected.zero_stage = manifest.zero_stage;
  expected.arithmetic_sha256 = manifest.arithmetic_sha256;
  expected.parameters = manifest.parameters;
  return expected;
}

Task<SaveResult> save_tiny(RankContext& context, std::int64_t step, SaveOptions options) {
  StarCoordinator coordinator(context);
  if (context.rank() == 0) co_await prepare_checkpoints(context.storage(), checkpoints());
  const int rank = context.rank();
  const std::vector<ShardRange> ranges = tiny_ranges(rank, context.world_size());
  const std::vector<FlatRange> places = tiny_wanted(rank, context.world_size());
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (int part = 1; part <= 3; ++part) {
      buffers.emplace_back(&context.memory(), MemoryKind::kOptimizer, DType::kFloat32, places[i].numel,
                           context.storing());
      if (context.storing() == Storing::kShapeOnly) continue;
      const std::vector<float> values = tiny_values(step, static_cast<float>(part), options.salt);
      std::copy_n(values.begin() + places[i].offset, places[i].numel, buffers.back().as<float>().begin());
    }
  }
  if (options.nan_rank == rank) buffers[1].as<float>()[2] = std::nanf("");
  std::vector<OwnedState> state;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    state.emplace_back(ranges[i], BufferView(buffers[3 * i]), BufferView(buffers[3 * i + 1]),
                       BufferView(buffers[3 * i + 2]));
  }
  Coordinates coordinates;
  coordinates.data = rank;
  ShardSnapshot snapshot = co_await snapshot_shard(context, coordinates, DType::kFloat32, std::move(state));
  SaveRequest request(checkpoints(), step, std::move(snapshot));
  request.keep = options.keep;
  request.keep_also = options.keep_also;
  if (rank == 0) request.draft = tiny_draft(context, step, options.salt);
  SaveResult result;
  if (options.local.has_value()) {
    request.local = options.local;
    co_await prepare_checkpoints(context.storage(), options.local->parent);
    result = co_await save_locally(context, coordinator, std::move(request));
  } else {
    result = co_await save_checkpoint(context, coordinator, std::move(request));
  }
  co_return result;
}

void run_ranks(int ranks, Mounts& mounts, const std::function<Task<>(RankContext&)>& program, Storing storing) {
  WorldConfig config;
  config.ranks = ranks;
  config.network.latency = Duration::microseconds(5);
  config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  config.device.rate = FlopRate::per_second(1'000'000'000'000);
  config.storing = storing;
  World world(config);
  world.set_storage([&mounts](Process& process) {
    return std::make_unique<SimStorage>(process, mounts, nullptr, kLocalMount + std::to_string(process.rank()));
  });
  world.start_all(program);
  EXPECT_EQ(world.run(), RunEnd::kDone) << describe_waiting(world.kernel().waiting());
  for (int rank = 0; rank < ranks; ++rank) {
    if (world.error(rank) != nullptr) std::rethrow_exception(world.error(rank));
    EXPECT_EQ(world.memory(rank).current(MemoryKind::kOptimizer), Bytes(0));
  }
}

std::vector<SaveResult> run_save(int ranks, Mounts& mounts, std::int64_t step, const SaveOptions& options,
                                 Storing storing) {
  std::vector<SaveResult> results(static_cast<std::size_t>(ranks));
  const auto program = [&](RankContext& context) -> Task<> {
    results[static_cast<std::size_t>(context.rank())] = co_await save_tiny(context, step, options);
  };
  run_ranks(ranks, mounts, program, storing);
  return results;
}

CheckpointChoice newest_first() {
  CheckpointChoice choice;
  choice.order = [](const std::vector<StoredCheckpoint>& stored) {
    std::vector<std::int64_t> steps;
    for (const StoredCheckpoint& one : stored) steps.insert(steps.begin(), one.step);
    return steps;
  };
  return choice;
}

std::vector<LoadOutcome> run_load_newest(int ranks, Mounts& mounts, bool reshard) {
  std::vector<LoadOutcome> outcomes(static_cast<std::size_t>(ranks));
  const auto program = [&](RankContext& context) -> Task<> {
    StarCoordinator coordinator(context);
    if (context.rank() == 0) co_await prepare_checkpoints(context.storage(), checkpoints());
    LoadRequest request(tiny_expectation(ranks), tiny_wanted(context.rank(), ranks));
    for (int others = 1; reshard && others <= 8; ++others) request.reshard_from.push_back(tiny_arithmetic(others));
    LoadOutcome outcome = co_await load_first(context, coordinator, checkpoints(), request, INT64_MAX, newest_first());
    outcomes[static_cast<std::size_t>(context.rank())] = std::move(outcome);
  };
  run_ranks(ranks, mounts, program);
  return outcomes;
}

std::vector<LoadOutcome> run_load_of_tiers(int ranks, Mounts& mounts, bool reshard) {
  std::vector<LoadOutcome> outcomes(static_cast<std::size_t>(ranks));
  const auto program = [&](RankContext& context) -> Task<> {
    StarCoordinator coordinator(context);
    const LocalTier tier;
    if (context.rank() == 0) co_await prepare_checkpoints(context.storage(), checkpoints());
    co_await prepare_checkpoints(context.storage(), tier.parent);
    LoadRequest request(tiny_expectation(ranks), tiny_wanted(context.rank(), ranks));
    for (int others = 1; reshard && others <= 8; ++others) request.reshard_from.push_back(tiny_arithmetic(others));
    LoadOutcome outcome = co_await load_first_of_tiers(context, coordinator, checkpoints(), tier.parent, request,
                                                       INT64_MAX, newest_first());
    outcomes[static_cast<std::size_t>(context.rank())] = std::move(outcome);
  };
  run_ranks(ranks, mounts, program);
  return outcomes;
}

std::set<std::string> directories(const Mounts& mounts) {
  const std::vector<std::string> names = mounts.at("shared").files.list("checkpoints");
  return {names.begin(), names.end()};
}

std::map<std::string, FileData> files_of(const std::map<std::string, FileData>& all, const std::string& directory) {
  const std::string prefix = "checkpoints/" + directory + "/";
  std::map<std::string, FileData> files;
  for (const auto& [path, data] : all) {
    if (path.starts_with(prefix)) files.emplace(path.substr(prefix.size()), data);
  }
  return files;
}

VerifiedCheckpoint verified(const std::map<std::string, FileData>& all, std::int64_t step) {
  const std::map<std::string, FileData> files = files_of(all, step_directory_name(step));
  CheckpointFiles views;
  for (const auto& [name, data] : files) views.emplace(name, data.bytes());
  return verify_checkpoint(views, step_directory_name(step));
}

bool has_values(const State& state, const std::vector<FlatRange>& ranges, std::int64_t step, float salt) {
  const std::vector<std::byte>* parts[] = {&state.master, &state.m, &state.v};
  for (int part = 0; part < 3; ++part) {
    const std::vector<float> all = tiny_values(step, static_cast<float>(part + 1), salt);
    std::vector<float> wanted;
    for (const FlatRange& range : ranges) {
      wanted.insert(wanted.end(), all.begin() + range.offset, all.begin() + range.offset + range.numel);
    }
    if (parts[part]->size() != wanted.size() * sizeof(float)) return false;
    if (!wanted.empty() && std::memcmp(parts[part]->data(), wanted.data(), parts[part]->size()) != 0) return false;
  }
  return true;
}

}  // namespace rehearse
