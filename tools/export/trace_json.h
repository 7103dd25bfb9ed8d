#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/export/timeline.h"

namespace rehearse {

// The timeline as Chrome's trace event JSON, as the Perfetto UI and chrome://tracing open it: one process for each rank
// with the tracks of TrackKind, one for the job (recoveries, counters of loss, goodput, memory and bytes in flight),
// one for the links' utilisation. An arrow goes from where a message begins to leave its sender to where it begins to
// come in. Events are in the order of time; slices of a track nest or do not touch, so that what overlaps has a track
// of its own; times are microseconds with six digits, exact. `about` says in words what was run.
//
// Format: "Trace Event Format", Google, 2016.
std::string write_trace_json(const Timeline& timeline, const std::vector<std::pair<std::string, std::string>>& about);

}  // namespace rehearse
