#include "core/parallel/checkpoint_io.h"

#include <algorithm>
#include <memory>
#include <span>

#include "core/base/error.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/load.h"
#include "core/checkpoint/local_save.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/shard_file.h"
#include "core/checkpoint/tier_load.h"
#include "core/comm/collectives.h"
#include "core/parallel/group_coordinator.h"

namespace rehearse {
namespace {

template <class T>
ParallelLayout layout_of(const DataParallel<T>& parallel) {
  ParallelLayout layout;
  layout.data = parallel.size();
  return layout;
}

std::vector<ParameterRecord> parameter_records(const ParameterLayout& layout) {
  std::vector<ParameterRecord> records;
  for (const ParameterInfo& info : layout.tensors()) {
    ParameterRecord record;
    record.name = info.name;
    record.shape = info.shape;
    records.push_back(record);
  }
  return records;
}

std::vector<UnitRecord> unit_records(const ParameterLayout& layout, const UnitPlan& plan) {
  std::vector<UnitRecord> records;
  for (const Unit& unit : plan.units()) {
    UnitRecord record;
    record.first_parameter = layout.tensors()[static_cast<std::size_t>(unit.first_tensor)].name;
    record.parameters = unit.tensors;
    record.numel = unit.numel;
    record.padded_numel = unit.padded_numel;
    records.push_back(record);
  }
  return records;
}

// With zero_stage 3, the flat vector on rank 0, unit after unit, so that no rank has more than one whole at a time;
// nothing elsewhere and in cost-only mode.
template <class T>
Task<std::vector<T>> collect_parameters(RankContext& context, DataParallel<T>& parallel) {
  std::vector<T> flat;
  const bool keeps = context.rank() == 0 && context.storing() == Storing::kElements;
  if (keeps) flat.resize(static_cast<std::size_t>(parallel.layout().total()));
  for (int unit = 0; unit < static_cast<int>(parallel.plan().units().size()); ++unit) {
    parallel.open_parameters(unit);
    co_await parallel.gather_unit(unit);
    const Unit& info = parallel.plan().units()[static_cast<std::size_t>(unit)];
    if (keeps) std::copy_n(parallel.parameters()[info.first_tensor], info.numel, flat.begin() + info.flat_offset);
    parallel.close_parameters(unit);
  }
  co_return flat;
}

template <class T>
Payload model_file(const ParameterLayout& layout, const ParameterTable<const T>& parameters, DType dtype,
                   Storing storing) {
  std::vector<TensorView> tensors;
  for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
    const ParameterInfo& info = layout.tensors()[t];
    TensorView view;
    view.name = info.name;
    view.dtype = dtype;
    view.shape = info.shape;
    if (storing == Storing::kElements) {
      view.data = std::as_bytes(std::span<const T>(parameters.tensors[t], static_cast<std::size_t>(info.numel)));
    }
    tensors.push_back(view);
  }
  if (storing == Storing::kShapeOnly) return Payload::shape_only(size_of_model_file(tensors));
  return Payload::own(write_model_file(tensors));
}

template <class T>
std::vector<OwnedState> owned_state(DataParallel<T>& parallel) {
  std::vector<OwnedState> state;
  for (int unit = 0; unit < static_cast<int>(parallel.plan().units().size()); ++unit) {
    const typename DataParallel<T>::Shard shard = parallel.shard_to_save(unit);
    if (shard.master.count == 0) continue;
    state.emplace_back(ShardRange(unit, shard.offset, shard.master.count), shard.master, shard.m, shard.v);
  }
  return state;
}

template <class T>
std::shared_ptr<const CheckpointDraft> make_draft(RankContext& context, const DataParallel<T>& parallel,
                                                  const ParameterTable<const T>& parameters, const CheckpointPlan& plan,
                                                  const TrainCounters& counters) {
  auto draft = std::make_shared<CheckpointDraft>();
  Manifest& manifest = draft->manifest;
  manifest.world_size = context.world_size();
  manifest.layout = layout_of(parallel);
  manifest.zero_stage = parallel.zero_stage();
  manifest.dtype = parallel.types().optimizer;
  manifest.step = counters.step;
  manifest.batch_index = counters.batch_index;
  manifest.applied_steps = counters.applied_steps;
  manifest.guards = counters.guards;
  manifest.schedule = plan.schedule;
  manifest.arithmetic_sha256 = plan.arithmetic_sha256;
  manifest.parameters = parameter_records(parallel.layout());
  manifest.units = unit_records(parallel.layout(), parallel.plan());
  draft->model = model_file(parallel.layout(), parameters, parallel.types().parameters, context.storing());
  draft->simulated_time = plan.began + context.clock().now().since_start();
  draft->generation = context.generation();
  draft->scenario_sha256 = plan.scenario_sha256;
  draft->scenario_text = plan.scenario_text;
  draft->inputs = plan.inputs;
  if (plan.outside) draft->outside = plan.outside();
  return draft;
}

template <class T>
LoadRequest request_for(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan) {
  ExpectedManifest expected;
  expected.world_size = context.world_size();
  expected.layout = layout_of(parallel);
  expected.zero_stage = parallel.zero_stage();
  expected.dtype = parallel.types().optimizer;
  expected.arithmetic_sha256 = plan.arithmetic_sha256;
  expected.parameters = parameter_records(parallel.layout());
  std::vector<FlatRange> wanted;
  const int units = static_cast<int>(parallel.plan().units().size());
  for (int unit = 0; unit < units; ++unit) {
    const typename DataParallel<T>::Shard held = parallel.held(unit);
    const std::int64_t flat = parallel.plan().units()[static_cast<std::size_t>(unit)].flat_offset;
    if (held.master.count > 0) wanted.emplace_back(flat + held.offset, held.master.count);
  }
  LoadRequest request(std::move(expected), std::move(wanted));
  request.reshard_from = plan.reshard_from;
  return request;
}

// Copies what was loaded into what the rank holds; parameters are still to be restored from it.
template <class T>
TrainCounters take_over(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan,
                        const LoadedCheckpoint& loaded, std::int64_t step) {
  // The hash of the arithmetic covers the schedule's settings; a manifest that says otherwise was edited.
  if (loaded.manifest.step != step || loaded.manifest.step > plan.schedule.total_steps ||
      !(loaded.manifest.schedule == plan.schedule) || loaded.manifest.guards.has_value() != plan.has_guards) {
    throw InputError(plan.parent.child(step_directory_name(step)).text() +
                     ": the manifest's step, schedule or guards are not those of the scenario: it was edited");
  }
  // Nothing is drawn from in sequence, so there is no position to go back to.
  if (!loaded.manifest.random_streams.empty()) {
    throw InputError(plan.parent.child(step_directory_name(step)).text() + ": the manifest has the random stream \"" +
                     loaded.manifest.random_streams.front().name + "\", which this job does not draw from");
  }
  if (context.storing() == Storing::kElements) {
    std::size_t offset = 0;
    for (int unit = 0; unit < static_cast<int>(parallel.plan().units().size()); ++unit) {
      const typename DataParallel<T>::Shard held = parallel.held(unit);
      const auto bytes = static_cast<std::size_t>(held.master.bytes().count());
      std::copy_n(loaded.state.master.data() + offset, bytes, held.master.data);
      std::copy_n(loaded.state.m.data() + offset, bytes, held.m.data);
      std::copy_n(loaded.state.v.data() + offset, bytes, held.v.data);
      offset += bytes;
    }
  }
  TrainCounters counters;
  counters.step = loaded.manifest.step;
  counters.batch_index = loaded.manifest.batch_index;
  counters.applied_steps = loaded.manifest.applied_steps;
  counters.guards = loaded.manifest.guards;
  return counters;
}

// A disk that fails holds nothing, and the next save says so.
Task<> prepare_disk(Storage& storage, StoragePath parent) {
  try {
    co_await prepare_checkpoints(storage, parent);
  } catch (const StorageError&) {
    // The job goes on without it.
  }
}

}  // namespace

