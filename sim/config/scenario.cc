#include "sim/config/scenario.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "DONE";
    case Outcome::kStopped:
      return "STOPPED";
    case Outcome::kFailed:
      return "FAILED";
    case Outcome::kDeadlock:
      return "DEADLOCK";
    case Outcome::kInterrupted:
      return "INTERRUPTED";
  }
  check_failed(__FILE__, __LINE__, "unknown outcome");
}

int Scenario::known_ranks() const { return std::max(ranks, static_cast<int>(train.data_ranks)); }

std::string Scenario::allowed_ranks() const {
  const char* field = known_ranks() == ranks ? "cluster.ranks" : "train.data_ranks";
  return std::string("0 to ") + field + " - 1 = " + std::to_string(known_ranks() - 1);
}

bool expects_weights_or_number(const Expectations& expect) {
  return expect.loss_falls || expect.eval_loss_falls || expect.resume_from || expect.weights_sha256 ||
         expect.same_weights_as || expect.final_loss_below || expect.max_accumulation_difference || expect.recoveries ||
         expect.rollbacks || expect.skipped_steps || expect.failed_saves || expect.refused_checkpoints ||
         expect.shards_from_other_disks || expect.shards_from_remote || expect.refused_copies || expect.lost_steps ||
         expect.exposed_above || expect.exposed_below || expect.goodput_above || expect.goodput_below;
}

}  // namespace rehearse
