#include "core/checkpoint/load.h"

#include <algorithm>
#include <set>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/verify.h"

namespace rehearse {
namespace {

// First byte of what went wrong with a load: the rest says it in words.
constexpr char kRefused = '-';     // damaged, or not this job's
constexpr char kUnreadable = '!';  // the disk failed, which it may not do another time
constexpr char kLoaded = '=';      // the rest says what it was, and is the same on all ranks

// Paths of the files in a checkpoint's directory.
Task<std::set<std::string>> file_paths(Storage& storage, StoragePath directory) {
  const std::vector<std::string> names = co_await storage.list(directory);
  std::set<std::string> paths;
  for (const std::string& name : names) {
    if (name != kInputsDirectory) {
      paths.insert(name);
      continue;
    }
    const StoragePath inputs = directory.child(name);
    const std::vector<std::string> copies = co_await storage.list(inputs);
    for (const std::string& copy : copies) paths.insert(name + "/" + copy);
  }
  co_return paths;
}

void check_size(const FileRecord& record, const Payload& data, const std::string& source) {
  if (data.size().count() == record.bytes) return;
  throw InputError(source + ": has " + std::to_string(data.size().count()) + " bytes, but the checkpoint records " +
                   std::to_string(record.bytes));
}

// The files that belong to no rank: scenario, inputs and model.
Task<Bytes> verify_common_files(Storage& storage, StoragePath directory, const Manifest& manifest,
                                const RunState& run_state) {
  Bytes read;
  std::vector<FileRecord> records = {run_state.scenario};
  for (const InputRecord& input : run_state.inputs) {
    if (!input.copy) continue;
    FileRecord record;
    record.file = *input.copy;
    record.sha256 = input.sha256;
    record.bytes = input.bytes;
    records.push_back(record);
  }
  for (const FileRecord& record : records) {
    const StoragePath path = directory.child(record.file);
    const Payload data = co_await storage.read(path);
    check_file(record, data.bytes(), path.text());
    read += data.size();
  }
  const StoragePath path = directory.child(manifest.model.file);
  const Payload model = co_await storage.read(path);
  check_size(manifest.model, model, path.text());
  if (model.has_data()) check_model_file(manifest, model.bytes(), std::nullopt, path.text());
  read += model.size();
  co_return read;
}

// What a rank has loaded, or what a load that failed threw, where another checkpoint may do. A disk may show ranks
// checkpoints of different pasts under one name, each of them whole: so ranks say which manifest theirs has.
Task<std::string> try_load(RankContext& context, StoragePath directory, LoadRequest request,
                           std::optional<LoadedCheckpoint>& loaded) {
  std::string problem;
  try {
    loaded = co_await load_checkpoint(context, directory, request);
    problem = kLoaded + loaded->run_state.manifest_sha256;
  } catch (const InputError& error) {
    problem = kRefused + std::string(error.what());
  } catch (const StorageError& error) {
    problem = (error.kind() == StorageError::Kind::kIo ? kUnreadable : kRefused) + std::string(error.what());
  }
  co_return problem;
}

// Steps in `parent` up to `newest_step` to try, the last one first. Throws StorageError where they, or which of them
// are trusted, cannot be read: to start over because of that would give up all that is done.
Task<std::vector<std::int64_t>> candidates(Storage& storage, StoragePath parent, std::int64_t newest_step,
                                           const CheckpointChoice& choice) {
  const std::vector<std::int64_t> steps = co_await list_checkpoints(storage, parent);
  const TrustedSteps trusted = co_await trusted_for(storage, parent, choice);
  std::vector<StoredCheckpoint> stored;
  for (const std::int64_t step : steps) {
    if (step > newest_step) continue;
    StoredCheckpoint one;
    one.step = step;
    one.trusted = std::binary_search(trusted.remote.begin(), trusted.remote.end(), step);
    stored.push_back(one);
  }
  std::vector<std::int64_t> chosen = choice.order(stored);
  std::reverse(chosen.begin(), chosen.end());
  co_return chosen;
}

std::string merged(const std::vector<std::string>& problems) {
  std::string all;
  char worst = kUnreadable;
  const auto add = [&all](std::size_t rank, const std::string& what) {
    all += (all.empty() ? "rank " : "; rank ") + std::to_string(rank) + ": " + what;
  };
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (problems[rank][0] == kLoaded) continue;
    if (problems[rank][0] == kRefused) worst = kRefused;
    add(rank, problems[rank].substr(1));
  }
  if (!all.empty()) return worst + all;
  for (std::size_t rank = 1; rank < problems.size(); ++rank) {
    if (problems[rank] == problems[0]) continue;
    // It may see the same another time.
    worst = kUnreadable;
    add(rank, "reads another checkpoint of this name than rank 0");
  }
  return all.empty() ? all : worst + all;
}

// Every rank loads; where one fails, all forget what they loaded and get the same reason.
Task<std::string> load_together(RankContext& context, CheckpointCoordinator& coordinator, StoragePath directory,
                                const LoadRequest& request, std::optional<LoadedCheckpoint>& loaded) {
  std::string problem = co_await try_load(context, directory, request, loaded);
  const std::vector<std::string> problems = co_await coordinator.gather(std::move(problem));
  std::string verdict = merged(problems);
  verdict = co_await coordinator.broadcast(verdict);
  if (!verdict.empty()) loaded.reset();
  co_return verdict;
}

}  // namespace

