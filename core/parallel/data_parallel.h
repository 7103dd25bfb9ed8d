#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/comm/process_group.h"
#include "core/model/layout.h"
#include "core/optim/adam.h"
#include "core/parallel/collective_choice.h"
#include "core/parallel/program_error.h"
#include "core/parallel/shard_piece.h"
#include "core/parallel/units.h"
#include "core/runtime/rank_context.h"

namespace rehearse {

// What ranks tell each other once a step, in one all_gather of doubles.
struct StepSums {
  StepSums() = default;
  StepSums(double sums_loss, double squares, double nonfinite, double sums_tokens)
      : loss(sums_loss), sum_of_squares(squares), nonfinite_elements(nonfinite), tokens(sums_tokens) {}

  double loss = 0;                // of this rank's batch
  double sum_of_squares = 0;      // of this rank's chunks of the summed, not yet divided gradient
  double nonfinite_elements = 0;  // in those chunks
  double tokens = 0;              // this rank's loss is the mean over
};

// Data parallelism with the optimizer state whole on every rank (zero_stage 0, DDP) or sharded (1, ZeRO-1; Rajbhandari
// et al., arXiv:1910.02054). Holds a rank's parameters, gradients and optimizer state, by units (units.h), and moves
// them. Both stages give the same bits: chunk r of a unit is summed in the same order, and everything else is element
// by element.
//
// Memory of a rank, P = all units' padded elements, N ranks, elements of size(T): parameters P, gradients P, optimizer
// 3 P or 3 P / N (master weights and two moments).
//
// The order within a step: zero_gradients; backward passes; reduce_gradients; measure; exchange_sums; update;
// gather_parameters.
template <class T>
class DataParallel {
 public:
  // `decay`: which parameters weight decay shrinks.
  // A message of a collective that is waited for longer than `timeout` fails it. `choice`: how gradients are summed and
  // parameters gathered; all else takes the defaults of collectives.h.
  DataParallel(RankContext& context, const ParameterLayout& layout, int zero_stage, std::int64_t bucket_elements,
               Decay decay, Duration timeout = kForever, const CollectiveChoice& choice = CollectiveChoice());

  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  ProcessGroup& group() { return group_; }
  int zero_stage() const { return zero_stage_; }
  const ParameterLayout& layout() const { return layout_; }
  const UnitPlan& plan() const { return plan_; }

  // Tables of null pointers in cost-only mode.
  const ParameterTable<T>& parameters() const { return parameter_table_; }
  const ParameterTable<T>& gradients() const { return gradient_table_; }
  ParameterTable<const T> const_parameters() const;

  // Start of a job: rank 0's parameters come to all, and master weights are made from them.
  Task<> broadcast_parameters();

  void zero_gradients();
  // A unit's real elements: the rank's own gradient after the backward passes and before reduce_gradients.
  BufferView unit_gradients(int unit);
  // Sums gradients over the ranks: own chunks with stage 1, all with stage 0.
  // `error`: what this rank does wrong, for a fault plan.
  Task<> reduce_gradients(ProgramError error = ProgramError::kNone);
  // This rank's share of the global norm: its chunks' squares summed in double, unit by unit.
  Task<StepSums> measure(double loss, double tokens);
  // Everybody's sums, by group rank. In cost-only mode they are all the own ones, unless something is decided by them:
  // then they are exchanged all the same.
  Task<std::vector<StepSums>> exchange_sums(StepSums own, bool decides = false);
  // Divides the summed gradient by `divisor`, multiplies it by `clip_factor`, steps Adam on the master weights this
  // rank holds, and copies them into the parameters.
  Task<> update(AdamStep step, double divisor, double clip_factor);
  // With stage 1, gathers the parameters that every rank has updated its chunks of.
  Task<> gather_parameters(ProgramError error = ProgramError::kNone);

  // The optimizer state this rank holds of a unit, real elements only: [offset, offset + master.count) of the unit.
  struct Shard {
    std::int64_t offset = 0;
    BufferView master;
    BufferView m;
    BufferView v;
  };
  // What this rank saves: with stage 0 every rank holds all and saves its chunk alone.
  Shard shard_to_save(int unit);
  // Everything this rank holds.
  Shard held(int unit);
  // The same by tensor, in flat order, with the gradients that are summed there; good as long as this. None in
  // cost-only mode.
  std::vector<ShardPiece> pieces();
  // Moments as before the first step; parameters and master weights are still to be set.
  void zero_moments();
  // After a checkpoint was copied into held() of every unit: parameters are made from the master weights.
  Task<> restore();

 private:
  Shard shard_of(int unit, std::int64_t begin, std::int64_t end);
  // Elements of the unit whose optimizer state this rank holds, padding included.
  std::int64_t held_offset(const Unit& unit) const { return zero_stage_ == 0 ? 0 : group_.rank() * unit.chunk; }
  std::int64_t held_count(const Unit& unit) const { return zero_stage_ == 0 ? unit.padded_numel : unit.chunk; }
  void copy_master_to_parameters();
  void copy_parameters_to_master();

  RankContext& context_;
  const ParameterLayout& layout_;
  int zero_stage_;
  CollectiveChoice choice_;
  ProcessGroup group_;
  UnitPlan plan_;
  std::vector<Buffer> parameters_;  // by unit, padded
  std::vector<Buffer> gradients_;
  std::vector<Buffer> master_;  // by unit, held elements
  std::vector<Buffer> m_;
  std::vector<Buffer> v_;
  Buffer sums_;                                 // (ranks, 4) doubles
  std::vector<std::vector<DecayRange>> decay_;  // by unit, over held real elements
  ParameterTable<T> parameter_table_;
  ParameterTable<T> gradient_table_;
};

}  // namespace rehearse