template <class T>
Task<> open_checkpoints(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan) {
  if (plan.local.has_value()) co_await prepare_disk(context.storage(), plan.local->parent);
  if (context.rank() == 0) co_await prepare_checkpoints(context.storage(), plan.parent);
  co_await barrier(parallel.group());
}

template <class T>
Task<SaveRequest> snapshot_training_state(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan,
                                          TrainCounters counters, std::vector<std::int64_t> keep_also) {
  Coordinates coordinates;
  coordinates.data = parallel.rank();
  std::vector<OwnedState> state = owned_state(parallel);
  ShardSnapshot snapshot = co_await snapshot_shard(context, coordinates, parallel.types().optimizer, std::move(state));
  SaveRequest request(plan.parent, counters.step, std::move(snapshot));
  request.keep = plan.keep;
  request.keep_also = std::move(keep_also);
  if (!parallel.shards_parameters()) {
    if (context.rank() == 0) request.draft = make_draft(context, parallel, parallel.const_parameters(), plan, counters);
    co_return request;
  }
  std::vector<T> flat = co_await collect_parameters(context, parallel);
  // Other ranks, and all of them without elements, have nothing that a table could point to.
  ParameterTable<const T> whole;
  if (!flat.empty()) whole = table_of_flat<const T>(parallel.layout(), flat.data());
  if (context.rank() == 0) request.draft = make_draft(context, parallel, whole, plan, counters);
  co_return request;
}

