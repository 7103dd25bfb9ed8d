#include "core/checkpoint/local_tier.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/run_state.h"
#include "core/checkpoint/verify.h"

namespace rehearse {
namespace {

// Reads what a directory says of itself; throws InputError or StorageError.
Task<> read_copy(Storage& storage, StoragePath directory, LocalCopy& copy, std::string& manifest_text) {
  const StoragePath manifest_path = directory.child(kManifestFile);
  const Payload manifest_data = co_await storage.read(manifest_path);
  const Manifest manifest = parse_manifest(manifest_data.text(), manifest_path.text());
  const StoragePath state_path = directory.child(kRunStateFile);
  const Payload state_data = co_await storage.read(state_path);
  const RunState state = parse_run_state_of(manifest_data.text(), state_data.text(), state_path.text());
  if (manifest.step != copy.step) {
    throw InputError(manifest_path.text() + ": is of step " + std::to_string(manifest.step));
  }
  copy.manifest_sha256 = state.manifest_sha256;
  copy.generation = state.generation;
  copy.saved = state.simulated_time;
  copy.world_size = manifest.world_size;
  manifest_text = std::string(manifest_data.text());
  const std::vector<std::string> names = co_await storage.list(directory);
  for (const std::string& name : names) {
    const std::optional<std::int64_t> shard = rank_of_shard_file(name);
    if (shard.has_value() && *shard < manifest.world_size) copy.shards.push_back(*shard);
  }
  std::sort(copy.shards.begin(), copy.shards.end());
}

}  // namespace

int replica_shift(const LocalTier& tier, int ranks) {
  const std::int64_t per_host = tier.ranks_per_host;
  const std::int64_t hosts = (ranks + per_host - 1) / per_host;
  if (tier.replica_distance == 0 || hosts == 1) return 0;
  // Where fewer hosts are left than it is far, the next one is better than none.
  const std::int64_t shift = std::max<std::int64_t>(tier.replica_distance % hosts, 1) * per_host;
  // Between these every rank's is on another host: from a full one and from one with fewer ranks.
  return static_cast<int>(std::clamp(shift, per_host, std::max(per_host, ranks - per_host)));
}

Task<LocalInventory> take_inventory(Storage& storage, StoragePath parent, std::int64_t newest_step) {
  LocalInventory inventory;
  std::vector<std::int64_t> steps;
  try {
    steps = co_await list_checkpoints(storage, parent);
  } catch (const StorageError& error) {
    inventory.problems.emplace_back(error.what());
  }
  for (const std::int64_t step : steps) {
    if (step > newest_step) continue;
    LocalCopy copy;
    copy.step = step;
    std::string manifest;
    const StoragePath directory = parent.child(step_directory_name(step));
    try {
      co_await read_copy(storage, directory, copy, manifest);
      inventory.manifests.emplace(step, std::move(manifest));
      inventory.copies.push_back(std::move(copy));
    } catch (const InputError& error) {
      inventory.problems.emplace_back(error.what());
    } catch (const StorageError& error) {
      inventory.problems.emplace_back(error.what());
    }
  }
  co_return inventory;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    CHECK(end != std::string_view::npos);
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string to_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string write_numbers(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += ' ';
    text += std::to_string(number);
  }
  return text;
}

std::vector<std::int64_t> parse_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + end, number);
    CHECK(error == std::errc() && stop == text.data() + end);
    numbers.push_back(number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return numbers;
}

// A line a copy: the manifest's digest, then numbers.
std::string write_copies(const std::vector<LocalCopy>& copies) {
  std::string text;
  for (const LocalCopy& copy : copies) {
    std::vector<std::int64_t> numbers = {copy.step, copy.generation, copy.saved.since_start().ps(), copy.world_size};
    numbers.insert(numbers.end(), copy.shards.begin(), copy.shards.end());
    text += copy.manifest_sha256 + " " + write_numbers(numbers) + "\n";
  }
  return text;
}

std::vector<LocalCopy> parse_copies(std::string_view text) {
  std::vector<LocalCopy> copies;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t space = line.find(' ');
    CHECK(space != std::string_view::npos);
    const std::vector<std::int64_t> numbers = parse_numbers(line.substr(space + 1));
    CHECK_GE(numbers.size(), std::size_t{4});
    LocalCopy copy;
    copy.manifest_sha256 = std::string(line.substr(0, space));
    copy.step = numbers[0];
    copy.generation = numbers[1];
    copy.saved = TimePoint::at(Duration::picoseconds(numbers[2]));
    copy.world_size = numbers[3];
    copy.shards.assign(numbers.begin() + 4, numbers.end());
    copies.push_back(std::move(copy));
  }
  return copies;
}

bool SpreadCheckpoint::is_complete() const {
  return std::none_of(holders.begin(), holders.end(), [](const std::vector<int>& ranks) { return ranks.empty(); });
}

std::vector<SpreadCheckpoint> spread_over_disks(const std::vector<std::vector<LocalCopy>>& disks) {
  std::map<std::pair<std::int64_t, std::string>, SpreadCheckpoint> found;  // by step and manifest
  for (std::size_t rank = 0; rank < disks.size(); ++rank) {
    for (const LocalCopy& copy : disks[rank]) {
      SpreadCheckpoint& one = found[std::pair(copy.step, copy.manifest_sha256)];
      if (one.holders.empty()) {
        one.step = copy.step;
        one.manifest_sha256 = copy.manifest_sha256;
        one.manifest_at = static_cast<int>(rank);
        one.holders.resize(static_cast<std::size_t>(copy.world_size));
      }
      const auto saved = std::pair(copy.generation, copy.saved);
      if (std::pair(one.generation, one.saved) < saved) std::tie(one.generation, one.saved) = saved;
      for (const std::int64_t shard : copy.shards) {
        one.holders[static_cast<std::size_t>(shard)].push_back(static_cast<int>(rank));
      }
    }
  }
  std::vector<SpreadCheckpoint> all;
  for (auto& [key, one] : found) all.push_back(std::move(one));
  std::stable_sort(all.begin(), all.end(), [](const SpreadCheckpoint& a, const SpreadCheckpoint& b) {
    return std::tie(a.step, a.generation, a.saved) < std::tie(b.step, b.generation, b.saved);
  });
  return all;
}

}  // namespace rehearse
