#pragma once

#include <cstdint>

#include "core/base/units.h"

namespace rehearse {

// How formulas cut a size, which know bytes and no elements: parts are rounded up to whole bytes.

// One of `parts` equal parts.
inline Bytes part_of(Bytes whole, std::int64_t parts) {
  return Bytes(whole.count() / parts + (whole.count() % parts == 0 ? 0 : 1));
}

// The segments of a pipeline, the fewest of at most `largest` bytes; one where that is 0.
struct EvenSegments {
  EvenSegments(Bytes whole, Bytes largest)
      : count(largest.count() == 0 ? 1 : part_of(whole, largest.count()).count()), size(part_of(whole, count)) {}
  std::int64_t count;
  Bytes size;
};

}  // namespace rehearse
