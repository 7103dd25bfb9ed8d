#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sim/fault/failure_domains.h"
#include "sim/fault/recovery_config.h"

namespace rehearse {

// On what a job goes on after it has lost hosts.
struct Placement {
  int ranks = 0;               // of the new generation
  int spares = 0;              // hosts that stand by from then on
  bool at_once = false;        // nothing has to come back first
  std::vector<int> on_spares;  // ranks whose host a spare took the place of
  std::vector<int> gone;       // ranks whose host never comes back: those that are left are numbered anew, in order
  int hosts_on_spares = 0;     // hosts of these
  int hosts_gone = 0;
};

// Spares take the places of lost hosts, with all their ranks, the lowest first. For those that find none: with RESTART
// they come back, and the job waits for them. With ELASTIC they do not, and the job goes on with the largest number of
// ranks up to those left that `fits` it and is not below min_ranks; hosts that are then left over stand by as spares.
// Nothing where there is no such number. `lost`: hosts, ascending.
std::optional<Placement> place_ranks(const RecoveryConfig& config, const HostLayout& hosts, int ranks, int spares,
                                     const std::vector<int>& lost, const std::function<bool(int)>& fits);

}  // namespace rehearse
