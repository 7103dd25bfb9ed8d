#include "core/checkpoint/tier_load.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/spread_load.h"

namespace rehearse {
namespace {

// What rank 0 tells of the checkpoint to try: step and, for one of the local disks, the rank with its manifest.
constexpr std::int64_t kNoneLeft = -1;
constexpr std::int64_t kRemoteAlone = -1;

struct Candidate {
  std::int64_t step = 0;
  const SpreadCheckpoint* spread = nullptr;  // null: the shared storage's
  bool in_remote = false;
};

bool contains(const std::vector<std::int64_t>& steps, std::int64_t step) {
  return std::binary_search(steps.begin(), steps.end(), step);
}

// On rank 0: what to try, the first one last. Throws StorageError.
Task<std::vector<Candidate>> candidates(Storage& storage, StoragePath remote, std::int64_t newest_step,
                                        const CheckpointChoice& choice, const std::vector<SpreadCheckpoint>& spread) {
  std::vector<std::int64_t> in_remote = co_await list_checkpoints(storage, remote);
  std::erase_if(in_remote, [newest_step](std::int64_t step) { return step > newest_step; });
  const TrustedSteps trusted = co_await trusted_for(storage, remote, choice);
  std::map<std::int64_t, StoredCheckpoint> stored;
  const auto add = [&](std::int64_t step) -> StoredCheckpoint& {
    StoredCheckpoint& one = stored[step];
    one.step = step;
    one.remote = contains(in_remote, step);
    one.trusted = one.remote && contains(trusted.remote, step);
    return one;
  };
  for (const std::int64_t step : in_remote) add(step);
  for (const SpreadCheckpoint& one : spread) {
    if (!one.is_complete()) continue;
    StoredCheckpoint& there = add(one.step);
    there.local = true;
    there.trusted_local = contains(trusted.local, one.step);
  }
  std::vector<StoredCheckpoint> all;
  for (const auto& [step, one] : stored) all.push_back(one);
  std::vector<Candidate> chosen;
  for (const std::int64_t step : choice.order(all)) {
    // The copies of one tier may be of the past that is trusted, and those of the other not.
    const bool all_count = !stored[step].is_trusted();
    const bool local_counts = all_count || contains(trusted.local, step);
    const bool remote_counts = contains(in_remote, step) && (all_count || stored[step].trusted);
    // What was saved last at that step comes first.
    for (auto one = spread.rbegin(); local_counts && one != spread.rend(); ++one) {
      if (one->step != step || (!one->is_complete() && !remote_counts)) continue;
      chosen.push_back(Candidate{step, &*one, remote_counts});
    }
    if (remote_counts) chosen.push_back(Candidate{step, nullptr, true});
  }
  std::reverse(chosen.begin(), chosen.end());
  co_return chosen;
}

// The shared storage's checkpoint, as a job without tiers loads it. Gives why it is refused.
Task<std::string> load_remote(RankContext& context, CheckpointCoordinator& coordinator, StoragePath directory,
                              const LoadRequest& request, std::optional<LoadedCheckpoint>& loaded) {
  std::string reason;
  try {
    loaded = co_await load_agreed(context, coordinator, directory, request);
  } catch (const InputError& error) {
    reason = error.what();
  } catch (const UnreadableCheckpoint& error) {
    reason = error.what();
  }
  co_return reason;
}

// The manifest's text, which rank `from` has, on every rank.
Task<std::string> share_manifest(RankContext& context, ShardCarrier& carrier, int from, std::string own) {
  std::vector<int> others;
  for (int rank = 0; rank < context.world_size(); ++rank) {
    if (rank != from) others.push_back(rank);
  }
  if (others.empty()) co_return own;
  Payload mine = host_payload(own);
  const Payload data = co_await carrier.carry(std::move(mine), from, std::move(others));
  if (context.rank() == from) co_return own;
  co_return std::string(data.text());
}

// What every rank has to say, on every rank.
Task<std::vector<std::string>> share_lines(RankContext& context, ShardCarrier& carrier, std::vector<std::string> mine) {
  std::string text;
  for (const std::string& one : mine) {
    text += "rank " + std::to_string(context.rank()) + ": " + to_one_line(one) + "\n";
  }
  const std::vector<std::string> texts = co_await carrier.gather(std::move(text));
  std::string all;
  for (const std::string& one : texts) all += one;
  all = co_await carrier.broadcast(std::move(all));
  std::vector<std::string> lines;
  for (const std::string_view line : lines_of(all)) lines.emplace_back(line);
  co_return lines;
}

}  // namespace

Task<LoadOutcome> load_first_of_tiers(RankContext& context, ShardCarrier& carrier, StoragePath remote,
                                      StoragePath local, LoadRequest request, std::int64_t newest_step,
                                      CheckpointChoice choice) {
  LoadOutcome outcome;
  LocalInventory inventory = co_await take_inventory(context.storage(), local, newest_step);
  std::string report = write_copies(inventory.copies);
  const std::vector<std::string> reports = co_await carrier.gather(std::move(report));
  outcome.refused_copies = co_await share_lines(context, carrier, std::move(inventory.problems));
  const bool leads = context.rank() == 0;
  std::vector<SpreadCheckpoint> spread;
  std::vector<Candidate> left;
  if (leads) {
    std::vector<std::vector<LocalCopy>> disks;
    for (const std::string& one : reports) disks.push_back(parse_copies(one));
    spread = spread_over_disks(disks);
    left = co_await candidates(context.storage(), remote, newest_step, choice, spread);
  }
  while (true) {
    std::vector<std::int64_t> numbers = {kNoneLeft, kRemoteAlone};
    Candidate next;
    if (!left.empty()) {
      next = left.back();
      left.pop_back();
      numbers[0] = next.step;
      if (next.spread != nullptr) numbers[1] = next.spread->manifest_at;
    }
    const std::string told = co_await carrier.broadcast(write_numbers(numbers));
    numbers = parse_numbers(told);
    RejectedCheckpoint rejected;
    rejected.step = numbers[0];
    if (rejected.step == kNoneLeft) co_return outcome;
    const StoragePath directory = remote.child(step_directory_name(rejected.step));
    if (numbers[1] == kRemoteAlone) {
      rejected.reason = co_await load_remote(context, carrier, directory, request, outcome.checkpoint);
    } else {
      const auto from = static_cast<int>(numbers[1]);
      std::string own;
      if (context.rank() == from) own = inventory.manifests.at(rejected.step);
      own = co_await share_manifest(context, carrier, from, std::move(own));
      const StoragePath on_disk = local.child(step_directory_name(rejected.step));
      SpreadLoad load(context, carrier, on_disk, directory, request, next.spread);
      rejected.reason = co_await load.run(std::move(own), next.in_remote);
      for (const std::string& one : load.refused()) outcome.refused_copies.push_back(one);
      if (rejected.reason.empty()) outcome.checkpoint = std::move(load.loaded());
    }
    if (rejected.reason.empty()) co_return outcome;
    outcome.rejected.push_back(std::move(rejected));
  }
}

}  // namespace rehearse
