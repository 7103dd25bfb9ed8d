#pragma once

#include <cstdint>

#include "core/base/buffer.h"

namespace rehearse {

// Elements [offset, offset + count) of a buffer.
struct ChunkRange {
  ChunkRange(std::int64_t chunk_offset, std::int64_t chunk_count) : offset(chunk_offset), count(chunk_count) {}
  std::int64_t offset;
  std::int64_t count;
};

// How the ring cuts a buffer of `count` elements among `size` ranks: chunk r belongs to group rank r. Each gets
// floor(count / size) elements and the first (count mod size) chunks one more, so that sizes differ by at most one
// element, chunk 0 is a largest one, and with fewer elements than ranks the last chunks are empty. Padded units (design
// section 7) divide evenly.
class Chunks {
 public:
  Chunks(BufferView buffer, int size)
      : buffer_(buffer), size_(size), base_(buffer.count / size), larger_(buffer.count % size) {}

  ChunkRange range(int r) const {
    return ChunkRange(r * base_ + (r < larger_ ? r : larger_), base_ + (r < larger_ ? 1 : 0));
  }
  BufferView operator[](int r) const {
    const ChunkRange chunk = range(r);
    return buffer_.subview(chunk.offset, chunk.count);
  }
  // The chunk before r around the ring.
  int before(int r) const { return r == 0 ? size_ - 1 : r - 1; }

 private:
  BufferView buffer_;
  int size_;
  std::int64_t base_;
  std::int64_t larger_;
};

inline ChunkRange chunk_range(std::int64_t count, int size, int r) {
  BufferView shape;
  shape.count = count;
  return Chunks(shape, size).range(r);
}

}  // namespace rehearse
