#include "core/checkpoint/local_save.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/load.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/save_parts.h"
#include "core/checkpoint/shard_file.h"

namespace rehearse {
namespace {

// First byte of what rank 0 tells: the rest is what to go on with, or what went wrong.
constexpr char kGoOn = '+';
constexpr char kFailed = '-';

// One rank's part of one save.
class LocalSave {
 public:
  LocalSave(RankContext& context, ShardCarrier& carrier, const SaveRequest& request)
      : context_(context),
        carrier_(carrier),
        request_(request),
        storage_(context.storage()),
        parent_(request.local->parent),
        building_(parent_.child(building_directory_name(request.step, context.generation()))),
        published_(parent_.child(step_directory_name(request.step))) {}

  Task<SaveResult> run() {
    std::string report = co_await write_shards();
    const std::vector<std::string> reports = co_await carrier_.gather(std::move(report));
    std::string run_state;
    std::string manifest;
    if (leads()) manifest = describe(reports, run_state);
    manifest = co_await carrier_.broadcast(std::move(manifest));
    SaveResult result;
    if (manifest[0] == kFailed) {
      result.problem = manifest.substr(1);
    } else {
      manifest.erase(0, 1);
      run_state = co_await carrier_.broadcast(std::move(run_state));
      std::string problem = co_await publish(manifest, run_state);
      const std::vector<std::string> problems = co_await carrier_.gather(std::move(problem));
      std::string verdict;
      if (leads()) verdict = verdict_on(problems);
      verdict = co_await carrier_.broadcast(std::move(verdict));
      if (verdict[0] == kFailed) {
        result.problem = verdict.substr(1);
      } else {
        const std::vector<std::int64_t> keep_also = parse_numbers(std::string_view(verdict).substr(1));
        if (request_.keep > 0) co_await rotate(keep_also, result);
      }
    }
    if (!result.saved()) co_await take_back();
    co_return result;
  }

 private:
  bool leads() const { return context_.rank() == 0; }

  // Own shard first, then the other rank's, whatever becomes of the first: everybody takes part in handing them on.
  Task<std::string> write_shards() {
    std::string problem = request_.shard.problem;
    try {
      // It may not have been possible when the job started.
      co_await make_durable_directory(storage_, parent_);
      co_await remove_directory(storage_, building_);  // of an attempt that was cut short
      co_await storage_.make_directory(building_);
      if (problem.empty()) co_await write(request_.shard.record.file.file, request_.shard.file);
    } catch (const StorageError& error) {
      problem = error.what();
    }
    const int shift = replica_shift(*request_.local, context_.world_size());
    if (shift > 0) {
      replica_ = co_await carrier_.pass_on(request_.shard.file, shift);
      replica_of_ = (context_.rank() - shift + context_.world_size()) % context_.world_size();
    }
    try {
      if (problem.empty() && shift > 0) co_await write(shard_file_name(replica_of_), replica_);
    } catch (const StorageError& error) {
      problem = error.what();
    }
    if (!problem.empty()) co_return report_failed(problem);
    co_return report_written(request_.shard.record);
  }

  Task<> write(std::string name, Payload data) {
    const StoragePath file = building_.child(name);
    co_await write_durable(storage_, file, std::move(data));
  }

  // On rank 0: the manifest, or what went wrong on any rank.
  std::string describe(const std::vector<std::string>& reports, std::string& run_state) const {
    std::vector<ShardRecord> shards;
    const std::string problem = collect_reports(reports, shards);
    if (!problem.empty()) return kFailed + problem;
    CHECK(request_.draft != nullptr);
    const CheckpointRest rest = rest_of(*request_.draft, std::move(shards));
    run_state = std::string(rest.files.at(kRunStateFile).text());
    return kGoOn + rest.manifest;
  }

  // Gives what went wrong.
  Task<std::string> publish(std::string manifest, std::string run_state) {
    std::string problem;
    try {
      check_replica(manifest);
      Payload state_data = host_payload(run_state);
      co_await write(kRunStateFile, std::move(state_data));
      // Every name in the directory is durable before the manifest's, whatever order the disk writes them in.
      co_await storage_.fsync_directory(building_);
      Payload manifest_data = host_payload(manifest);
      co_await write(kManifestFile, std::move(manifest_data));
      co_await storage_.fsync_directory(building_);
      co_await place();
    } catch (const StorageError& error) {
      problem = error.what();
    } catch (const InputError& error) {
      problem = error.what();
    }
    co_return problem;
  }

  // What came over the network is what the other rank has written.
  void check_replica(const std::string& manifest_text) const {
    if (!replica_.has_data() || replica_.size() == Bytes()) return;
    const Manifest manifest = parse_manifest(manifest_text, "the manifest of rank 0");
    const FileRecord& record = manifest.shards[static_cast<std::size_t>(replica_of_)].file;
    check_file(record, replica_.bytes(), building_.child(record.file).text());
  }

  Task<> place() {
    const StoragePath replaced = parent_.child(replaced_directory_name(request_.step));
    co_await remove_directory(storage_, replaced);
    try {
      // Of before the job went back.
      co_await storage_.rename(published_, replaced);
    } catch (const StorageError& error) {
      if (error.kind() != StorageError::Kind::kNotFound) throw;
    }
    placed_ = true;
    co_await storage_.rename(building_, published_);
    co_await storage_.fsync_directory(parent_);
    co_await remove_directory_quietly(storage_, replaced);
  }

  // On rank 0.
  std::string verdict_on(const std::vector<std::string>& problems) const {
    const std::string problem = merge_problems(problems);
    return problem.empty() ? kGoOn + write_numbers(request_.keep_also) : kFailed + problem;
  }

  Task<> rotate(std::vector<std::int64_t> keep_also, SaveResult& result) {
    try {
      std::vector<std::int64_t> steps = co_await list_checkpoints(storage_, parent_);
      // Newer ones stay, as in a save to the shared storage. Of the others a disk may have parts that nobody else has.
      std::erase_if(steps, [&](std::int64_t step) {
        return step >= request_.step || std::find(keep_also.begin(), keep_also.end(), step) != keep_also.end();
      });
      result.deleted = steps;
      co_await delete_checkpoints(storage_, parent_, result.deleted);
    } catch (const StorageError& error) {
      result.rotation_problem =
          "older ones could not be deleted: rank " + std::to_string(context_.rank()) + ": " + std::string(error.what());
    }
  }

  // Nobody may count on it.
  Task<> take_back() {
    try {
      if (placed_) {
        const std::vector<std::int64_t> step = {request_.step};
        co_await delete_checkpoints(storage_, parent_, step);
      }
    } catch (const StorageError&) {
      // It counts where the disks together have all of it, and then it is whole.
    }
    co_await remove_directory_quietly(storage_, building_);
  }

  RankContext& context_;
  ShardCarrier& carrier_;
  const SaveRequest& request_;
  Storage& storage_;
  StoragePath parent_;
  StoragePath building_;
  StoragePath published_;
  Payload replica_;
  int replica_of_ = 0;
  bool placed_ = false;
};

}  // namespace

Task<SaveResult> save_locally(RankContext& context, ShardCarrier& carrier, SaveRequest request) {
  CHECK(request.local.has_value());
  LocalSave save(context, carrier, request);
  SaveResult result = co_await save.run();
  co_return result;
}

}  // namespace rehearse
