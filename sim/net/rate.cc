#include "sim/net/rate.h"

#include <bit>
#include <limits>
#include <numeric>

#include "core/base/check.h"

namespace rehearse {
namespace {

using Wide = unsigned __int128;

constexpr Wide kMostParts = Wide{1} << 48;
constexpr int kGridBits = 36;
constexpr std::uint64_t kGrid = std::uint64_t{1} << kGridBits;

// floor(part / parts * 2^36), for part < parts.
std::uint64_t on_grid(Wide part, Wide parts) {
  while (parts >> 91 != 0) {
    part >>= 1;
    parts >>= 1;
  }
  return static_cast<std::uint64_t>((part << kGridBits) / parts);
}

struct Quotient {
  Wide value;
  bool exact;
};

// Long division of the 256-bit product; quotients of the network hardly ever need it.
Quotient long_division(Wide a, Wide b, Wide c) {
  const auto low = [](Wide x) { return static_cast<std::uint64_t>(x); };
  const auto high = [](Wide x) { return static_cast<std::uint64_t>(x >> 64); };
  const Wide low_low = Wide{low(a)} * low(b);
  const Wide low_high = Wide{low(a)} * high(b);
  const Wide high_low = Wide{high(a)} * low(b);
  const Wide middle = Wide{high(low_low)} + low(low_high) + low(high_low);
  Wide rest = Wide{high(a)} * high(b) + high(low_high) + high(high_low) + high(middle);
  Wide digits = middle << 64 | low(low_low);
  CHECK(rest < c);  // or the quotient has more than 128 bits
  for (int i = 0; i < 128; ++i) {
    const bool carry = rest >> 127 != 0;
    rest = rest << 1 | digits >> 127;
    digits <<= 1;
    if (carry || rest >= c) {
      rest -= c;
      digits |= 1;
    }
  }
  return Quotient{digits, rest == 0};
}

Quotient divide(Wide a, Wide b, Wide c) {
  CHECK(c > 0);
  Wide product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return long_division(a, b, c);
  // The division of 64-bit numbers is four times as fast.
  if (product >> 64 == 0 && c >> 64 == 0) {
    const auto small = static_cast<std::uint64_t>(product);
    const auto by = static_cast<std::uint64_t>(c);
    return Quotient{small / by, small % by == 0};
  }
  const Wide value = product / c;
  return Quotient{value, value * c == product};
}

}  // namespace

Rate Rate::reduced(std::uint64_t whole, Wide part, Wide parts) {
  Rate rate;
  rate.whole_ = whole;
  if (part == 0) return rate;
  if (parts > std::numeric_limits<std::uint64_t>::max()) {
    part = on_grid(part, parts);
    parts = kGrid;
  }
  auto small_part = static_cast<std::uint64_t>(part);
  auto small_parts = static_cast<std::uint64_t>(parts);
  std::uint64_t common = std::gcd(small_part, small_parts);
  if (small_parts / common > kMostParts) {
    small_part = on_grid(small_part, small_parts);
    small_parts = kGrid;
    common = std::gcd(small_part, small_parts);
  }
  rate.part_ = small_part / common;
  rate.parts_ = small_parts / common;
  return rate;
}

Rate Rate::fraction(std::uint64_t numerator, std::uint64_t denominator) {
  CHECK_GT(denominator, 0U);
  return reduced(numerator / denominator, numerator % denominator, denominator);
}

Rate Rate::over(std::uint64_t count) const {
  CHECK_GT(count, 0U);
  if (part_ == 0) return reduced(whole_ / count, whole_ % count, count);
  return reduced(whole_ / count, Wide{whole_ % count} * parts_ + part_, Wide{parts_} * count);
}

Rate Rate::minus(std::uint64_t count, const Rate& each) const {
  Wide taken = Wide{each.whole_} * count;
  if (each.part_ == 0 && part_ == 0)
    return taken >= whole_ ? Rate() : reduced(whole_ - static_cast<std::uint64_t>(taken), 0, 1);
  const Wide parts_taken = Wide{each.part_} * count;
  taken += parts_taken / each.parts_;
  const auto rest = static_cast<std::uint64_t>(parts_taken % each.parts_);
  // part_ / parts_ - rest / each.parts_
  const std::uint64_t common = std::gcd(parts_, each.parts_);
  Wide parts = Wide{parts_} / common * each.parts_;
  Wide mine = Wide{part_} * (each.parts_ / common);
  Wide theirs = Wide{rest} * (parts_ / common);
  if (parts > kMostParts) {
    mine = on_grid(mine, parts);
    theirs = on_grid(theirs, parts) + 1;
    parts = kGrid;
  }
  if (mine < theirs) {
    mine += parts;
    taken += 1;
  }
  if (taken > whole_) return Rate();
  const Wide difference = mine - theirs;
  const std::uint64_t whole = whole_ - static_cast<std::uint64_t>(taken);
  // On the grid a difference may be a whole 1.
  return difference >= parts ? reduced(whole + 1, difference - parts, parts) : reduced(whole, difference, parts);
}

Rate Rate::plus(std::uint64_t count, const Rate& each) const {
  Wide whole = Wide{each.whole_} * count + whole_;
  const Wide parts_added = Wide{each.part_} * count;
  whole += parts_added / each.parts_;
  const auto rest = static_cast<std::uint64_t>(parts_added % each.parts_);
  const std::uint64_t common = std::gcd(parts_, each.parts_);
  Wide parts = Wide{parts_} / common * each.parts_;
  Wide sum = Wide{part_} * (each.parts_ / common) + Wide{rest} * (parts_ / common);
  if (sum >= parts) {
    sum -= parts;
    whole += 1;
  }
  CHECK(whole >> 63 == 0);
  return reduced(static_cast<std::uint64_t>(whole), sum, parts);
}

Wide multiply_divide(Wide a, Wide b, Wide c) { return divide(a, b, c).value; }

Wide multiply_divide_up(Wide a, Wide b, Wide c) {
  const Quotient quotient = divide(a, b, c);
  return quotient.value + (quotient.exact ? 0 : 1);
}

}  // namespace rehearse
