#include "sim/fuzz/reached.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/runtime/tracer.h"
#include "core/train/guards.h"

namespace rehearse {
namespace {

struct Words {
  const char* words;  // that tell of a strike
  const char* kind;
};

// The first that fits.
constexpr std::array kWords = {
    Words{"is inverted at rest", "rot"},
    Words{"vanishes", "missing_file"},
    Words{"gives what was there", "stale_view"},
    Words{"makes nothing durable", "lost_fsync"},
    Words{" of its ", "torn_write"},
    Words{"no space left", "disk_full"},
    Words{" fails: ", "io_error"},
    Words{"the disk takes", "slow_disk"},
    Words{"the disk of rank", "slow_disk"},
    Words{"the power of", "power_loss"},
    Words{"to the supervisor", "supervisor_link"},
    Words{"links to the supervisor", "supervisor_link"},
    Words{"the network parts", "partition"},
    Words{"goes down", "link_down"},
    Words{"is inverted", "flip"},
    Words{"is overwritten", "overwrite"},
    Words{"are overwritten", "overwrite"},
    Words{"the learning rate is multiplied", "lr_spike"},
    Words{"is multiplied", "spike"},
    Words{"the program", "program"},
    Words{"the device takes", "straggler"},
    Words{"hangs", "hang"},
    Words{"crashes", "crash"},
    Words{"lost with", "crash"},
};

}  // namespace

std::string kind_of_strike(const FaultRecord& fault) {
  // Not of a message: where in its phase a rank was struck down.
  const std::string what = fault.what.substr(0, fault.what.find(", after message "));
  const auto has = [&what](const char* words) { return what.find(words) != std::string::npos; };
  if (has("of its bandwidth")) return "link_bandwidth";
  // Both the beginning of a fault that strikes packets and the packets that are counted are told.
  if (has("message") || has("acknowledgement")) {
    if (has("lost")) return "loss";
    if (has("doubled")) return "duplicate";
    if (has("set aside")) return "reorder";
    if (has("delayed")) return "delay";
    if (has("changed in")) return "corrupt";
  }
  for (const Words& words : kWords) {
    if (has(words.words)) return words.kind;
  }
  if (has("link") && has("longer")) return "link_latency";
  if (fault.failed.has_value() || has(" is lost") || has(" are lost")) return "crash";
  return "";
}

namespace {

std::string phase_of(const FaultRecord& fault) {
  if (fault.at.step == 0) return "TIME";
  std::string name = name_of(fault.at.phase);
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

void add_recovery(const RecoveryRecord& one, std::set<std::string>& paths) {
  const auto add = [&paths](bool holds, const char* path) {
    if (holds) paths.insert(path);
  };
  if (one.kind == RecoveryRecord::Kind::kRollback) {
    paths.insert(one.from_checkpoint ? "ROLLBACK" : "ROLLBACK_TO_START");
    add(one.skipped_batches > 0, "SKIP_BATCHES");
  } else {
    paths.insert(one.from_checkpoint ? "RESTART" : "RESTART_FROM_START");
  }
  add(!one.on_spares.empty(), "SPARE");
  add(!one.gone.empty(), "FEWER_RANKS");
  add(!one.suspected.empty(), "SUSPECTED");
  add(!one.late.empty(), "LATE");
  add(!one.rejected.empty(), "REFUSED_CHECKPOINT");
  add(!one.refused_copies.empty(), "REFUSED_COPY");
  add(one.reads.shards_from_own_disk > 0, "OWN_DISK");
  add(one.reads.shards_from_other_disks > 0, "OTHER_DISK");
  add(one.has_tiers && one.reads.shards_from_remote > 0, "SHARED_STORAGE");
}

bool has_rate_alone(const Scenario& scenario) {
  const auto& faults = scenario.faults.faults;
  return !scenario.faults.rates.empty() && std::none_of(faults.begin(), faults.end(), [](const Fault& fault) {
    return std::holds_alternative<CrashFault>(fault.kind) || std::holds_alternative<HangFault>(fault.kind);
  });
}

}  // namespace

Reached reached_by(const Scenario& scenario, const TrainingRecord& record) {
  Reached reached;
  const bool rate = has_rate_alone(scenario);
  for (const FaultRecord& fault : record.faults) {
    std::string kind = kind_of_strike(fault);
    if (rate && (kind == "crash" || kind == "hang")) kind = "rate";
    if (!kind.empty()) reached.strikes.emplace(kind, phase_of(fault));
  }
  for (const RecoveryRecord& one : record.recoveries) add_recovery(one, reached.paths);
  for (const GuardRecord& guard : record.guards) {
    if (guard.report.reaction == name_of(Reaction::kSkipStep)) reached.paths.insert("SKIP_STEP");
    if (!guard.report.evicted.empty()) reached.paths.insert("EVICT");
  }
  if (!record.fenced.empty()) reached.paths.insert("FENCED");
  if (record.failed_saves > 0) reached.paths.insert("FAILED_SAVE");
  if (record.transport.has_value() && record.transport->retransmitted > 0) reached.paths.insert("SENT_AGAIN");
  if (record.outcome == Outcome::kStopped) reached.paths.insert("STOPPED");
  if (record.outcome == Outcome::kFailed) reached.paths.insert("GIVEN_UP");
  return reached;
}

void ReachedTable::add(const Reached& reached) {
  std::set<std::string> kinds;
  for (const auto& strike : reached.strikes) {
    ++strikes_[strike];
    kinds.insert(strike.first);
  }
  for (const std::string& path : reached.paths) {
    ++runs_[path];
    for (const std::string& kind : kinds) ++paths_[{kind, path}];
  }
}

namespace {

template <class Map, class Key>
std::int64_t count_of(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

}  // namespace

std::int64_t ReachedTable::strikes(const std::string& kind, const std::string& phase) const {
  return count_of(strikes_, std::pair(kind, phase));
}
std::int64_t ReachedTable::paths(const std::string& kind, const std::string& path) const {
  return count_of(paths_, std::pair(kind, path));
}
std::int64_t ReachedTable::runs(const std::string& path) const { return count_of(runs_, path); }

std::set<std::string> ReachedTable::phases_seen() const {
  std::set<std::string> phases;
  for (const auto& [strike, count] : strikes_) phases.insert(strike.second);
  return phases;
}

std::set<std::string> ReachedTable::paths_seen() const {
  std::set<std::string> paths;
  for (const auto& [path, count] : runs_) paths.insert(path);
  return paths;
}

}  // namespace rehearse
