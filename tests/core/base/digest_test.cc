#include "core/base/digest.h"

#include <gtest/gtest.h>

#include "core/base/buffer.h"

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
