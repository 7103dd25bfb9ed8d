#pragma once

#include <string>

#include "sim/config/origins.h"
#include "sim/config/scenario.h"
#include "sim/config/scenario.pb.h"

namespace rehearse {

// Writes the defaults that depend on other fields: the crash of a host or a rack is one of the kind HOST, and where
// hosts are said, failure rates have them as nodes. Before all other defaults.
void fill_domain_defaults(config::Scenario& message);

// What a crash takes along, and the ranks whose place it waits for: the one that it names, or all of the domain.
struct CrashTarget {
  FailureDomain domain;
  RankRange ranks;
};

// Throws InputError for a rank, a host or a rack that the cluster does not have.
CrashTarget convert_crash_target(const config::Crash& crash, const std::string& path, const Origins& origins,
                                 const Scenario& scenario);

}  // namespace rehearse
