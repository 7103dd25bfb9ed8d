#pragma once

#include <functional>
#include <optional>

#include "core/parallel/data_parallel.h"
#include "core/parallel/stage_hook.h"

namespace rehearse {

enum class PassKind : std::uint8_t { kForward, kBackward };

// When the units of a DataParallel are gathered, opened, reduced and freed in the passes of a step, stage by stage.
//
//   parameters   zero_stage 3: a stage's units are gathered before it runs and freed after it, but for those that the
//                next stage to run uses too. With overlap those of the next stage are gathered while one computes.
//   gradients    zero_stage 2 and 3: a stage's units are opened before backward of it.
//                In the backward pass that completes the gradients, zero_stage 2 and 3, or overlap: the units that are
//                final after a stage are reduced at once; without overlap backward waits for that, with overlap the
//                reductions run beside it, one after the other. With stages 2 and 3 those of one stage at a time, so
//                that no more than two stages' units are whole. What is final only after the last stage is left for
//                finish().
//
// What is whole at most beside what a rank keeps, in padded elements, with U(s) the units of stage s:
//   parameters   zero_stage 3: max |U(s)|; with overlap max |U(s) + U(s + 1)|
//   gradients    zero_stage 2 and 3, one microbatch: the same; several, or a step that keeps them whole: all
//
// While microbatches accumulate nothing is reduced (no_sync), so that sums keep their order. Which units are reduced
// together and when never depends on time, and no bit on either.
template <class T>
class UnitFlow : public StageHook {
 public:
  // Both outlive this, and what it has spawned.
  UnitFlow(RankContext& context, DataParallel<T>& parallel, bool overlap)
      : context_(context), parallel_(parallel), overlap_(overlap) {}

  // Whether anything is done at a stage; else the passes need no hook.
  bool acts() const { return overlap_ || parallel_.shards_gradients(); }
  // Is told of units whose gradients are final and not reduced yet, before they are. What finish() reduces is not told.
  void set_listener(std::function<void(UnitRange)> on_final) { on_final_ = std::move(on_final); }

  // A step begins with zeros. `keep_whole`: nothing is reduced before finish().
  void begin_step(bool keep_whole);
  // `then`: the stage that runs after the pass; -1 where none does before the parameters change, or nobody knows.
  // `completes`: of a backward pass, that it is the step's last.
  void begin_pass(PassKind kind, int then, bool completes = false);
  Task<> before(int stage) override;
  Task<> after(int stage) override;
  // What finish() reduces.
  UnitRange left() const { return left_; }
  // All gradients of the step are reduced then. `error`: what this rank does wrong with the first that is left.
  Task<> finish(ProgramError error);

  // All parameters at once, for passes without this hook; nothing with stages that keep them whole.
  Task<> gather_all();
  void release_all();

 private:
  int next_of(int stage) const;
  // Those that are not whole are opened.
  UnitRange open_parameters(UnitRange units);
  Task<> gather(UnitRange units);
  Task<> reduce_after(std::optional<Activity<void>> earlier, UnitRange units);
  Task<> join_reductions();

  RankContext& context_;
  DataParallel<T>& parallel_;
  bool overlap_;
  std::function<void(UnitRange)> on_final_;
  bool keep_whole_ = false;
  PassKind kind_ = PassKind::kForward;
  int then_ = -1;
  bool completes_ = false;
  UnitRange left_;
  std::optional<Activity<void>> prefetch_;    // of the next stage's parameters
  std::optional<Activity<void>> reductions_;  // the newest, which waits for those before it
};

}  // namespace rehearse
