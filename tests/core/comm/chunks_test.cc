#include "core/comm/chunks.h"

#include <gtest/gtest.h>

#include "tests/core/comm/oracle.h"

namespace rehearse {
namespace {

TEST(Chunks, CoverTheBufferInOrderWithTheLargerOnesFirst) {
  for (int size = 1; size <= 17; ++size) {
    for (const std::int64_t count : counts_for(size)) {
      std::int64_t end = 0;
      for (int r = 0; r < size; ++r) {
        const ChunkRange chunk = chunk_range(count, size, r);
        EXPECT_EQ(chunk.offset, end);
        EXPECT_EQ(chunk.count, elements_of(r, count, size));
        end += chunk.count;
      }
      EXPECT_EQ(end, count);
    }
  }
}

TEST(Chunks, ViewTheirPartOfTheBuffer) {
  std::vector<double> values = {0, 1, 2, 3, 4, 5, 6};
  const Chunks chunks(BufferView{std::span(values)}, 3);  // 3 + 2 + 2
  EXPECT_EQ(chunks[1].count, 2);
  EXPECT_EQ(*reinterpret_cast<double*>(chunks[1].data), 3);
  EXPECT_EQ(chunks[2].bytes(), Bytes(16));
  EXPECT_EQ(chunks.before(0), 2);
  EXPECT_EQ(chunks.before(2), 1);
}

TEST(Chunks, HaveAShapeWithoutStorage) {
  BufferView shape;
  shape.count = 10;
  EXPECT_EQ(Chunks(shape, 4)[0].count, 3);
  EXPECT_FALSE(Chunks(shape, 4)[3].has_elements());
}

// 2^60 elements among 2^14 ranks: offsets stay 64-bit.
TEST(Chunks, AreCountedIn64Bits) {
  constexpr std::int64_t kCount = std::int64_t{1} << 60;
  EXPECT_EQ(chunk_range(kCount, 1 << 14, (1 << 14) - 1).offset, kCount - (kCount >> 14));
}

}  // namespace
}  // namespace rehearse
