#include "tools/rehearse/text_table.h"

#include <gtest/gtest.h>

namespace rehearse {
namespace {

TEST(TextTable, ColumnsAreAsWideAsTheirWidestCell) {
  TextTable table({{"name", TextTable::Align::kLeft}, {"bytes"}, {"note", TextTable::Align::kLeft}});
  table.add({"a", "12,345", "x"});
  table.add(
      {"gr\xc3\xb6\xc3\x9f"
       "er",
       "1", ""});
  EXPECT_EQ(table.text(Style(false)),
            "  name     bytes  note\n"
            "  a       12,345  x\n"
            "  gr\xc3\xb6\xc3\x9f"
            "er       1\n");
}

TEST(TextTable, ColorsAreOnlyWhereTheyAreAskedFor) {
  EXPECT_EQ(Style(false).bad("x"), "x");
  EXPECT_EQ(Style(true).bold("x"), "\033[1mx\033[0m");
}

TEST(TextTable, NumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
}

TEST(TextTable, WordsAreWrapped) {
  EXPECT_EQ(wrapped("one two three", "  ", 9), "  one two\n  three\n");
  EXPECT_EQ(wrapped("averylongword is whole", "", 5), "averylongword\nis\nwhole\n");
  EXPECT_EQ(wrapped("", "  ", 9), "");
}

}  // namespace
}  // namespace rehearse
