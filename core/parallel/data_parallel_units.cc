// What DataParallel does with one unit, and what it shows of it.

#include <algorithm>

#include "core/base/check.h"
#include "core/comm/collectives.h"
#include "core/parallel/data_parallel.h"
#include "core/parallel/unit_view.h"

namespace rehearse {

template <class T>
void DataParallel<T>::point_at(int unit, const Buffer& whole, ParameterTable<T>& table) {
  if (table.tensors.empty()) return;  // there are no elements
  const Unit& info = plan_.units()[static_cast<std::size_t>(unit)];
  T* const data = reinterpret_cast<T*>(const_cast<std::byte*>(whole.data()));
  for (int tensor = info.first_tensor; tensor < info.first_tensor + info.tensors; ++tensor) {
    table.tensors[static_cast<std::size_t>(tensor)] = data == nullptr ? nullptr : data + plan_.offset_in_unit(tensor);
  }
}

template <class T>
void DataParallel<T>::point_parameters_at(int unit, const Buffer& whole) {
  if (parameter_table_.tensors.empty()) return;
  const Unit& info = plan_.units()[static_cast<std::size_t>(unit)];
  point_at(unit, whole, parameter_table_);
  for (int tensor = info.first_tensor; tensor < info.first_tensor + info.tensors; ++tensor) {
    const_parameter_table_.tensors[static_cast<std::size_t>(tensor)] = parameter_table_[tensor];
  }
}

template <class T>
void DataParallel<T>::open_gradients(int unit) {
  const auto u = static_cast<std::size_t>(unit);
  CHECK(shards_gradients() && !has_open_gradients(unit));
  open_gradients_[u] = Buffer(&context_.memory(), MemoryKind::kGradients, types_.gradients,
                              plan_.units()[u].padded_numel, context_.storing());
  point_at(unit, open_gradients_[u], gradient_table_);
}

template <class T>
void DataParallel<T>::open_parameters(int unit) {
  const auto u = static_cast<std::size_t>(unit);
  CHECK(shards_parameters() && !has_open_parameters(unit));
  open_parameters_[u] = Buffer(&context_.memory(), MemoryKind::kParameters, types_.parameters,
                               plan_.units()[u].padded_numel, context_.storing());
  point_parameters_at(unit, open_parameters_[u]);
}

template <class T>
void DataParallel<T>::close_parameters(int unit) {
  CHECK(has_open_parameters(unit));
  open_parameters_[static_cast<std::size_t>(unit)] = Buffer();
  point_parameters_at(unit, Buffer());
}

template <class T>
Task<> DataParallel<T>::gather_unit(int unit) {
  const auto u = static_cast<std::size_t>(unit);
  CHECK(has_open_parameters(unit));
  auto work = [this, u] {
    const std::span<const T> own = parameters_[u].template as<T>();
    std::copy(own.begin(), own.end(), open_parameters_[u].template as<T>().begin() + rank() * plan_.units()[u].chunk);
  };
  co_await context_.device().run(ComputeCost(), work, Stream::kCopy);
  const BufferView view = view_of(open_parameters_, u);
  co_await all_gather(*gather_group_, view, choice_.all_gather);
}

// Rank 0's parameters of the unit come to all; each keeps its chunk.
template <class T>
Task<> DataParallel<T>::start_unit(int unit, const MakeParameters& make) {
  const auto u = static_cast<std::size_t>(unit);
  open_parameters(unit);
  auto fill = [&] { make(parameter_table_); };
  if (rank() == 0) co_await context_.device().run(ComputeCost(), fill);
  const BufferView view = view_of(open_parameters_, u);
  co_await broadcast(group_, view, 0);
  auto work = [this, u] {
    const std::int64_t chunk = plan_.units()[u].chunk;
    const auto own = open_parameters_[u].template as<T>().begin() + rank() * chunk;
    std::copy_n(own, chunk, parameters_[u].template as<T>().begin());
    std::copy_n(own, chunk, master_[u].template as<T>().begin());
  };
  co_await context_.device().run(ComputeCost(), work);
  close_parameters(unit);
}

template <class T>
BufferView DataParallel<T>::unit_gradients(int unit) {
  const auto u = static_cast<std::size_t>(unit);
  Buffer& whole = shards_gradients() ? open_gradients_[u] : gradients_[u];
  return BufferView(whole, 0, plan_.units()[u].numel);
}

template <class T>
Task<> DataParallel<T>::reduce_gradients(ProgramError error) {
  const UnitRange all(0, static_cast<int>(plan_.units().size()));
  co_await reduce_units(all, error);
}

template <class T>
Task<> DataParallel<T>::reduce_units(UnitRange units, ProgramError error) {
  if (error == ProgramError::kOtherOrder) {
    const BufferView sums(sums_);
    co_await all_gather(group_, sums);
  }
  for (int unit = units.first; unit < units.end; ++unit) {
    if (unit == units.first && error == ProgramError::kSkip) continue;
    const ProgramError with = unit == units.first ? error : ProgramError::kNone;
    co_await reduce_unit(unit, with);
  }
}

template <class T>
Task<> DataParallel<T>::reduce_unit(int unit, ProgramError error) {
  const auto u = static_cast<std::size_t>(unit);
  const BufferView view = with_error(view_of(shards_gradients() ? open_gradients_ : gradients_, u), error);
  if (zero_stage_ == 0) {
    co_await all_reduce(group_, view, choice_.all_reduce, choice_.options);
    co_return;
  }
  co_await reduce_scatter(group_, view, choice_.reduce_scatter);
  if (!shards_gradients()) co_return;
  auto work = [this, u] {
    const std::int64_t chunk = plan_.units()[u].chunk;
    std::copy_n(open_gradients_[u].template as<T>().begin() + rank() * chunk, chunk,
                gradients_[u].template as<T>().begin());
  };
  co_await context_.device().run(ComputeCost(), work, Stream::kCopy);
  open_gradients_[u] = Buffer();
  point_at(unit, open_gradients_[u], gradient_table_);
}

template <class T>
T* DataParallel<T>::held_gradients(std::size_t unit) {
  T* const data = gradients_[unit].template as<T>().data();
  return zero_stage_ == 0 ? data : data + chunk_at(gradients_[unit], plan_.units()[unit]);
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
    // Of a buffer that has the whole unit, or this rank's chunk of it alone.
    const auto place_in = [&](Buffer& buffer) {
      const std::int64_t at = buffer.count() == unit.padded_numel ? from : from - held_offset(unit);
      return buffer.data() + at * static_cast<std::int64_t>(sizeof(T));
    };
    piece.parameters = place_in(parameters_[u]);
    piece.gradients = place_in(gradients_[u]);
    piece.master = master_[u].data() + held_at;
    piece.m = m_[u].data() + held_at;
    piece.v = v_[u].data() + held_at;
    pieces.push_back(piece);
  }
  return pieces;
}

#define REHEARSE_INSTANTIATE(T)                                                               \
  template void DataParallel<T>::point_at(int, const Buffer&, ParameterTable<T>&);            \
  template void DataParallel<T>::point_parameters_at(int, const Buffer&);                     \
  template void DataParallel<T>::open_gradients(int);                                         \
  template void DataParallel<T>::open_parameters(int);                                        \
  template void DataParallel<T>::close_parameters(int);                                       \
  template Task<> DataParallel<T>::gather_unit(int);                                          \
  template Task<> DataParallel<T>::start_unit(int, const MakeParameters&);                    \
  template BufferView DataParallel<T>::unit_gradients(int);                                   \
  template Task<> DataParallel<T>::reduce_gradients(ProgramError);                            \
  template Task<> DataParallel<T>::reduce_units(UnitRange, ProgramError);                     \
  template Task<> DataParallel<T>::reduce_unit(int, ProgramError);                            \
  template T* DataParallel<T>::held_gradients(std::size_t);                                   \
  template DataParallel<T>::Shard DataParallel<T>::shard_of(int, std::int64_t, std::int64_t); \
  template DataParallel<T>::Shard DataParallel<T>::held(int);                                 \
  template DataParallel<T>::Shard DataParallel<T>::shard_to_save(int);                        \
  template std::vector<ShardPiece> DataParallel<T>::pieces();
REHEARSE_INSTANTIATE(float)
REHEARSE_INSTANTIATE(double)
#undef REHEARSE_INSTANTIATE

}  // namespace rehearse
