#pragma once

#include <cstdint>
#include <vector>

#include "core/model/layout.h"

namespace rehearse {

// Consecutive parameters that are reduced, updated and gathered together.
struct Unit {
  int first_tensor = 0;  // index into the layout's tensors
  int tensors = 0;
  std::int64_t flat_offset = 0;   // of its first element in the flat vector
  std::int64_t numel = 0;         // real elements
  std::int64_t padded_numel = 0;  // the next multiple of 16 * shards
  std::int64_t chunk = 0;         // padded_numel / shards; group rank r owns chunk r
};

// How the flat parameter vector is cut (design section 7): into units of whole parameters, filled from the END of the
// vector, so that unit 0 holds the last parameters, whose gradients are final first. A unit takes parameters until the
// next one would make it larger than `bucket_elements`; 0 means one unit for all. A parameter larger than a bucket is a
// unit of its own.
class UnitPlan {
 public:
  UnitPlan(const ParameterLayout& layout, std::int64_t bucket_elements, int shards);

  const std::vector<Unit>& units() const { return units_; }
  int shards() const { return shards_; }
  // Where a tensor lies.
  int unit_of(int tensor) const;
  std::int64_t offset_in_unit(int tensor) const;

  // Real elements of chunk `shard` of a unit; 0 where it is padding alone.
  static std::int64_t real_elements(const Unit& unit, int shard);
  // Elements of all units with their padding.
  std::int64_t padded_total() const;

 private:
  // Shared: every rank has a plan, and nothing in it is as long as the list of tensors.
  ParameterLayout layout_;
  int shards_;
  std::vector<Unit> units_;
};

}  // namespace rehearse
