#pragma once

#include <cstdint>
#include <optional>

#include "core/base/units.h"

namespace rehearse {

// A training job without its arithmetic: how long each of its parts takes, when nothing fails.
struct JobConfig {
  Duration step;         // from the end of a step to the end of the next
  Duration start;        // from the start of the ranks to the beginning of step 1
  Duration start_again;  // the same of a restart that finds no checkpoint
  Duration load;         // from the start of the ranks until they train on from a checkpoint
  Duration save;         // training waits so long
  // Into a save: every rank has written its part and rank 0 goes on alone, so that losing another rank does not undo
  // it; and the checkpoint counts. written <= published <= save.
  Duration written;
  Duration published;
  // The end: so many steps, or this time. Exactly one of the two.
  std::optional<std::int64_t> steps;
  std::optional<Duration> time;
  // Saves after every so many steps, or as the first step ends that ends so long after training went on, at the start
  // or after the save before. At most one of the two.
  std::optional<std::int64_t> every_steps;
  std::optional<Duration> every;
  std::int64_t keep = 0;  // of the newest checkpoints; 0: all

  bool saves() const { return every_steps.has_value() || every.has_value(); }
};

}  // namespace rehearse
