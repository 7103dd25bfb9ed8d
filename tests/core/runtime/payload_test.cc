#include "core/runtime/payload.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rehearse {
namespace {

TEST(Payload, OutlivesItsPoolAndIsCountedWhileItLives) {
  MemoryAccount account;
  Payload kept;
  {
    PayloadPool pool(&account);
    kept = pool.copy_of("in flight");
    const Payload dropped = pool.copy_of("gone");
    EXPECT_EQ(account.current(MemoryKind::kCommunication).count(), 13);
  }
  EXPECT_EQ(kept.text(), "in flight");
  EXPECT_EQ(account.current(MemoryKind::kCommunication).count(), 9);
  kept = Payload();
  EXPECT_EQ(account.current(MemoryKind::kCommunication).count(), 0);
  EXPECT_EQ(account.peak(MemoryKind::kCommunication).count(), 13);
}

TEST(Payload, CopiesShareAndTheLastGivesTheBlockBack) {
  PayloadPool pool(nullptr);
  Payload first = pool.copy_of("abc");
  const std::byte* block = first.bytes().data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
  Payload second = first;
  first = Payload();
  EXPECT_EQ(second.text(), "abc");
  const Payload& same = second;
  second = same;
  EXPECT_EQ(second.text(), "abc");
  second = Payload();
  EXPECT_EQ(pool.copy_of("xyz").bytes().data(), block);
}

TEST(Payload, TakesBytesOverWithoutAPool) {
  std::vector<std::byte> bytes(1000, std::byte{7});
  const std::byte* data = bytes.data();
  const Payload owned = Payload::own(std::move(bytes));
  EXPECT_EQ(owned.bytes().data(), data);
  EXPECT_TRUE(owned.is_own());
  PayloadPool pool(nullptr);
  EXPECT_FALSE(pool.copy_of("x").is_own());
  EXPECT_TRUE(Payload::own({}).has_data());
}

TEST(Payload, WithoutDataHasASize) {
  const Payload shape = Payload::shape_only(Bytes(1'000'000'000'000));
  EXPECT_FALSE(shape.has_data());
  EXPECT_EQ(shape.size().count(), 1'000'000'000'000);
  BufferView view;
  view.count = 10;
  view.dtype = DType::kFloat64;
  PayloadPool pool(nullptr);
  const Payload copy = pool.copy_of(view);
  EXPECT_FALSE(copy.has_data());
  EXPECT_EQ(copy.size().count(), 80);
}

}  // namespace
}  // namespace rehearse