Task<SaveResult> publish_training_state(ProcessGroup& group, SaveRequest request) {
  GroupCoordinator coordinator(group);
  SaveResult result;
  if (request.local.has_value()) {
    result = co_await save_locally(group.context(), coordinator, std::move(request));
  } else {
    result = co_await save_checkpoint(group.context(), coordinator, std::move(request));
  }
  co_return result;
}

template <class T>
Task<TrainCounters> load_training_state(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan,
                                        std::int64_t step) {
  LoadRequest request = request_for(context, parallel, plan);
  const StoragePath directory = plan.parent.child(step_directory_name(step));
  GroupCoordinator coordinator(parallel.group());
  const LoadedCheckpoint loaded = co_await load_agreed(context, coordinator, directory, std::move(request));
  TrainCounters counters = take_over(context, parallel, plan, loaded, step);
  co_await parallel.restore();
  co_return counters;
}

template <class T>
Task<FoundState> load_first_training_state(RankContext& context, DataParallel<T>& parallel, const CheckpointPlan& plan,
                                           CheckpointChoice choice) {
  LoadRequest request = request_for(context, parallel, plan);
  GroupCoordinator coordinator(parallel.group());
  LoadOutcome outcome;
  if (plan.local.has_value()) {
    outcome = co_await load_first_of_tiers(context, coordinator, plan.parent, plan.local->parent, std::move(request),
                                           plan.schedule.total_steps, std::move(choice));
  } else {
    outcome = co_await load_first(context, coordinator, plan.parent, std::move(request), plan.schedule.total_steps,
                                  std::move(choice));
  }
  FoundState found;
  found.rejected = std::move(outcome.rejected);
  found.refused_copies = std::move(outcome.refused_copies);
  if (outcome.checkpoint.has_value()) {
    found.read = outcome.checkpoint->read;
    found.reads = outcome.checkpoint->reads;
    found.counters = take_over(context, parallel, plan, *outcome.checkpoint, outcome.checkpoint->manifest.step);
    co_await parallel.restore();
  }
  co_return found;
}

#define REHEARSE_INSTANTIATE(T)                                                                              \
  template Task<> open_checkpoints(RankContext&, DataParallel<T>&, const CheckpointPlan&);                   \
  template Task<SaveRequest> snapshot_training_state(RankContext&, DataParallel<T>&, const CheckpointPlan&,  \
                                                     TrainCounters, std::vector<std::int64_t>);              \
  template Task<TrainCounters> load_training_state(RankContext&, DataParallel<T>&, const CheckpointPlan&,    \
                                                   std::int64_t);                                            \
  template Task<FoundState> load_first_training_state(RankContext&, DataParallel<T>&, const CheckpointPlan&, \
                                                      CheckpointChoice);
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse
