#include "core/parallel/units.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {

UnitPlan::UnitPlan(const ParameterLayout& layout, std::int64_t bucket_elements, int shards)
    : layout_(layout), shards_(shards) {
  CHECK_GT(shards, 0);
  CHECK_GE(bucket_elements, 0);
  const auto& tensors = layout.tensors();
  const std::int64_t multiple = std::int64_t{16} * shards;
  int end = static_cast<int>(tensors.size());
  while (end > 0) {
    Unit unit;
    unit.first_tensor = end;
    while (unit.first_tensor > 0) {
      const std::int64_t next = tensors[static_cast<std::size_t>(unit.first_tensor) - 1].numel;
      if (unit.tensors > 0 && bucket_elements > 0 && unit.numel + next > bucket_elements) break;
      --unit.first_tensor;
      ++unit.tensors;
      unit.numel += next;
    }
    unit.flat_offset = tensors[static_cast<std::size_t>(unit.first_tensor)].offset;
    unit.padded_numel = (unit.numel + multiple - 1) / multiple * multiple;
    unit.chunk = unit.padded_numel / shards;
    end = unit.first_tensor;
    units_.push_back(unit);
  }
}

int UnitPlan::unit_of(int tensor) const {
  CHECK(tensor >= 0 && tensor < static_cast<int>(layout_.tensors().size()));
  // Their first tensors fall from unit to unit.
  const auto unit = std::partition_point(units_.begin(), units_.end(),
                                         [tensor](const Unit& one) { return one.first_tensor > tensor; });
  return static_cast<int>(unit - units_.begin());
}

std::int64_t UnitPlan::offset_in_unit(int tensor) const {
  const Unit& unit = units_[static_cast<std::size_t>(unit_of(tensor))];
  return layout_.tensors()[static_cast<std::size_t>(tensor)].offset - unit.flat_offset;
}

std::int64_t UnitPlan::real_elements(const Unit& unit, int shard) {
  return std::clamp<std::int64_t>(unit.numel - shard * unit.chunk, 0, unit.chunk);
}

std::int64_t UnitPlan::padded_total() const {
  std::int64_t total = 0;
  for (const Unit& unit : units_) total += unit.padded_numel;
  return total;
}

}  // namespace rehearse
