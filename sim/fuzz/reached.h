#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/cluster/training_run.h"
#include "sim/config/scenario.h"

namespace rehearse {

// Where faults struck in a run, and what was done about failures: the ways that fuzzing has been.
struct Reached {
  // A kind of fault as in scenarios ("flip") and the phase it struck in ("FORWARD"), or "TIME" where it has none.
  std::set<std::pair<std::string, std::string>> strikes;
  // "RESTART", "FROM_START", "SPARE", "FEWER_RANKS", "ROLLBACK", "SKIP_STEP", "EVICT", ...
  std::set<std::string> paths;
};

Reached reached_by(const Scenario& scenario, const TrainingRecord& record);

// The kinds of the faults that struck, by the words in which the record tells of them; empty for words of no fault's.
std::string kind_of_strike(const FaultRecord& fault);

// Sums over many runs.
class ReachedTable {
 public:
  void add(const Reached& reached);
  // How many runs had this kind strike in this phase; and this kind strike and this path taken.
  std::int64_t strikes(const std::string& kind, const std::string& phase) const;
  std::int64_t paths(const std::string& kind, const std::string& path) const;
  // Runs in which the path was taken, for whatever reason.
  std::int64_t runs(const std::string& path) const;
  std::set<std::string> phases_seen() const;
  std::set<std::string> paths_seen() const;

 private:
  std::map<std::pair<std::string, std::string>, std::int64_t> strikes_;
  std::map<std::pair<std::string, std::string>, std::int64_t> paths_;
  std::map<std::string, std::int64_t> runs_;
};

}  // namespace rehearse
