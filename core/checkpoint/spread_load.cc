#include "core/checkpoint/spread_load.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/checkpoint/shard_file.h"

namespace rehearse {
namespace {

// First byte of what a rank reports or rank 0 tells: the rest is what to go on with, or what went wrong.
constexpr char kGoOn = '+';
constexpr char kDone = '.';
constexpr char kFailed = '-';

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

ShardSources::ShardSources(const SpreadCheckpoint& spread, const std::vector<std::vector<std::int64_t>>& wants,
                           bool remote)
    : remote_(remote) {
  for (std::size_t s = 0; s < spread.holders.size(); ++s) {
    Shard shard;
    shard.index = static_cast<std::int64_t>(s);
    for (std::size_t rank = 0; rank < wants.size(); ++rank) {
      const auto& wanted = wants[rank];
      if (std::find(wanted.begin(), wanted.end(), shard.index) != wanted.end()) {
        shard.wanted_by.push_back(static_cast<int>(rank));
      }
    }
    if (shard.wanted_by.empty()) continue;
    shard.copies = spread.holders[s];
    // A rank that needs it itself, then the one that saved it, then whoever has a copy.
    std::stable_sort(shard.copies.begin(), shard.copies.end(), [&](int a, int b) {
      const auto order = [&](int rank) {
        return std::tuple(!contains(shard.wanted_by, rank), std::cmp_not_equal(rank, s));
      };
      return order(a) < order(b);
    });
    shards_.push_back(std::move(shard));
  }
}

std::vector<std::int64_t> ShardSources::to_read() const {
  std::vector<std::int64_t> pairs;
  for (const Shard& shard : shards_) {
    if (shard.settled || shard.copies.empty()) continue;
    pairs.push_back(shard.index);
    pairs.push_back(shard.copies.front());
  }
  return pairs;
}

void ShardSources::refuse(const std::vector<std::int64_t>& shards) {
  for (Shard& shard : shards_) {
    if (shard.settled || shard.copies.empty()) continue;
    if (std::find(shards.begin(), shards.end(), shard.index) != shards.end()) {
      shard.copies.erase(shard.copies.begin());
    } else {
      shard.settled = true;
    }
  }
}

std::optional<std::int64_t> ShardSources::missing() const {
  for (const Shard& shard : shards_) {
    if (shard.copies.empty() && !remote_) return shard.index;
  }
  return std::nullopt;
}

std::vector<std::int64_t> ShardSources::plan() const {
  std::vector<std::int64_t> plan;
  for (const Shard& shard : shards_) {
    const int source = shard.copies.empty() ? kRemote : shard.copies.front();
    std::vector<int> receivers = shard.wanted_by;
    std::erase(receivers, source);
    plan.push_back(shard.index);
    plan.push_back(source);
    plan.push_back(std::ssize(receivers));
    plan.insert(plan.end(), receivers.begin(), receivers.end());
  }
  return plan;
}

Task<std::string> SpreadLoad::run(std::string manifest_text, bool in_remote) {
  std::vector<std::int64_t> wanted;
  std::string report = parse(manifest_text, wanted);
  const std::vector<std::string> reports = co_await carrier_.gather(std::move(report));
  std::vector<std::int64_t> plan;
  const std::string refused = co_await choose_sources(reports, in_remote, plan);
  if (!refused.empty()) co_return refused;
  if (context_.storing() == Storing::kElements) {
    loaded_.state = State(static_cast<std::size_t>(total_numel(request_.wanted) * size_of(manifest().dtype)));
  }
  std::string problem = co_await bring(std::move(plan));
  const std::vector<std::string> problems = co_await carrier_.gather(std::move(problem));
  std::string verdict = merge_problems(problems);
  verdict = co_await carrier_.broadcast(std::move(verdict));
  const TierReads& reads = loaded_.reads;
  loaded_.read = reads.own_disk + reads.other_disks + reads.remote;
  co_return verdict;
}

// Gives the report for rank 0: which shards this rank needs, or what is wrong.
std::string SpreadLoad::parse(const std::string& text, std::vector<std::int64_t>& wanted) {
  try {
    loaded_.manifest = parse_manifest(text, directory_.text());
    check_request(manifest(), request_, directory_.text());
  } catch (const InputError& error) {
    return kFailed + std::string(error.what());
  }
  for (const ShardRecord& one : manifest().shards) {
    if (overlaps(manifest(), one, request_.wanted)) wanted.push_back(one.rank);
  }
  return kGoOn + write_numbers(wanted);
}

// Rank 0 has copies read until one of every shard is found whole; gives why there is none.
Task<std::string> SpreadLoad::choose_sources(const std::vector<std::string>& wants, bool in_remote,
                                             std::vector<std::int64_t>& plan) {
  std::optional<ShardSources> sources;
  std::string failed;
  if (leads()) {
    std::vector<std::string> problems;
    std::vector<std::vector<std::int64_t>> wanted;
    for (const std::string& one : wants) {
      const bool fine = one[0] == kGoOn;
      problems.push_back(fine ? std::string() : one.substr(1));
      wanted.push_back(fine ? parse_numbers(std::string_view(one).substr(1)) : std::vector<std::int64_t>());
    }
    failed = merge_problems(problems);
    sources.emplace(*spread_, wanted, in_remote);
  }
  while (true) {
    std::string told;
    if (leads()) {
      const std::optional<std::int64_t> missing = sources->missing();
      if (failed.empty() && missing.has_value()) {
        failed = "no copy of shard " + std::to_string(*missing) + " is left";
      }
      const std::vector<std::int64_t> next = sources->to_read();
      if (!failed.empty()) {
        told = kFailed + failed;
      } else if (next.empty()) {
        told = kDone + write_numbers(sources->plan());
      } else {
        told = kGoOn + write_numbers(next);
      }
    }
    told = co_await carrier_.broadcast(std::move(told));
    const char what = told[0];
    told.erase(0, 1);
    if (what == kFailed) co_return told;
    std::vector<std::int64_t> numbers = parse_numbers(told);
    if (what == kDone) {
      plan = std::move(numbers);
      co_return std::string();
    }
    std::string report = co_await read_copies(std::move(numbers));
    const std::vector<std::string> reports = co_await carrier_.gather(std::move(report));
    std::string all;
    for (const std::string& one : reports) all += one;
    all = co_await carrier_.broadcast(std::move(all));
    std::vector<std::int64_t> bad;
    for (const std::string_view line : lines_of(all)) {
      const std::size_t space = line.find(' ');
      bad.push_back(parse_numbers(line.substr(0, space)).front());
      refused_.emplace_back(line.substr(space + 1));
    }
    if (leads()) sources->refuse(bad);
  }
}

// Reads the copies that fall to this rank; a line for each that is not good: shard and reason.
Task<std::string> SpreadLoad::read_copies(std::vector<std::int64_t> assignment) {
  std::string report;
  for (std::size_t i = 0; i + 1 < assignment.size(); i += 2) {
    if (assignment[i + 1] != context_.rank()) continue;
    const ShardRecord& record = shard(assignment[i]);
    const StoragePath path = directory_.child(record.file.file);
    std::string problem;
    try {
      Payload data = co_await context_.storage().read(path);
      check_shard(record, data, path.text());
      read_[record.rank] = std::move(data);
    } catch (const InputError& error) {
      problem = error.what();
    } catch (const StorageError& error) {
      problem = error.what();
    }
    if (problem.empty()) continue;
    report +=
        std::to_string(record.rank) + " rank " + std::to_string(context_.rank()) + ": " + to_one_line(problem) + "\n";
  }
  co_return report;
}

// Every rank gets the shards it needs; gives what went wrong on this one.
Task<std::string> SpreadLoad::bring(std::vector<std::int64_t> plan) {
  std::string problem;
  for (std::size_t i = 0; i < plan.size();) {
    const std::int64_t index = plan[i];
    const auto source = static_cast<int>(plan[i + 1]);
    const auto count = static_cast<std::size_t>(plan[i + 2]);
    std::vector<int> receivers;
    for (std::size_t r = 0; r < count; ++r) receivers.push_back(static_cast<int>(plan[i + 3 + r]));
    i += 3 + count;
    const bool receives = contains(receivers, context_.rank());
    StoragePath path = remote_directory_.child(shard(index).file.file);
    Payload data;
    std::string from = "shard " + std::to_string(index) + " from rank " + std::to_string(source);
    if (source != ShardSources::kRemote) {
      Payload own;
      if (source == context_.rank()) own = read_[index];
      if (!receivers.empty()) data = co_await carrier_.carry(own, source, receivers);
      if (source == context_.rank()) data = std::move(own);
    }
    const bool needs = receives || (source == context_.rank() && overlaps(manifest(), shard(index), request_.wanted));
    if (!needs) continue;
    try {
      if (source == ShardSources::kRemote) {
        from = path.text();
        data = co_await context_.storage().read(path);
      }
      take(index, data, from);
    } catch (const InputError& error) {
      problem = error.what();
    } catch (const StorageError& error) {
      problem = error.what();
    }
    TierReads& reads = loaded_.reads;
    if (source == ShardSources::kRemote) {
      reads.remote += data.size();
      ++reads.shards_from_remote;
    } else if (source == context_.rank()) {
      reads.own_disk += data.size();
      ++reads.shards_from_own_disk;
    } else {
      reads.other_disks += data.size();
      ++reads.shards_from_other_disks;
    }
  }
  co_return problem;
}

// Verifies a shard and copies what this rank needs of it.
void SpreadLoad::take(std::int64_t index, const Payload& data, const std::string& source) {
  check_shard(shard(index), data, source);
  if (context_.storing() != Storing::kElements) return;
  const StateView state = parse_shard_file(shard(index), manifest().dtype, data.bytes(), source);
  copy_overlap(manifest(), shard(index), state, request_.wanted, loaded_.state);
}

}  // namespace rehearse
