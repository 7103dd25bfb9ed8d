#pragma once

#include <optional>
#include <string>

#include "sim/config/loader.h"
#include "tools/rehearse/commands.h"

namespace rehearse {

// The scenario of a directory that a run of a job left (`job { }`): it has a summary and no log of events. Nothing
// where the directory is no such.
std::optional<Scenario> recorded_job(const std::string& directory);

// Counts the job again and compares outcome and event_digest with its summary's. Throws InputError where the summary is
// damaged, of another scenario, or of a job that was interrupted.
ExitCode replay_job(const ReplayCommand& command, const Scenario& scenario, Console& console);

}  // namespace rehearse
