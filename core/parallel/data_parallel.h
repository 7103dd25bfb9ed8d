#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/buffer.h"
#include "core/comm/process_group.h"
#include "core/model/layout.h"
#include "core/optim/adam.h"
#include "core/parallel/collective_choice.h"
#include "core/parallel/program_error.h"
#include "core/parallel/shard_piece.h"
#include "core/parallel/stage_units.h"
#include "core/parallel/state_types.h"
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

// Data parallelism with the state of training whole on every rank (zero_stage 0, DDP) or sharded: the optimizer's (1),
// the gradients' too (2), the parameters' too (3; ZeRO, Rajbhandari et al., arXiv:1910.02054; FSDP's SHARD_GRAD_OP and
// FULL_SHARD, Zhao et al., arXiv:2304.11277). Holds a rank's parameters, gradients and optimizer state, by units
// (units.h), and moves them. All stages give the same bits: chunk r of a unit is summed in the same order, and
// everything else is element by element.
//
// Memory that a rank keeps, P = all units' padded elements, N ranks, elements of their StateTypes' sizes; the
// optimizer's is master weights and two moments:
//   zero_stage   parameters   gradients   optimizer
//   0            P            P           3 P
//   1            P            P           3 P / N
//   2            P            P / N       3 P / N
//   3            P / N        P / N       3 P / N
// What is not kept whole is whole for a while: a unit's gradients from open_gradients() to reduce_unit(), its
// parameters from open_parameters() to close_parameters(). unit_flow.h says when, and how much that is.
//
// The order within a step: zero_gradients; backward passes; reduce_gradients (or reduce_unit, unit by unit); measure;
// exchange_sums; update; gather_parameters.
template <class T>
class DataParallel {
 public:
  // `decay`: which parameters weight decay shrinks.
  // A message of a collective that is waited for longer than `timeout` fails it. `choice`: how gradients are summed and
  // parameters gathered; all else takes the defaults of collectives.h. `types`: other ones than T's in cost-only mode
  // alone.
  DataParallel(RankContext& context, const ParameterLayout& layout, int zero_stage, std::int64_t bucket_elements,
               Decay decay, Duration timeout = kForever, const CollectiveChoice& choice = CollectiveChoice(),
               StateTypes types = StateTypes(dtype_of<T>));

  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }
  ProcessGroup& group() { return group_; }
  int zero_stage() const { return zero_stage_; }
  const ParameterLayout& layout() const { return layout_; }
  const UnitPlan& plan() const { return plan_; }
  const StageUnits& stage_units() const { return stage_units_; }
  bool shards_gradients() const { return zero_stage_ >= 2; }
  bool shards_parameters() const { return zero_stage_ == 3; }

  StateTypes types() const { return types_; }

  // Without entries in cost-only mode; null pointers where a unit is not whole just now.
  const ParameterTable<T>& parameters() const { return parameter_table_; }
  const ParameterTable<T>& gradients() const { return gradient_table_; }
  const ParameterTable<const T>& const_parameters() const { return const_parameter_table_; }

  // Start of a job: `make` writes parameters on rank 0, those that are not null in the table; they come to all, and
  // master weights are made from them. With stage 3 one unit after the other.
  using MakeParameters = std::function<void(const ParameterTable<T>&)>;
  Task<> start_from(MakeParameters make);

  // Of units that are whole.
  void zero_gradients();
  // A unit's real elements: the rank's own gradient after the backward passes and before it is reduced.
  BufferView unit_gradients(int unit);
  // Sums the gradients of the units over the ranks: the own chunks, with stage 0 all.
  // `error`: what this rank does wrong with the first of them, for a fault plan.
  Task<> reduce_gradients(ProgramError error = ProgramError::kNone);
  Task<> reduce_units(UnitRange units, ProgramError error = ProgramError::kNone);

  // Whole units of what is sharded. With stages 2 and 3 gradients must be opened, as zeros, before backward adds to
  // them, and reducing them closes them; with stage 3 parameters must be opened and gathered before they are used.
  bool has_open_gradients(int unit) const { return open_gradients_[static_cast<std::size_t>(unit)].count() > 0; }
  bool has_open_parameters(int unit) const { return open_parameters_[static_cast<std::size_t>(unit)].count() > 0; }
  void open_gradients(int unit);
  void open_parameters(int unit);
  // After open_parameters. Calls go to a group of their own, so that they may run beside those that reduce; in the same
  // order on all ranks.
  Task<> gather_unit(int unit);
  void close_parameters(int unit);
  // This rank's share of the global norm: its chunks' squares summed in double, unit by unit.
  Task<StepSums> measure(double loss, double tokens);
  // Everybody's sums, by group rank. In cost-only mode they are all the own ones, unless something is decided by them:
  // then they are exchanged all the same.
  Task<std::vector<StepSums>> exchange_sums(StepSums own, bool decides = false);
  // Divides the summed gradient by `divisor`, multiplies it by `clip_factor`, steps Adam on the master weights this
  // rank holds, and copies them into the parameters.
  Task<> update(AdamStep step, double divisor, double clip_factor);
  // With stages 1 and 2, gathers the parameters that every rank has updated its chunks of.
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
  // Of the unit's chunk that this rank owns: where it lies in a buffer that has the whole unit, or that chunk alone.
  std::int64_t chunk_at(const Buffer& buffer, const Unit& unit) const {
    return buffer.count() == unit.padded_numel ? group_.rank() * unit.chunk : 0;
  }
  T* held_gradients(std::size_t unit);
  void copy_master_to_parameters();
  void copy_parameters_to_master();
  Task<> start_unit(int unit, const MakeParameters& make);
  Task<> reduce_unit(int unit, ProgramError error);
  void point_at(int unit, const Buffer& whole, ParameterTable<T>& table);
  void point_parameters_at(int unit, const Buffer& whole);

  RankContext& context_;
  const ParameterLayout& layout_;
  int zero_stage_;
  CollectiveChoice choice_;
  StateTypes types_;
  ProcessGroup group_;
  std::optional<ProcessGroup> gather_group_;  // of gather_unit, with stage 3
  UnitPlan plan_;
  StageUnits stage_units_;
  std::vector<Buffer> parameters_;       // by unit, padded; with stage 3 the own chunk
  std::vector<Buffer> gradients_;        // with stages 2 and 3 the own chunk, summed
  std::vector<Buffer> open_parameters_;  // by unit, while it is whole beside those
  std::vector<Buffer> open_gradients_;
  std::vector<Buffer> master_;  // by unit, held elements
  std::vector<Buffer> m_;
  std::vector<Buffer> v_;
  Buffer sums_;                                 // (ranks, 4) doubles
  std::vector<std::vector<DecayRange>> decay_;  // by unit, over held real elements
  ParameterTable<T> parameter_table_;
  ParameterTable<const T> const_parameter_table_;
  ParameterTable<T> gradient_table_;
};

}  // namespace rehearse
