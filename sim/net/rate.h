#pragma once

#include <compare>
#include <cstdint>

#include "core/base/units.h"

namespace rehearse {

// Bits a second as an exact fraction of 0 or more: whole + part / parts, in lowest terms, part < parts. A result whose
// denominator would be above 2^48 is rounded down to a multiple of 2^-36 bit/s, which on the largest capacity there is
// (2^50 bit/s) is an error of 10^-26, and on 1 Mbit/s of 10^-17.
class Rate {
 public:
  Rate() = default;
  explicit Rate(Bandwidth bandwidth) : whole_(static_cast<std::uint64_t>(bandwidth.bits_per_second())) {}
  static Rate fraction(std::uint64_t numerator, std::uint64_t denominator);

  std::uint64_t whole() const { return whole_; }
  std::uint64_t part() const { return part_; }
  std::uint64_t parts() const { return parts_; }
  unsigned __int128 numerator() const { return static_cast<unsigned __int128>(whole_) * parts_ + part_; }

  // An equal share for each of `count` flows, at most 2^32.
  Rate over(std::uint64_t count) const;
  // What is left when `count` flows of `each` are served; 0 where rounding left less.
  Rate minus(std::uint64_t count, const Rate& each) const;

  // With `count` flows of `each` more.
  Rate plus(std::uint64_t count, const Rate& each) const;

  bool is_zero() const { return whole_ == 0 && part_ == 0; }
  bool operator==(const Rate&) const = default;
  std::strong_ordering operator<=>(const Rate& other) const {
    if (whole_ != other.whole_) return whole_ <=> other.whole_;
    return static_cast<unsigned __int128>(part_) * other.parts_ <=>
           static_cast<unsigned __int128>(other.part_) * parts_;
  }

 private:
  // whole + part / parts, part < parts, not in lowest terms.
  static Rate reduced(std::uint64_t whole, unsigned __int128 part, unsigned __int128 parts);

  std::uint64_t whole_ = 0;
  std::uint64_t part_ = 0;
  std::uint64_t parts_ = 1;
};

// a * b / c, rounded down, without overflow of the product. The result must fit 128 bits; c > 0.
unsigned __int128 multiply_divide(unsigned __int128 a, unsigned __int128 b, unsigned __int128 c);
// The same, rounded up.
unsigned __int128 multiply_divide_up(unsigned __int128 a, unsigned __int128 b, unsigned __int128 c);

}  // namespace rehearse
