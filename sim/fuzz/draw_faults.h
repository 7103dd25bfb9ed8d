#pragma once

#include "sim/fuzz/dice.h"
#include "sim/fuzz/fault_kinds.h"
#include "sim/fuzz/job_shape.h"

namespace rehearse {

// Each draws a fault of one kind into the body of its group in `faults`.
TextGroup draw_memory_fault(FaultName name, const JobShape& shape, Dice& dice);
TextGroup draw_rank_fault(FaultName name, const JobShape& shape, Dice& dice);
TextGroup draw_storage_fault(FaultName name, const JobShape& shape, Dice& dice);
TextGroup draw_network_fault(FaultName name, const JobShape& shape, Dice& dice);

// Which guards see the faults that were drawn: they change numbers and nothing else would show it.
struct NeededGuards {
  bool state = false;      // digests of state
  bool gradients = false;  // and gradients computed twice
  bool nonfinite = false;
};
void note_needed_guards(FaultName name, const TextGroup& fault, NeededGuards& needed);

}  // namespace rehearse
