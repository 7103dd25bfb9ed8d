#include "core/parallel/data_parallel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/comm/collectives.h"
#include "core/parallel/unit_view.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/reduce.h"

namespace rehearse {
namespace {

constexpr std::int64_t kSumsPerRank = 4;
// Of the group that gathers parameters beside others; those of savers are 1 and 2.
constexpr std::uint32_t kGatherGroup = 3;
// A multiply-add counts 2: the division and the clip, two moments (3 and 4), the root and the quotient's five.
constexpr std::int64_t kAdamFlopsPerElement = 16;
// Squared and added.
constexpr std::int64_t kNormFlopsPerElement = 2;

std::vector<Buffer> make_buffers(RankContext& context, MemoryKind kind, DType dtype, const UnitPlan& plan,
                                 std::int64_t (*count)(const Unit&, int), int zero_stage) {
  std::vector<Buffer> buffers;
  for (const Unit& unit : plan.units()) {
    buffers.emplace_back(&context.memory(), kind, dtype, count(unit, zero_stage), context.storing());
  }
  return buffers;
}

template <class T>
std::span<T> elements_of(const BufferView& view) {
  return {reinterpret_cast<T*>(view.data), static_cast<std::size_t>(view.count)};
}

// Elements of a unit that a rank keeps, by what they are of.
std::int64_t kept_of(const Unit& unit, bool sharded) { return sharded ? unit.chunk : unit.padded_numel; }
std::int64_t kept_parameters(const Unit& unit, int zero_stage) { return kept_of(unit, zero_stage >= 3); }
std::int64_t kept_gradients(const Unit& unit, int zero_stage) { return kept_of(unit, zero_stage >= 2); }
std::int64_t kept_optimizer(const Unit& unit, int zero_stage) { return kept_of(unit, zero_stage >= 1); }

}  // namespace

template <class T>
DataParallel<T>::DataParallel(RankContext& context, const ParameterLayout& layout, int zero_stage,
                              std::int64_t bucket_elements, Decay decay, Duration timeout,
                              const CollectiveChoice& choice, StateTypes types)
    : context_(context),
      layout_(layout),
      zero_stage_(zero_stage),
      choice_(choice),
      types_(types),
      group_(ProcessGroup::world(context, timeout)),
      plan_(layout, bucket_elements, group_.size()),
      stage_units_(layout, plan_),
      parameters_(make_buffers(context, MemoryKind::kParameters, types.parameters, plan_, kept_parameters, zero_stage)),
      gradients_(make_buffers(context, MemoryKind::kGradients, types.gradients, plan_, kept_gradients, zero_stage)),
      open_parameters_(plan_.units().size()),
      open_gradients_(plan_.units().size()),
      master_(make_buffers(context, MemoryKind::kOptimizer, types.optimizer, plan_, kept_optimizer, zero_stage)),
      m_(make_buffers(context, MemoryKind::kOptimizer, types.optimizer, plan_, kept_optimizer, zero_stage)),
      v_(make_buffers(context, MemoryKind::kOptimizer, types.optimizer, plan_, kept_optimizer, zero_stage)),
      sums_(&context.memory(), MemoryKind::kCommunication, DType::kFloat64, kSumsPerRank * group_.size(),
            context.storing()),
      decay_(plan_.units().size()) {
  CHECK(zero_stage >= 0 && zero_stage <= 3);
  if (shards_parameters()) {
    Group all = group_.group();
    all.id = kGatherGroup;
    gather_group_.emplace(context, std::move(all), timeout);
  }
  // Thousands of ranks without elements would have thousands of tables of nothing.
  const std::size_t tensors = context.storing() == Storing::kElements ? layout.tensors().size() : 0;
  parameter_table_.tensors.resize(tensors);
  const_parameter_table_.tensors.resize(tensors);
  gradient_table_.tensors.resize(tensors);
  for (int unit = 0; unit < static_cast<int>(plan_.units().size()); ++unit) {
    if (!shards_parameters()) point_parameters_at(unit, parameters_[static_cast<std::size_t>(unit)]);
    if (!shards_gradients()) point_at(unit, gradients_[static_cast<std::size_t>(unit)], gradient_table_);
  }
  for (std::size_t u = 0; u < plan_.units().size(); ++u) {
    const Unit& unit = plan_.units()[u];
    const std::int64_t begin = held_offset(unit);
    const std::int64_t end = std::min(begin + held_count(unit), unit.numel);
    for (int tensor = unit.first_tensor; tensor < unit.first_tensor + unit.tensors; ++tensor) {
      const ParameterInfo& info = layout.tensors()[static_cast<std::size_t>(tensor)];
      const std::int64_t from = std::max(plan_.offset_in_unit(tensor), begin);
      const std::int64_t to = std::min(plan_.offset_in_unit(tensor) + info.numel, end);
      if (from >= to) continue;
      DecayRange range;
      range.offset = from - begin;
      range.count = to - from;
      range.decays = decay == Decay::kAll || info.is_matrix();
      decay_[u].push_back(range);
    }
  }
}

template <class T>
Task<> DataParallel<T>::start_from(MakeParameters make) {
  if (shards_parameters()) {
    for (int unit = 0; unit < static_cast<int>(plan_.units().size()); ++unit) co_await start_unit(unit, make);
    co_return;
  }
  auto fill = [&] { make(parameter_table_); };
  if (rank() == 0) co_await context_.device().run(ComputeCost(), fill);
  for (std::size_t u = 0; u < parameters_.size(); ++u) {
    const BufferView view = view_of(parameters_, u);
    co_await broadcast(group_, view, 0);
  }
  auto work = [this] { copy_parameters_to_master(); };
  co_await context_.device().run(ComputeCost(), work);
}

template <class T>
void DataParallel<T>::copy_parameters_to_master() {
  for (std::size_t u = 0; u < plan_.units().size(); ++u) {
    const Unit& unit = plan_.units()[u];
    const std::span<T> all = parameters_[u].template as<T>();
    std::copy_n(all.begin() + held_offset(unit), held_count(unit), master_[u].template as<T>().begin());
  }
}

template <class T>
void DataParallel<T>::copy_master_to_parameters() {
  for (std::size_t u = 0; u < plan_.units().size(); ++u) {
    const Unit& unit = plan_.units()[u];
    const std::span<T> all = parameters_[u].template as<T>();
    const std::span<const T> master = master_[u].template as<T>();
    const std::int64_t at = zero_stage_ == 0 ? 0 : chunk_at(parameters_[u], unit);
    std::copy(master.begin(), master.end(), all.begin() + at);
  }
}

template <class T>
void DataParallel<T>::zero_gradients() {
  for (Buffer& unit : shards_gradients() ? open_gradients_ : gradients_) {
    if (unit.data() != nullptr) std::memset(unit.data(), 0, static_cast<std::size_t>(unit.bytes().count()));
  }
}

template <class T>
void DataParallel<T>::zero_moments() {
  for (std::vector<Buffer>* units : {&m_, &v_}) {
    for (Buffer& unit : *units) {
      if (unit.has_elements()) std::memset(unit.data(), 0, static_cast<std::size_t>(unit.bytes().count()));
    }
  }
}

template <class T>
Task<StepSums> DataParallel<T>::measure(double loss, double tokens) {
  StepSums sums(loss, 0, 0, tokens);
  std::int64_t elements = 0;
  for (const Unit& unit : plan_.units()) elements += UnitPlan::real_elements(unit, rank());
  auto work = [&] {
    for (std::size_t u = 0; u < plan_.units().size(); ++u) {
      const Unit& unit = plan_.units()[u];
      const T* chunk = gradients_[u].template as<T>().data() + chunk_at(gradients_[u], unit);
      const std::int64_t real = UnitPlan::real_elements(unit, rank());
      sums.sum_of_squares += sum_of_squares(real, chunk);
      sums.nonfinite_elements += static_cast<double>(count_nonfinite(real, chunk));
    }
  };
  const ComputeCost cost(Flops(kNormFlopsPerElement * elements), Bytes(elements * size_of(types_.gradients)));
  co_await context_.device().run(cost, work);
  co_return sums;
}

template <class T>
Task<std::vector<StepSums>> DataParallel<T>::exchange_sums(StepSums own, bool decides) {
  Buffer deciding;
  if (decides && !sums_.has_elements()) {
    deciding = Buffer(&context_.memory(), MemoryKind::kCommunication, DType::kFloat64, sums_.count());
  }
  Buffer& sums = deciding.count() > 0 ? deciding : sums_;
  const bool real = sums.has_elements();
  if (real) {
    const std::span<double> mine = sums.as<double>().subspan(static_cast<std::size_t>(rank() * kSumsPerRank), 4);
    mine[0] = own.loss;
    mine[1] = own.sum_of_squares;
    mine[2] = own.nonfinite_elements;
    mine[3] = own.tokens;
  }
  const BufferView view(sums);
  co_await all_gather(group_, view);
  std::vector<StepSums> all;
  for (int r = 0; r < size(); ++r) {
    if (!real) {
      all.push_back(own);
      continue;
    }
    const std::span<const double> one = sums.as<double>().subspan(static_cast<std::size_t>(r * kSumsPerRank), 4);
    all.push_back(StepSums(one[0], one[1], one[2], one[3]));
  }
  co_return all;
}

template <class T>
Task<> DataParallel<T>::update(AdamStep step, double divisor, double clip_factor) {
  std::int64_t elements = 0;
  for (int u = 0; u < static_cast<int>(plan_.units().size()); ++u) {
    const Unit& unit = plan_.units()[static_cast<std::size_t>(u)];
    elements += std::clamp<std::int64_t>(unit.numel - held_offset(unit), 0, held_count(unit));
  }
  auto work = [&] {
    for (std::size_t u = 0; u < plan_.units().size(); ++u) {
      const Shard shard = held(static_cast<int>(u));
      T* g = held_gradients(u);
      const std::int64_t n = shard.master.count;
      divide_in_place(n, g, static_cast<T>(divisor));
      if (clip_factor != 1.0) scale_in_place(n, g, static_cast<T>(clip_factor));
      adam_update<T>(step, elements_of<T>(shard.master), elements_of<T>(shard.m), elements_of<T>(shard.v),
                     std::span<const T>(g, static_cast<std::size_t>(n)), decay_[u]);
    }
    copy_master_to_parameters();
  };
  // The gradient is read, master weight and moments are read and written, the parameter is written.
  const std::int64_t element_bytes =
      size_of(types_.gradients) + 6 * size_of(types_.optimizer) + size_of(types_.parameters);
  const ComputeCost cost(Flops(kAdamFlopsPerElement * elements), Bytes(element_bytes * elements));
  co_await context_.device().run(cost, work);
}

template <class T>
Task<> DataParallel<T>::gather_parameters(ProgramError error) {
  if (zero_stage_ == 0 || shards_parameters()) co_return;
  if (error == ProgramError::kOtherOrder) {
    const BufferView next = view_of(gradients_, 0);
    co_await reduce_scatter(group_, next);
  }
  for (std::size_t u = 0; u < parameters_.size(); ++u) {
    if (u == 0 && error == ProgramError::kSkip) continue;
    const BufferView view = with_error(view_of(parameters_, u), u == 0 ? error : ProgramError::kNone);
    co_await all_gather(group_, view, choice_.all_gather);
  }
}

template <class T>
Task<> DataParallel<T>::restore() {
  auto work = [this] { copy_master_to_parameters(); };
  co_await context_.device().run(ComputeCost(), work);
  co_await gather_parameters();
}

// data_parallel_units.cc has the other members.
template class DataParallel<float>;
template class DataParallel<double>;

}  // namespace rehearse
