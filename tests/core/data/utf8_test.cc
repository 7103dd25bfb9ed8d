#include "core/data/utf8.h"

#include <gtest/gtest.h>

namespace rehearse {
namespace {

TEST(Utf8, DecodesOneToFourBytes) {
  const std::string_view text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8E\xBB";
  EXPECT_EQ(decode_utf8(text, 0)->code_point, U'a');
  EXPECT_EQ(decode_utf8(text, 1)->code_point, char32_t{0xE9});
  EXPECT_EQ(decode_utf8(text, 3)->code_point, char32_t{0x20AC});
  EXPECT_EQ(decode_utf8(text, 6)->code_point, char32_t{0x1F3BB});
  EXPECT_EQ(find_invalid_utf8(text), std::nullopt);
}

TEST(Utf8, RefusesWhatIsNotShortestOrNotACharacter) {
  for (const std::string_view bad : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                                     "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xC3", "\xE2\x82", "\xC3x"}) {
    EXPECT_EQ(decode_utf8(bad, 0), std::nullopt);
    EXPECT_EQ(find_invalid_utf8("ok" + std::string(bad)), 2U);
  }
}

}  // namespace
}  // namespace rehearse
