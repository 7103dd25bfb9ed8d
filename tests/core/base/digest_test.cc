#include "core/base/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/random.h"

namespace rehearse {
namespace {

TEST(Sha256, AnswersTheStandardsVectors) {  // FIPS 180-4 examples
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PiecesEqualTheWholeAndTheContextIsReused) {
  Sha256 sha;
  EXPECT_EQ(sha.update("a").update("bc").finish_hex(), sha256_hex("abc"));
  EXPECT_EQ(sha.finish_hex(), sha256_hex(""));
}

TEST(Sha256Hex, IsLowerCaseAndExactlyLong) {
  const std::string good = sha256_hex("abc");
  EXPECT_TRUE(is_sha256_hex(good));
  EXPECT_FALSE(is_sha256_hex(good.substr(1)));
  EXPECT_FALSE(is_sha256_hex(good + "0"));
  std::string upper = good;
  upper[0] = 'B';
  EXPECT_FALSE(is_sha256_hex(upper));
}

TEST(Xxh3, AnswersTheKnownVectorOfNothing) { EXPECT_EQ(to_hex(xxh3_128({})), "99aa06d3014798d86001c324468d497f"); }

std::vector<std::byte> some_bytes(std::size_t count) {
  RandomStream random(count);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(random.next_u64()));
  return bytes;
}

// Around what XXH3 treats differently: 16, 128 and 240 bytes, its stripes of 64, the 256 that a stream holds back, its
// blocks of 1,024.
const std::vector<std::size_t> kXxh3Sizes = {0,   1,   2,    3,    4,    8,    9,    16,   17,   63,      64,
                                             65,  127, 128,  129,  239,  240,  241,  255,  256,  257,     511,
                                             512, 513, 1023, 1024, 1025, 2048, 4095, 5632, 8192, 88 * 64, 88 * 4096};

TEST(Xxh3Stream, OnePieceEqualsTheWhole) {
  for (const std::size_t size : kXxh3Sizes) {
    const std::vector<std::byte> bytes = some_bytes(size);
    Xxh3Stream stream;
    stream.update(bytes);
    EXPECT_EQ(to_hex(stream.finish()), to_hex(xxh3_128(bytes))) << size << " bytes";
  }
}

TEST(Xxh3Stream, EverySplitInTwoEqualsTheWhole) {
  std::size_t splits = 0;
  for (const std::size_t size : kXxh3Sizes) {
    if (size > 5632) continue;
    const std::vector<std::byte> bytes = some_bytes(size);
    const Digest128 whole = xxh3_128(bytes);
    const std::span<const std::byte> all(bytes);
    for (std::size_t split = 0; split <= size; ++split) {
      Xxh3Stream stream;
      stream.update(all.first(split));
      stream.update(all.subspan(split));
      ASSERT_EQ(stream.finish(), whole) << size << " bytes cut at " << split;
      ++splits;
    }
  }
  std::printf("%zu splits\n", splits);
}

TEST(Xxh3Stream, ManyPiecesEqualTheWhole) {
  RandomStream random(1);
  std::size_t pieces = 0;
  for (const std::size_t size : kXxh3Sizes) {
    const std::vector<std::byte> bytes = some_bytes(size);
    const std::span<const std::byte> all(bytes);
    for (const std::uint64_t largest : {1, 7, 64, 300, 5000}) {
      Xxh3Stream stream;
      for (std::size_t done = 0; done < size; ++pieces) {
        const std::size_t next = std::min<std::size_t>(random.below(largest + 1), size - done);
        stream.update(all.subspan(done, next));
        done += next;
      }
      ASSERT_EQ(stream.finish(), xxh3_128(bytes)) << size << " bytes in pieces of up to " << largest;
    }
  }
  std::printf("%zu pieces\n", pieces);
}

TEST(Xxh3Stream, StartsAfreshWhenItHasFinished) {
  Xxh3Stream stream;
  EXPECT_EQ(stream.finish(), xxh3_128({}));
  for (const std::size_t size : kXxh3Sizes) {
    const std::vector<std::byte> bytes = some_bytes(size);
    stream.update(bytes);
    EXPECT_EQ(stream.finish(), xxh3_128(bytes)) << size << " bytes";
  }
  EXPECT_EQ(stream.finish(), xxh3_128({}));
}

TEST(Buffer, IsAlignedZeroedAndAccounted) {
  MemoryAccount account;
  {
    Buffer buffer(&account, MemoryKind::kGradients, DType::kFloat64, 5);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    for (const double x : buffer.as<double>()) EXPECT_EQ(x, 0);
    Buffer moved = std::move(buffer);
    EXPECT_EQ(account.current(MemoryKind::kGradients).count(), 40);
    Buffer shape(&account, MemoryKind::kGradients, DType::kFloat32, 3, Storing::kShapeOnly);
    EXPECT_FALSE(shape.has_elements());
    EXPECT_EQ(account.current(MemoryKind::kGradients).count(), 52);
  }
  EXPECT_EQ(account.current(MemoryKind::kGradients).count(), 0);
  EXPECT_EQ(account.peak(MemoryKind::kGradients).count(), 52);
}

}  // namespace
}  // namespace rehearse