void check_request(const Manifest& manifest, const LoadRequest& request, const std::string& source) {
  const auto& others = request.reshard_from;
  if (manifest.arithmetic_sha256 != request.expected.arithmetic_sha256 &&
      std::find(others.begin(), others.end(), manifest.arithmetic_sha256) != others.end()) {
    check_matches_for_resharding(manifest, request.expected, source);
  } else {
    check_matches(manifest, request.expected, source);
  }
  // Equal parameters, so a range outside them is a mistake of ours.
  for (const FlatRange& range : request.wanted) {
    CHECK(range.offset >= 0 && range.numel >= 0 && range.offset + range.numel <= manifest.numel());
  }
}

void check_shard(const ShardRecord& shard, const Payload& data, const std::string& source) {
  if (data.has_data()) {
    check_file(shard.file, data.bytes(), source);
  } else {
    check_size(shard.file, data, source);
  }
}

Task<TrustedSteps> trusted_for(Storage& storage, StoragePath parent, const CheckpointChoice& choice) {
  TrustedSteps trusted;
  std::string damage;
  try {
    if (choice.reads_trust) trusted = co_await read_trusted(storage, parent);
  } catch (const InputError& error) {
    damage = error.what();
  }
  if (!damage.empty()) choice.on_damaged_trust(damage);
  if (choice.reads_trust && choice.on_trust) choice.on_trust(trusted);
  co_return trusted;
}

std::string merge_problems(const std::vector<std::string>& problems) {
  std::string all;
  for (std::size_t rank = 0; rank < problems.size(); ++rank) {
    if (problems[rank].empty()) continue;
    all += (all.empty() ? "rank " : "; rank ") + std::to_string(rank) + ": " + problems[rank];
  }
  return all;
}

Task<LoadedCheckpoint> load_checkpoint(RankContext& context, StoragePath directory, LoadRequest request) {
  Storage& storage = context.storage();
  LoadedCheckpoint loaded;
  const StoragePath manifest_path = directory.child(kManifestFile);
  const Payload manifest_data = co_await storage.read(manifest_path);
  loaded.manifest = parse_manifest(manifest_data.text(), manifest_path.text());
  const Manifest& manifest = loaded.manifest;
  check_request(manifest, request, directory.text());

  const StoragePath state_path = directory.child(kRunStateFile);
  const Payload state_data = co_await storage.read(state_path);
  loaded.run_state = parse_run_state_of(manifest_data.text(), state_data.text(), state_path.text());
  const std::set<std::string> paths = co_await file_paths(storage, directory);
  check_file_names(manifest, loaded.run_state, paths, directory.text());
  loaded.read = manifest_data.size() + state_data.size();

  const bool has_elements = context.storing() == Storing::kElements;
  if (has_elements) {
    loaded.state = State(static_cast<std::size_t>(total_numel(request.wanted) * size_of(manifest.dtype)));
  }
  for (const ShardRecord& shard : manifest.shards) {
    const bool wanted = overlaps(manifest, shard, request.wanted);
    if (!wanted && shard.rank % context.world_size() != context.rank()) continue;
    const StoragePath path = directory.child(shard.file.file);
    const Payload data = co_await storage.read(path);
    check_size(shard.file, data, path.text());
    loaded.read += data.size();
    if (wanted) ++loaded.reads.shards_from_remote;
    if (!has_elements) continue;
    const StateView state = parse_shard_file(shard, manifest.dtype, data.bytes(), path.text());
    copy_overlap(manifest, shard, state, request.wanted, loaded.state);
  }
  if (context.rank() == 0) {
    const Bytes read = co_await verify_common_files(storage, directory, manifest, loaded.run_state);
    loaded.read += read;
  }
  loaded.reads.remote = loaded.read;
  co_return loaded;
}

Task<LoadedCheckpoint> load_agreed(RankContext& context, CheckpointCoordinator& coordinator, StoragePath directory,
                                   LoadRequest request) {
  std::optional<LoadedCheckpoint> loaded;
  const std::string verdict = co_await load_together(context, coordinator, directory, request, loaded);
  if (!verdict.empty() && verdict[0] == kUnreadable) throw UnreadableCheckpoint(verdict.substr(1));
  if (!verdict.empty()) throw InputError(verdict.substr(1));
  co_return std::move(*loaded);
}

Task<LoadOutcome> load_first(RankContext& context, CheckpointCoordinator& coordinator, StoragePath parent,
                             LoadRequest request, std::int64_t newest_step, CheckpointChoice choice) {
  const bool leads = context.rank() == 0;
  LoadOutcome outcome;
  std::vector<std::int64_t> steps;
  if (leads) steps = co_await candidates(context.storage(), parent, newest_step, choice);
  while (true) {
    std::string name;  // of a directory; empty: none is left
    if (!steps.empty()) name = step_directory_name(steps.back());
    name = co_await coordinator.broadcast(name);
    if (name.empty()) co_return outcome;
    const StoragePath directory = parent.child(name);
    RejectedCheckpoint rejected;
    rejected.step = step_of_directory(name).value();
    const std::string verdict = co_await load_together(context, coordinator, directory, request, outcome.checkpoint);
    if (verdict.empty()) co_return outcome;
    rejected.reason = verdict.substr(1);
    outcome.rejected.push_back(std::move(rejected));
    if (leads) steps.pop_back();
  }
}

}  // namespace rehearse
