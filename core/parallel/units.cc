#include "core/parallel/units.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {

UnitPlan::UnitPlan(const ParameterLayout& layout, std::int64_t bucket_elements, int shards) : shards_(shards) {
  CHECK_GT(shards, 0);
  CHECK_GE(bucket_elements, 0);
  const auto& tensors = layout.tensors();
  unit_of_.resize(tensors.size());
  offset_in_unit_.resize(tensors.size());
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
    for (int tensor = unit.first_tensor; tensor < end; ++tensor) {
      const auto index = static_cast<std::size_t>(tensor);
      unit_of_[index] = static_cast<int>(units_.size());
      offset_in_unit_[index] = tensors[index].offset - unit.flat_offset;
    }
    end = unit.first_tensor;
    units_.push_back(unit);
  }
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
