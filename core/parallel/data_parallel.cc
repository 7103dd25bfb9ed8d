#include "core/parallel/data_parallel.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/comm/collectives.h"
#include "core/tensor/elementwise.h"
#include "core/tensor/reduce.h"

namespace rehearse {
namespace {

constexpr std::int64_t kSumsPerRank = 4;
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

// A unit as collectives see it.
BufferView view_of(std::vector<Buffer>& units, std::size_t unit) {
  BufferView view(units[unit]);
  view.unit = static_cast<std::int32_t>(unit);
  return view;
}

// What a wrong program passes instead: half of the elements, or the same bytes as another type.
BufferView with_error(BufferView view, ProgramError error) {
  if (error == ProgramError::kOtherSize) view.count /= 2;
  if (error == ProgramError::kOtherType) {
    const bool wide = view.dtype == DType::kFloat64;
    view.dtype = wide ? DType::kFloat32 : DType::kFloat64;
    view.count = wide ? view.count * 2 : view.count / 2;
  }
  return view;
}

std::int64_t whole_unit(const Unit& unit, int) { return unit.padded_numel; }
std::int64_t held_part(const Unit& unit, int zero_stage) { return zero_stage == 0 ? unit.padded_numel : unit.chunk; }

template <class T>
ParameterTable<T> table_of_units(const ParameterLayout& layout, const UnitPlan& plan, std::vector<Buffer>& units) {
  ParameterTable<T> table;
  for (int tensor = 0; tensor < static_cast<int>(layout.tensors().size()); ++tensor) {
    Buffer& unit = units[static_cast<std::size_t>(plan.unit_of(tensor))];
    table.tensors.push_back(unit.has_elements() ? unit.as<T>().data() + plan.offset_in_unit(tensor) : nullptr);
  }
  return table;
}

}  // namespace

template <class T>
DataParallel<T>::DataParallel(RankContext& context, const ParameterLayout& layout, int zero_stage,
                              std::int64_t bucket_elements, Decay decay, Duration timeout,
                              const CollectiveChoice& choice)
    : context_(context),
      layout_(layout),
      zero_stage_(zero_stage),
      choice_(choice),
      group_(ProcessGroup::world(context, timeout)),
      plan_(layout, bucket_elements, group_.size()),
      parameters_(make_buffers(context, MemoryKind::kParameters, dtype_of<T>, plan_, whole_unit, zero_stage)),
      gradients_(make_buffers(context, MemoryKind::kGradients, dtype_of<T>, plan_, whole_unit, zero_stage)),
      master_(make_buffers(context, MemoryKind::kOptimizer, dtype_of<T>, plan_, held_part, zero_stage)),
      m_(make_buffers(context, MemoryKind::kOptimizer, dtype_of<T>, plan_, held_part, zero_stage)),
      v_(make_buffers(context, MemoryKind::kOptimizer, dtype_of<T>, plan_, held_part, zero_stage)),
      sums_(&context.memory(), MemoryKind::kCommunication, DType::kFloat64, kSumsPerRank * group_.size(),
            context.storing()),
      decay_(plan_.units().size()),
      parameter_table_(table_of_units<T>(layout, plan_, parameters_)),
      gradient_table_(table_of_units<T>(layout, plan_, gradients_)) {
  CHECK(zero_stage == 0 || zero_stage == 1);
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
ParameterTable<const T> DataParallel<T>::const_parameters() const {
  ParameterTable<const T> table;
  table.tensors.assign(parameter_table_.tensors.begin(), parameter_table_.tensors.end());
  return table;
}

template <class T>
Task<> DataParallel<T>::broadcast_parameters() {
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
    std::copy(master.begin(), master.end(), all.begin() + held_offset(unit));
  }
}

template <class T>
void DataParallel<T>::zero_gradients() {
  for (Buffer& unit : gradients_) {
    if (unit.has_elements()) std::memset(unit.data(), 0, static_cast<std::size_t>(unit.bytes().count()));
  }
}

template <class T>
BufferView DataParallel<T>::unit_gradients(int unit) {
  const auto u = static_cast<std::size_t>(unit);
  return BufferView(gradients_[u], 0, plan_.units()[u].numel);
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
Task<> DataParallel<T>::reduce_gradients(ProgramError error) {
  if (error == ProgramError::kOtherOrder) {
    const BufferView sums(sums_);
    co_await all_gather(group_, sums);
  }
  for (std::size_t u = 0; u < gradients_.size(); ++u) {
    if (u == 0 && error == ProgramError::kSkip) continue;
    const BufferView view = with_error(view_of(gradients_, u), u == 0 ? error : ProgramError::kNone);
    if (zero_stage_ == 0) {
      co_await all_reduce(group_, view, choice_.all_reduce, choice_.options);
    } else {
      co_await reduce_scatter(group_, view, choice_.reduce_scatter);
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
      const T* chunk = gradients_[u].template as<T>().data() + rank() * unit.chunk;
      const std::int64_t real = UnitPlan::real_elements(unit, rank());
      sums.sum_of_squares += sum_of_squares(real, chunk);
      sums.nonfinite_elements += static_cast<double>(count_nonfinite(real, chunk));
    }
  };
  const ComputeCost cost(Flops(kNormFlopsPerElement * elements),
                         Bytes(elements * static_cast<std::int64_t>(sizeof(T))));
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
      const Unit& unit = plan_.units()[u];
      const Shard shard = held(static_cast<int>(u));
      T* g = gradients_[u].template as<T>().data() + held_offset(unit);
      const std::int64_t n = shard.master.count;
      divide_in_place(n, g, static_cast<T>(divisor));
      if (clip_factor != 1.0) scale_in_place(n, g, static_cast<T>(clip_factor));
      adam_update<T>(step, elements_of<T>(shard.master), elements_of<T>(shard.m), elements_of<T>(shard.v),
                     std::span<const T>(g, static_cast<std::size_t>(n)), decay_[u]);
    }
    copy_master_to_parameters();
  };
  const std::int64_t element_bytes = 5 * static_cast<std::int64_t>(sizeof(T));  // g, master, m, v, parameter
  const ComputeCost cost(Flops(kAdamFlopsPerElement * elements), Bytes(element_bytes * elements));
  co_await context_.device().run(cost, work);
}

