#include "core/checkpoint/save.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/save_parts.h"
#include "core/checkpoint/verify.h"

namespace rehearse {
namespace {

std::span<const std::byte> bytes_of(const BufferView& view) {
  return {view.data, static_cast<std::size_t>(view.bytes().count())};
}

std::string of_rank_0(const StorageError& error) { return std::string("rank 0: ") + error.what(); }

// Rank 0 makes the directory that the ranks then fill. Gives what went wrong.
Task<std::string> start_building(Storage& storage, StoragePath building) {
  std::string problem;
  try {
    co_await remove_directory(storage, building);  // of an attempt that was cut short
    co_await storage.make_directory(building);
  } catch (const StorageError& error) {
    problem = of_rank_0(error);
  }
  co_return problem;
}

// A rank writes its shard and says how that went.
Task<std::string> write_shard(Storage& storage, StoragePath building, const ShardSnapshot& shard) {
  if (!shard.problem.empty()) co_return report_failed(shard.problem);
  std::string report = report_written(shard.record);
  const StoragePath file = building.child(shard.record.file.file);
  try {
    co_await write_durable(storage, file, shard.file);
    // The name, too: what rank 0 syncs later is without it where this rank's host is lost before.
    co_await storage.fsync_directory(building);
  } catch (const StorageError& error) {
    report = report_failed(error.what());
  }
  co_return report;
}

Task<> write_files(Storage& storage, StoragePath building, const CheckpointRest& rest) {
  bool has_inputs = false;
  const StoragePath inputs = building.child(kInputsDirectory);
  for (const auto& [name, data] : rest.files) {
    if (!has_inputs && name.starts_with(std::string(kInputsDirectory) + "/")) {
      co_await storage.make_directory(inputs);
      has_inputs = true;
    }
    const StoragePath file = building.child(name);
    co_await write_durable(storage, file, data);
  }
  if (has_inputs) co_await storage.fsync_directory(inputs);
  // Every name in the directory is durable before the manifest's, whatever order the disk writes them in.
  co_await storage.fsync_directory(building);
  const StoragePath manifest = building.child(kManifestFile);
  Payload text = host_payload(rest.manifest);
  co_await write_durable(storage, manifest, std::move(text));
  co_await storage.fsync_directory(building);
}

enum class Standing : std::uint8_t { kNone, kSame, kOther };

// In cost-only mode files are what their sizes say.
bool has_recorded_sizes(const std::map<std::string, Payload>& files, const Manifest& manifest) {
  std::vector<FileRecord> records = {manifest.model};
  for (const ShardRecord& shard : manifest.shards) records.push_back(shard.file);
  return std::all_of(records.begin(), records.end(), [&](const FileRecord& record) {
    const auto file = files.find(record.file);
    return file != files.end() && file->second.size().count() == record.bytes;
  });
}

// Whether a checkpoint of the step is there already, whole and with this manifest.
Task<Standing> standing_of(Storage& storage, StoragePath published, const std::string& manifest) {
  std::map<std::string, Payload> files;
  bool exists = true;
  try {
    files = co_await read_directory(storage, published);
  } catch (const StorageError& error) {
    exists = error.kind() != StorageError::Kind::kNotFound;
  }
  if (!exists) co_return Standing::kNone;
  CheckpointFiles views;
  bool has_bytes = true;
  for (const auto& [name, data] : files) {
    has_bytes = has_bytes && data.has_data();
    if (data.has_data()) views.emplace(name, data.bytes());
  }
  const auto found = files.find(kManifestFile);
  if (found == files.end() || found->second.text() != manifest) co_return Standing::kOther;
  Standing standing = Standing::kSame;
  if (!has_bytes) {
    if (!has_recorded_sizes(files, parse_manifest(manifest, published.text()))) standing = Standing::kOther;
    co_return standing;
  }
  try {
    verify_checkpoint(views, published.text());
  } catch (const InputError&) {
    standing = Standing::kOther;
  }
  co_return standing;
}

// Takes the name away again from a checkpoint that may not be durable, as nobody may count on it: it goes as a whole,
// and the one it replaced can come back.
Task<> withdraw(Storage& storage, StoragePath parent, std::int64_t step) {
  const StoragePath published = parent.child(step_directory_name(step));
  const StoragePath deleting = parent.child(deleting_directory_name(step));
  co_await remove_directory_quietly(storage, deleting);
  co_await storage.rename(published, deleting);
  try {
    // With the name back after a loss of power, it must be whole: so its files stay until this one is durable.
    co_await storage.fsync_directory(parent);
    co_await remove_directory(storage, deleting);
  } catch (const StorageError&) {
    // prepare_checkpoints clears it at the next start.
  }
}

// Gives the finished directory its name.
Task<> place(Storage& storage, StoragePath parent, StoragePath building, std::int64_t step,
             const std::string& manifest) {
  const StoragePath published = parent.child(step_directory_name(step));
  const StoragePath replaced = parent.child(replaced_directory_name(step));
  const Standing standing = co_await standing_of(storage, published, manifest);
  if (standing == Standing::kSame) {
    co_await storage.fsync_directory(parent);
    co_await remove_directory_quietly(storage, building);
    co_return;
  }
  if (standing == Standing::kOther) {
    co_await remove_directory(storage, replaced);
    co_await storage.rename(published, replaced);
  }
  co_await storage.rename(building, published);
  std::exception_ptr not_durable;
  try {
    co_await storage.fsync_directory(parent);
  } catch (const StorageError&) {
    not_durable = std::current_exception();
  }
  if (not_durable != nullptr) {
    co_await withdraw(storage, parent, step);
    std::rethrow_exception(not_durable);
  }
  if (standing == Standing::kOther) co_await remove_directory_quietly(storage, replaced);
}

// Puts back a checkpoint that `place` moved away before it failed.
Task<> restore_replaced(Storage& storage, StoragePath parent, std::int64_t step) {
  const StoragePath published = parent.child(step_directory_name(step));
  const StoragePath replaced = parent.child(replaced_directory_name(step));
  try {
    co_await storage.rename(replaced, published);
  } catch (const StorageError&) {
    // It was never moved, or its successor is in place.
  }
}

// Rank 0's part; gives what went wrong.
Task<std::string> publish(Storage& storage, const SaveRequest& request, StoragePath building,
                          const std::vector<std::string>& reports) {
  std::vector<ShardRecord> shards;
  std::string problem = collect_reports(reports, shards);
  if (problem.empty()) {
    const CheckpointRest rest = rest_of(*request.draft, std::move(shards));
    try {
      co_await write_files(storage, building, rest);
      co_await place(storage, request.parent, building, request.step, rest.manifest);
    } catch (const StorageError& error) {
      problem = of_rank_0(error);
    }
  }
  if (!problem.empty()) {
    co_await restore_replaced(storage, request.parent, request.step);
    co_await remove_directory_quietly(storage, building);
  }
  co_return problem;
}

Task<> rotate(Storage& storage, const SaveRequest& request, SaveResult& result) {
  try {
    std::vector<std::int64_t> steps = co_await list_checkpoints(storage, request.parent);
    // Newer ones are of before the job went back, and were refused then: they do not count as kept, until the job has
    // come to their steps again.
    std::erase_if(steps, [&request](std::int64_t step) { return step > request.step; });
    result.deleted = rotated_out(steps, request.keep, request.keep_also);
    co_await delete_checkpoints(storage, request.parent, result.deleted);
  } catch (const StorageError& error) {
    result.rotation_problem = "older ones could not be deleted: " + of_rank_0(error);
  }
}

std::string not_finite_in(const char* what, const OwnedState& owned, const BufferView& view, DType dtype) {
  const auto index = first_not_finite(dtype, std::span(view.data, static_cast<std::size_t>(view.bytes().count())));
  if (!index) return "";
  return std::string(what) + " has a NaN or an infinity at unit " + std::to_string(owned.range.unit) + ", element " +
         std::to_string(owned.range.param_shard_offset + *index) + "; such a checkpoint is never published";
}

}  // namespace

Task<ShardSnapshot> snapshot_shard(RankContext& context, Coordinates coordinates, DType dtype,
                                   std::vector<OwnedState> state) {
  ShardSnapshot snapshot;
  snapshot.record.rank = context.rank();
  snapshot.record.coordinates = coordinates;
  for (const OwnedState& owned : state) {
    for (const BufferView* view : {&owned.master, &owned.m, &owned.v}) {
      CHECK_EQ(view->count, owned.range.param_shard_numel);
      CHECK(view->dtype == dtype);
    }
    snapshot.record.ranges.push_back(owned.range);
  }
  const Bytes size(3 * total_numel(snapshot.record.ranges) * size_of(dtype));
  const auto copy = [&] {
    State host;
    const auto append = [](std::vector<std::byte>& to, const BufferView& view) {
      to.insert(to.end(), view.data, view.data + view.bytes().count());
    };
    for (const OwnedState& owned : state) {
      if (state.size() > 1) {
        append(host.master, owned.master);
        append(host.m, owned.m);
        append(host.v, owned.v);
      }
      if (snapshot.problem.empty()) snapshot.problem = not_finite_in("master", owned, owned.master, dtype);
      if (snapshot.problem.empty()) snapshot.problem = not_finite_in("m", owned, owned.m, dtype);
      if (snapshot.problem.empty()) snapshot.problem = not_finite_in("v", owned, owned.v, dtype);
    }
    // One range needs no gathering.
    const StateView whole = state.size() == 1
                                ? StateView(bytes_of(state[0].master), bytes_of(state[0].m), bytes_of(state[0].v))
                                : StateView(host.master, host.m, host.v);
    snapshot.file = Payload::own(write_shard_file(dtype, whole));
  };
  snapshot.file = Payload::shape_only(size_of_shard_file(dtype, total_numel(snapshot.record.ranges)));
  const ComputeCost cost(Flops(0), size);
  co_await context.device().run(cost, copy, Stream::kCopy);
  snapshot.record.file = record_of(shard_file_name(context.rank()), snapshot.file);
  co_return snapshot;
}

Task<SaveResult> save_checkpoint(RankContext& context, CheckpointCoordinator& coordinator, SaveRequest request) {
  Storage& storage = context.storage();
  const bool leads = context.rank() == 0;
  const StoragePath building = request.parent.child(building_directory_name(request.step, context.generation()));
  SaveResult result;
  if (leads) {
    CHECK(request.draft != nullptr);
    CHECK_EQ(request.draft->manifest.step, request.step);
    result.problem = co_await start_building(storage, building);
  }
  result.problem = co_await coordinator.broadcast(result.problem);
  if (!result.saved()) co_return result;

  std::string report = co_await write_shard(storage, building, request.shard);
  const std::vector<std::string> reports = co_await coordinator.gather(std::move(report));
  if (leads) result.problem = co_await publish(storage, request, building, reports);
  result.problem = co_await coordinator.broadcast(result.problem);
  if (leads && result.saved() && request.keep > 0) co_await rotate(storage, request, result);
  co_return result;
}

}  // namespace rehearse
