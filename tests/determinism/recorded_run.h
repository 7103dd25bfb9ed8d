#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/config/scenario.h"
#include "sim/trace/log_reader.h"
#include "sim/trace/state_difference.h"

namespace rehearse::testing_determinism {

// A run with all records of its event log.
struct RecordedRun {
  TrainingRecord record;
  std::vector<EventRecord> events;
};

// Runs to the end, or until every rank has done `last_step` (0: to the end).
RecordedRun run_recorded(const Scenario& scenario, const std::optional<ResumeFrom>& resume = std::nullopt,
                         std::int64_t last_step = 0);

// "SOURCE/scenarios/NAME.textproto" with overrides, without what it expects.
Scenario shipped(const std::string& name, const std::vector<std::string>& overrides = {});

using Wanted = std::function<bool(const EventRecord&)>;

// The first state that differs among those that are wanted.
std::optional<StateDifference> first_difference_of(const RecordedRun& a, const RecordedRun& b, const Wanted& wanted);

// How many records are states that are wanted.
std::int64_t count_states(const RecordedRun& run, const Wanted& wanted);

inline bool any_state(const EventRecord&) { return true; }

// "step 11, rank 2, m of tensor 5": for messages.
std::string text_of(const std::optional<StateDifference>& difference);

}  // namespace rehearse::testing_determinism
