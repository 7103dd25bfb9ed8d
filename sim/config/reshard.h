#pragma once

#include <string>
#include <vector>

#include "sim/config/scenario.h"

namespace rehearse {

// The same job, cut in another way: on other ranks (`cluster.ranks=3`), with another zero_stage or bucket. Its batches,
// their order and its schedule stay those of the job as it was, by `train.data_ranks`; cut back, it is the same
// scenario again. What it expects of the bits (weights, digests, equality with other runs) is dropped, as another cut
// adds in another order; `dropped_pins` says what. `overrides` are as for `--set`. Throws InputError as load_scenario
// does, where the batch does not divide for one. Reads no files.
Scenario reshard_scenario(const Scenario& scenario, const std::vector<std::string>& overrides);

// Throws InputError where an override changes more than how a job is cut.
void check_reshards(const std::vector<std::string>& overrides);

// Of what decides a job's bits but for its cut: two scenarios with the same are one job, cut in two ways, or one.
// SHA-256, 64 lower-case hex digits.
std::string job_sha256(const Scenario& scenario);

}  // namespace rehearse
