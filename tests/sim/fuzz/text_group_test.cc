// A scenario as a tree of fields, and its text.

#include "sim/fuzz/text_group.h"

#include <gtest/gtest.h>

#include "sim/fuzz/draw_plan.h"

namespace rehearse {
namespace {

TEST(TextGroup, WritesFieldsInTheirOrder) {
  TextGroup group;
  group.add_quoted("name", "a").add("seed", 3);
  group.group("cluster").add("ranks", 2);
  group.group("cluster").group("network").add_quoted("latency", "5us");
  EXPECT_EQ(group.text(), "name: \"a\"\nseed: 3\ncluster { ranks: 2 network { latency: \"5us\" } }\n");
}

TEST(TextGroup, BreaksGroupsThatAreTooLongForALine) {
  TextGroup group;
  for (int i = 0; i < 12; ++i) group.group("outer").add("field_with_a_long_name", i);
  const std::string text = group.text();
  EXPECT_TRUE(text.starts_with("outer {\n  field_with_a_long_name: 0\n")) << text;
  EXPECT_TRUE(text.ends_with("  field_with_a_long_name: 11\n}\n")) << text;
}

TEST(TextGroup, FindsTheFirstFieldOfAName) {
  TextGroup group;
  group.add("a", 1).add("b", 2).add("a", 3);
  ASSERT_NE(group.find("a"), nullptr);
  EXPECT_EQ(group.find("a")->value, "1");
  EXPECT_EQ(group.find("c"), nullptr);
}

}  // namespace
}  // namespace rehearse
