#include "sim/config/units_parser.h"

#include <array>
#include <limits>
#include <numeric>
#include <span>

#include "core/base/check.h"
#include "core/base/error.h"

namespace rehearse {
namespace {

struct Suffix {
  std::string_view name;
  std::int64_t factor;        // base units in one
  bool is_read_only = false;  // never written as the canonical spelling
};

struct Quantity {
  std::string_view noun;
  std::string_view example;
  std::span<const Suffix> suffixes;  // smallest first; the first is the base unit
};

constexpr std::array<Suffix, 7> kDurations = {Suffix{"ps", 1},
                                              {"ns", 1'000},
                                              {"us", 1'000'000},
                                              {"ms", 1'000'000'000},
                                              {"s", 1'000'000'000'000},
                                              {"min", 60'000'000'000'000},
                                              {"h", 3'600'000'000'000'000}};
constexpr std::array<Suffix, 7> kBandwidths = {Suffix{"bps", 1},
                                               {"Kbps", 1'000},
                                               {"Mbps", 1'000'000},
                                               {"Gbps", 1'000'000'000},
                                               {"Tbps", 1'000'000'000'000},
                                               {"GB/s", 8'000'000'000, true},
                                               {"TB/s", 8'000'000'000'000, true}};
constexpr std::array<Suffix, 7> kSizes = {Suffix{"B", 1},        {"KB", 1'000},      {"KiB", 1'024},
                                          {"MB", 1'000'000},     {"MiB", 1'048'576}, {"GB", 1'000'000'000},
                                          {"GiB", 1'073'741'824}};
constexpr std::array<Suffix, 6> kFlopRates = {Suffix{"FLOPS", 1},
                                              {"KFLOPS", 1'000},
                                              {"MFLOPS", 1'000'000},
                                              {"GFLOPS", 1'000'000'000},
                                              {"TFLOPS", 1'000'000'000'000},
                                              {"PFLOPS", 1'000'000'000'000'000}};

constexpr Quantity kDuration = {"duration", "5us", kDurations};
constexpr Quantity kBandwidth = {"bandwidth", "100Gbps", kBandwidths};
constexpr Quantity kSize = {"size", "25MB", kSizes};
constexpr Quantity kFlopRate = {"flop rate", "19.5TFLOPS", kFlopRates};

constexpr __int128 kLargest = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void refuse(std::string_view text, const Quantity& quantity, const std::string& why) {
  std::string message = "found \"" + std::string(text) + "\"" + why + "; allowed: a " + std::string(quantity.noun) +
                        " such as \"" + std::string(quantity.example) + "\", with one of the suffixes";
  for (const Suffix& suffix : quantity.suffixes) message += " " + std::string(suffix.name);
  throw InputError(message);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t parse(std::string_view text, const Quantity& quantity) {
  if (text.starts_with('-')) refuse(text, quantity, ", which is negative");
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
  const std::string_view number = text.substr(0, end);
  const std::string_view name = text.substr(end);

  const std::size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  std::string_view decimals = point == std::string_view::npos ? "" : number.substr(point + 1);
  if (whole.empty() || decimals.find('.') != std::string_view::npos || number.ends_with('.')) {
    refuse(text, quantity, ", which does not begin with a decimal number");
  }
  if (whole.size() > 1 && whole.starts_with('0')) refuse(text, quantity, ", which has a leading 0");
  while (decimals.ends_with('0')) decimals.remove_suffix(1);

  const Suffix* suffix = nullptr;
  for (const Suffix& candidate : quantity.suffixes) {
    if (candidate.name == name) suffix = &candidate;
  }
  if (name.empty()) refuse(text, quantity, ", which has no unit");
  if (suffix == nullptr) refuse(text, quantity, ", whose unit '" + std::string(name) + "' is unknown");

  // value = digits * factor / 10^decimals, which must be whole. Beyond 36 digits nothing sensible is left to say.
  const std::string base(quantity.suffixes.front().name);
  const std::string too_large = ", which is more than 64 bits of " + base + " hold";
  const std::string not_whole = ", which is no whole number of " + base;
  if (decimals.size() > 18) refuse(text, quantity, not_whole);
  if (whole.size() > 19) refuse(text, quantity, too_large);
  unsigned __int128 digits = 0;
  unsigned __int128 denominator = 1;
  for (const char c : whole) digits = digits * 10 + static_cast<unsigned>(c - '0');
  for (const char c : decimals) {
    digits = digits * 10 + static_cast<unsigned>(c - '0');
    denominator *= 10;
  }
  // Reduce before multiplying, so that the product stays within 128 bits whenever the result fits 64.
  const auto factor = static_cast<std::uint64_t>(suffix->factor);
  const std::uint64_t common = std::gcd(factor, static_cast<std::uint64_t>(denominator));
  denominator /= common;
  if (digits % denominator != 0) refuse(text, quantity, not_whole);
  digits /= denominator;
  const std::uint64_t multiplier = factor / common;
  if (digits > static_cast<unsigned __int128>(kLargest) / multiplier) refuse(text, quantity, too_large);
  return static_cast<std::int64_t>(digits * multiplier);
}

std::string format(std::int64_t value, const Quantity& quantity) {
  CHECK_GE(value, 0);
  const Suffix* largest = &quantity.suffixes.front();
  if (value == 0) return "0" + std::string(largest->name);
  for (const Suffix& suffix : quantity.suffixes) {
    if (value % suffix.factor == 0 && !suffix.is_read_only) largest = &suffix;
  }
  return std::to_string(value / largest->factor) + std::string(largest->name);
}

}  // namespace

Duration parse_duration(std::string_view text) { return Duration::picoseconds(parse(text, kDuration)); }
Bandwidth parse_bandwidth(std::string_view text) { return Bandwidth::bits_per_second(parse(text, kBandwidth)); }
Bytes parse_size(std::string_view text) { return Bytes(parse(text, kSize)); }
FlopRate parse_flop_rate(std::string_view text) { return FlopRate::per_second(parse(text, kFlopRate)); }

std::string canonical_text(Duration value) { return format(value.ps(), kDuration); }
std::string canonical_text(Bandwidth value) { return format(value.bits_per_second(), kBandwidth); }
std::string canonical_text(Bytes value) { return format(value.count(), kSize); }
std::string canonical_text(FlopRate value) { return format(value.per_second(), kFlopRate); }

std::optional<std::int64_t> to_billionths(double value) {
  constexpr double kBillion = 1e9;
  CHECK(value >= 0 && value <= 1e6);
  // Below 2^53, so the nearest whole number is exact; a division is rounded correctly, so it gives back `value` exactly
  // where `value` is the double of that decimal.
  const auto n = static_cast<std::int64_t>(value * kBillion + 0.5);
  if (static_cast<double>(n) / kBillion != value) return std::nullopt;
  return n;
}

}  // namespace rehearse
