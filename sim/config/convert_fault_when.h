#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/origins.h"
#include "sim/config/scenario.h"
#include "sim/config/scenario.pb.h"

namespace rehearse {

// Where a kind of fault may strike and what of `at` it makes use of.
struct AllowedPlaces {
  std::vector<config::At::Phase> phases;  // empty: all
  bool message = false;
};

// The `at` of the fault at `path` on `rank`, or on kAllRanks. Throws InputError for what the run never comes to and for
// what the kind does not allow.
FaultWhen convert_when(std::int64_t rank, const config::At& at, const AllowedPlaces& allowed, const std::string& path,
                       const Origins& origins, const Scenario& scenario);

// An `at` that is a step and a phase alone.
FaultAddress convert_address(std::int64_t rank, const config::At& at, const std::string& path, const Origins& origins,
                             const Scenario& scenario);

// Throws InputError unless the scenario has the rank.
void check_rank(std::int64_t rank, const std::string& path, const Origins& origins, const Scenario& scenario);

}  // namespace rehearse
