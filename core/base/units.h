#pragma once

#include <compare>
#include <cstdint>
#include <string>

// Strong types for what the simulator measures. All are integers, so that every time and size is exact and the same on
// every machine; nothing converts implicitly from or to a bare number.

namespace rehearse {

// A span of virtual time in picoseconds; 64 bits hold 106 days (a stated limit).
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration picoseconds(std::int64_t ps) { return Duration(ps); }
  static constexpr Duration nanoseconds(std::int64_t ns) { return Duration(ns * 1'000); }
  static constexpr Duration microseconds(std::int64_t us) { return Duration(us * 1'000'000); }
  static constexpr Duration milliseconds(std::int64_t ms) { return Duration(ms * 1'000'000'000); }
  static constexpr Duration seconds(std::int64_t s) { return Duration(s * 1'000'000'000'000); }

  constexpr std::int64_t ps() const { return ps_; }
  constexpr double to_seconds() const { return static_cast<double>(ps_) * 1e-12; }
  constexpr auto operator<=>(const Duration&) const = default;

 private:
  constexpr explicit Duration(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

// A point of virtual time; the run starts at 0.
class TimePoint {
 public:
  constexpr TimePoint() = default;
  static constexpr TimePoint at(Duration since_start) { return TimePoint(since_start.ps()); }

  constexpr std::int64_t ps() const { return ps_; }
  constexpr Duration since_start() const { return Duration::picoseconds(ps_); }
  constexpr auto operator<=>(const TimePoint&) const = default;

 private:
  constexpr explicit TimePoint(std::int64_t ps) : ps_(ps) {}
  std::int64_t ps_ = 0;
};

// Ends the run with an Error: virtual time would leave its 106 days.
[[noreturn]] void virtual_time_overflow();

constexpr Duration operator+(Duration a, Duration b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a.ps(), b.ps(), &sum)) virtual_time_overflow();
  return Duration::picoseconds(sum);
}
constexpr Duration operator-(Duration a, Duration b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a.ps(), b.ps(), &difference)) virtual_time_overflow();
  return Duration::picoseconds(difference);
}
constexpr Duration operator*(Duration a, std::int64_t n) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a.ps(), n, &product)) virtual_time_overflow();
  return Duration::picoseconds(product);
}
constexpr Duration operator*(std::int64_t n, Duration a) { return a * n; }
constexpr TimePoint operator+(TimePoint t, Duration d) { return TimePoint::at(t.since_start() + d); }
constexpr Duration operator-(TimePoint a, TimePoint b) { return a.since_start() - b.since_start(); }

// A size in bytes, never negative where it is stored or sent.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }

 private:
  std::int64_t count_ = 0;
};

constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count() + b.count()); }
constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count() - b.count()); }

// Bits per second, decimal ("100Gbps" is 100e9), positive.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bits_per_second(std::int64_t value) { return Bandwidth(value); }
  constexpr std::int64_t bits_per_second() const { return bits_per_second_; }
  constexpr auto operator<=>(const Bandwidth&) const = default;

 private:
  constexpr explicit Bandwidth(std::int64_t value) : bits_per_second_(value) {}
  std::int64_t bits_per_second_ = 0;
};

// Floating-point operations per second, positive.
class FlopRate {
 public:
  constexpr FlopRate() = default;
  static constexpr FlopRate per_second(std::int64_t value) { return FlopRate(value); }
  constexpr std::int64_t per_second() const { return per_second_; }
  constexpr auto operator<=>(const FlopRate&) const = default;

 private:
  constexpr explicit FlopRate(std::int64_t value) : per_second_(value) {}
  std::int64_t per_second_ = 0;
};

// A count of floating-point operations; a multiply-add counts 2.
class Flops {
 public:
  constexpr Flops() = default;
  constexpr explicit Flops(std::int64_t count) : count_(count) {}
  constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Flops&) const = default;
  constexpr Flops& operator+=(Flops other) {
    count_ += other.count_;
    return *this;
  }

 private:
  std::int64_t count_ = 0;
};

constexpr Flops operator+(Flops a, Flops b) { return Flops(a.count() + b.count()); }

// t(bytes) = ceil(bytes * 8e12 / bit_per_s) picoseconds, in 128-bit integers, rounded once per message (design section
// 2). Requires bytes >= 0 and bandwidth > 0; throws InputError where the time leaves 64 bits.
Duration transfer_time(Bytes bytes, Bandwidth bandwidth);

// ceil(flops * 1e12 / rate) picoseconds in 128-bit integers. Requires flops >= 0 and rate > 0.
Duration compute_time(Flops flops, FlopRate rate);

// "12.5 us", "100 Gbps", "87.4 KiB": for people, never parsed again.
std::string to_string(Duration d);
std::string to_string(Bytes b);
std::string to_string(Bandwidth b);

}  // namespace rehearse
