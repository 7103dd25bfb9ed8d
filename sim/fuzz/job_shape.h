#pragma once

#include <cstdint>

#include "core/model/config.h"
#include "core/train/config.h"
#include "sim/fuzz/dice.h"
#include "sim/fuzz/text_group.h"

namespace rehearse {

// The job of a plan, as far as its faults have to know it.
struct JobShape {
  std::int64_t ranks = 1;
  std::int64_t ranks_per_host = 1;
  bool has_hosts = false;           // ranks_per_host is written
  std::int64_t hosts_per_rack = 0;  // 0: no racks
  std::int64_t steps = 1;
  std::int64_t microbatch = 1;
  std::int64_t zero_stage = 1;
  std::int64_t bucket = 0;            // bytes; 0: one unit
  std::int64_t checkpoint_every = 0;  // steps; 0: not by steps
  bool saves = false;
  bool has_tiers = false;
  bool is_elastic = false;
  bool has_plain_network = true;  // that can have faults of its links
  std::int64_t element_bytes = 4;
  std::int64_t span = 1;  // about how long the job takes, in microseconds
  ModelConfig model;

  std::int64_t hosts() const { return (ranks + ranks_per_host - 1) / ranks_per_host; }
  std::int64_t racks() const { return hosts_per_rack == 0 ? 0 : (hosts() + hosts_per_rack - 1) / hosts_per_rack; }
};

// Draws a job of 1 to 6 ranks into a scenario: everything but its guards and its faults.
JobShape draw_job(const RandomStream& stream, TextGroup& scenario);

}  // namespace rehearse