template <class T>
Task<> DataParallel<T>::gather_parameters(ProgramError error) {
  if (zero_stage_ == 0) co_return;
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
typename DataParallel<T>::Shard DataParallel<T>::shard_of(int unit, std::int64_t begin, std::int64_t end) {
  const auto u = static_cast<std::size_t>(unit);
  const std::int64_t count = std::max<std::int64_t>(end - begin, 0);
  const std::int64_t from = count == 0 ? 0 : begin - held_offset(plan_.units()[u]);
  Shard shard;
  shard.offset = begin;
  shard.master = BufferView(master_[u], from, count);
  shard.m = BufferView(m_[u], from, count);
  shard.v = BufferView(v_[u], from, count);
  return shard;
}

template <class T>
typename DataParallel<T>::Shard DataParallel<T>::held(int unit) {
  const Unit& u = plan_.units()[static_cast<std::size_t>(unit)];
  return shard_of(unit, held_offset(u), std::min(held_offset(u) + held_count(u), u.numel));
}

template <class T>
typename DataParallel<T>::Shard DataParallel<T>::shard_to_save(int unit) {
  const Unit& u = plan_.units()[static_cast<std::size_t>(unit)];
  return shard_of(unit, rank() * u.chunk, rank() * u.chunk + UnitPlan::real_elements(u, rank()));
}

template <class T>
std::vector<ShardPiece> DataParallel<T>::pieces() {
  std::vector<ShardPiece> pieces;
  if (context_.storing() == Storing::kShapeOnly) return pieces;
  // Units are filled from the end of the flat vector; pieces come in flat order.
  for (int tensor = 0; tensor < static_cast<int>(layout_.tensors().size()); ++tensor) {
    const auto u = static_cast<std::size_t>(plan_.unit_of(tensor));
    const Unit& unit = plan_.units()[u];
    const std::int64_t begin = plan_.offset_in_unit(tensor);
    const std::int64_t end = begin + layout_.tensors()[static_cast<std::size_t>(tensor)].numel;
    const std::int64_t from = std::max(begin, held_offset(unit));
    const std::int64_t to = std::min(end, held_offset(unit) + held_count(unit));
    if (from >= to) continue;
    const auto held_at = (from - held_offset(unit)) * static_cast<std::int64_t>(sizeof(T));
    ShardPiece piece;
    piece.tensor = tensor;
    piece.offset = from - begin;
    piece.count = to - from;
    piece.gradients = gradients_[u].data() + from * static_cast<std::int64_t>(sizeof(T));
    piece.master = master_[u].data() + held_at;
    piece.m = m_[u].data() + held_at;
    piece.v = v_[u].data() + held_at;
    pieces.push_back(piece);
  }
  return pieces;
}

template <class T>
Task<> DataParallel<T>::restore() {
  auto work = [this] { copy_master_to_parameters(); };
  co_await context_.device().run(ComputeCost(), work);
  co_await gather_parameters();
}

template class DataParallel<float>;
template class DataParallel<double>;

}  // namespace rehearse
