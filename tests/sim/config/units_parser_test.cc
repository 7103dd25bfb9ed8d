#include "sim/config/units_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(UnitsParser, ReadsDecimalsExactly) {
  EXPECT_EQ(parse_duration("1.5us").ps(), 1'500'000);
  EXPECT_EQ(parse_duration("0.001ns").ps(), 1);
  EXPECT_EQ(parse_duration("0.000000000001s").ps(), 1);
  EXPECT_EQ(parse_duration("2min").ps(), 120'000'000'000'000);
  EXPECT_EQ(parse_duration("0.25h").ps(), 900'000'000'000'000);
  EXPECT_EQ(parse_duration("0ms").ps(), 0);
  EXPECT_EQ(parse_duration("1.500000000000000000000us").ps(), 1'500'000);
  EXPECT_EQ(parse_bandwidth("100Gbps").bits_per_second(), 100'000'000'000);
  EXPECT_EQ(parse_bandwidth("0.4Tbps").bits_per_second(), 400'000'000'000);
  EXPECT_EQ(parse_size("25MB").count(), 25'000'000);
  EXPECT_EQ(parse_size("1.5KiB").count(), 1536);
  EXPECT_EQ(parse_flop_rate("19.5TFLOPS").per_second(), 19'500'000'000'000);
}

TEST(UnitsParser, ReadsUpToTheLast64BitValue) {
  EXPECT_EQ(parse_duration("9223372036854775807ps").ps(), 9'223'372'036'854'775'807);
  EXPECT_EQ(parse_duration("9223372.036854775807s").ps(), 9'223'372'036'854'775'807);
  for (const char* text : {"9223372036854775808ps", "9223372.036854775808s", "2600h", "99999999999999999999ps",
                           "100000000000000000000000000000000000000000000us"}) {
    EXPECT_THAT(error_of([&] { parse_duration(text); }), HasSubstr("more than 64 bits of ps hold")) << text;
  }
}

TEST(UnitsParser, RefusesWhatIsNoWholeNumberOfTheBaseUnit) {
  for (const char* text : {"0.1ps", "1.0001ns", "0.0000000000001s", "0.00000000000000000000001h"}) {
    EXPECT_THAT(error_of([&] { parse_duration(text); }), HasSubstr("no whole number of ps")) << text;
  }
  EXPECT_THAT(error_of([] { parse_size("0.5B"); }), HasSubstr("no whole number of B"));
}

TEST(UnitsParser, RefusesMissingAndUnknownSuffixesSignsAndSpaces) {
  EXPECT_EQ(
      error_of([] { parse_duration("5"); }),
      "found \"5\", which has no unit; allowed: a duration such as \"5us\", with one of the suffixes ps ns us ms s "
      "min h");
  EXPECT_EQ(
      error_of([] { parse_bandwidth("100GBps"); }),
      "found \"100GBps\", whose unit 'GBps' is unknown; allowed: a bandwidth such as \"100Gbps\", with one of the "
      "suffixes bps Kbps Mbps Gbps Tbps GB/s TB/s");
  EXPECT_THAT(error_of([] { parse_duration("-5us"); }), HasSubstr("which is negative"));
  for (const char* text : {"", "us", "+5us", ".5us", "5.us", "1.2.3us", "1,5us"}) {
    EXPECT_NE(error_of([&] { parse_duration(text); }), "no error") << text;
  }
  for (const char* text : {"5 us", "5us ", "5US", "1e3us", "5Us"}) {
    EXPECT_THAT(error_of([&] { parse_duration(text); }), HasSubstr("unknown")) << text;
  }
  EXPECT_THAT(error_of([] { parse_duration("010us"); }), HasSubstr("leading 0"));
}

TEST(UnitsParser, CanonicalTextIsTheShortestWholeSpelling) {
  EXPECT_EQ(canonical_text(parse_duration("5000ns")), "5us");
  EXPECT_EQ(canonical_text(parse_duration("1.5us")), "1500ns");
  EXPECT_EQ(canonical_text(parse_duration("7200s")), "2h");
  EXPECT_EQ(canonical_text(parse_duration("0h")), "0ps");
  EXPECT_EQ(canonical_text(parse_bandwidth("100000Mbps")), "100Gbps");
  EXPECT_EQ(canonical_text(parse_size("1024KiB")), "1MiB");
  EXPECT_EQ(canonical_text(parse_size("1000KB")), "1MB");
  EXPECT_EQ(canonical_text(parse_flop_rate("19.5TFLOPS")), "19500GFLOPS");
}

TEST(UnitsParser, BillionthsAreExactOrNothing) {
  EXPECT_EQ(to_billionths(0), 0);
  EXPECT_EQ(to_billionths(1), 1'000'000'000);
  EXPECT_EQ(to_billionths(0.1), 100'000'000);
  EXPECT_EQ(to_billionths(1.1), 1'100'000'000);
  EXPECT_EQ(to_billionths(0.123456789), 123'456'789);
  EXPECT_EQ(to_billionths(0.1234567891), std::nullopt);
  EXPECT_EQ(to_billionths(1e-10), std::nullopt);
}

}  // namespace
}  // namespace rehearse
