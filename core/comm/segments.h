#pragma once

#include "core/base/check.h"
#include "core/comm/chunks.h"

namespace rehearse {

// How a pipeline cuts a buffer: in as few segments as can be of at most `largest` bytes (or of one element, if that is
// more), as equal as they can be (chunks.h). One segment where `largest` is 0. No segment is empty.
inline int segments_of(const BufferView& buffer, Bytes largest) {
  CHECK_GE(largest.count(), 0);
  if (largest.count() == 0 || buffer.count == 0) return 1;
  const std::int64_t elements = largest.count() < size_of(buffer.dtype) ? 1 : largest.count() / size_of(buffer.dtype);
  const std::int64_t segments = (buffer.count - 1) / elements + 1;
  CHECK_LE(segments, std::int64_t{1} << 30);
  return static_cast<int>(segments);
}

}  // namespace rehearse
