#include "core/runtime/completion.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace rehearse {
namespace {

template <std::size_t Size>
struct Handler {
  std::shared_ptr<int> calls;
  std::array<char, Size> ballast{};
  void operator()(std::exception_ptr error, int value) {
    EXPECT_EQ(error, nullptr);
    *calls += value;
  }
};

// Small handlers stand inline, large ones on the heap; both move, are called once and are destroyed.
template <class H>
void check_life_cycle() {
  const auto calls = std::make_shared<int>(0);
  {
    Completion<int> completion{H{calls}};
    Completion<int> moved = std::move(completion);
    EXPECT_FALSE(completion);  // NOLINT
    Completion<int> assigned;
    assigned = std::move(moved);
    EXPECT_EQ(calls.use_count(), 2);
    assigned(nullptr, 5);
    EXPECT_FALSE(assigned);
    EXPECT_EQ(calls.use_count(), 1);
  }
  EXPECT_EQ(*calls, 5);
  {
    const Completion<int> dropped{H{calls}};
    EXPECT_EQ(calls.use_count(), 2);
  }
  EXPECT_EQ(calls.use_count(), 1);
  EXPECT_EQ(*calls, 5);
}

TEST(Completion, InlineHandlersAreCalledOnceOrDropped) { check_life_cycle<Handler<1>>(); }
TEST(Completion, LargeHandlersAreCalledOnceOrDropped) { check_life_cycle<Handler<500>>(); }

}  // namespace
}  // namespace rehearse
