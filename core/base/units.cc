#include "core/base/units.h"

#include <array>
#include <cstdio>
#include <limits>

#include "core/base/check.h"
#include "core/base/error.h"

namespace rehearse {
namespace {

constexpr __int128 kPicosecondsPerSecond = 1'000'000'000'000;

Duration ceil_ratio(__int128 numerator, __int128 denominator) {
  const __int128 ps = (numerator + denominator - 1) / denominator;
  if (ps > std::numeric_limits<std::int64_t>::max()) virtual_time_overflow();
  return Duration::picoseconds(static_cast<std::int64_t>(ps));
}

struct Scale {
  double unit;
  const char* suffix;
};

template <std::size_t N>
std::string scaled(double value, const std::array<Scale, N>& scales) {
  Scale chosen = scales.back();
  for (const Scale& scale : scales) {
    if (value >= scale.unit) {
      chosen = scale;
      break;
    }
  }
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.4g %s", value / chosen.unit, chosen.suffix);
  return text.data();
}

}  // namespace

void virtual_time_overflow() {
  throw InputError("virtual time leaves its limit of 106 days (2^63 picoseconds); make the run shorter or faster");
}

Duration transfer_time(Bytes bytes, Bandwidth bandwidth) {
  CHECK_GE(bytes.count(), 0);
  CHECK_GT(bandwidth.bits_per_second(), 0);
  return ceil_ratio(static_cast<__int128>(bytes.count()) * 8 * kPicosecondsPerSecond, bandwidth.bits_per_second());
}

Duration compute_time(Flops flops, FlopRate rate) {
  CHECK_GE(flops.count(), 0);
  CHECK_GT(rate.per_second(), 0);
  return ceil_ratio(static_cast<__int128>(flops.count()) * kPicosecondsPerSecond, rate.per_second());
}

std::string to_string(Duration d) {
  constexpr std::array<Scale, 5> kScales = {Scale{1e12, "s"}, Scale{1e9, "ms"}, Scale{1e6, "us"}, Scale{1e3, "ns"},
                                            Scale{1, "ps"}};
  if (d.ps() < 0) return "-" + to_string(Duration() - d);
  return scaled(static_cast<double>(d.ps()), kScales);
}

std::string to_string(Bytes b) {
  constexpr std::array<Scale, 5> kScales = {Scale{1024.0 * 1024 * 1024 * 1024, "TiB"},
                                            Scale{1024.0 * 1024 * 1024, "GiB"}, Scale{1024.0 * 1024, "MiB"},
                                            Scale{1024, "KiB"}, Scale{1, "B"}};
  return scaled(static_cast<double>(b.count()), kScales);
}

std::string to_string(Bandwidth b) {
  constexpr std::array<Scale, 5> kScales = {Scale{1e12, "Tbps"}, Scale{1e9, "Gbps"}, Scale{1e6, "Mbps"},
                                            Scale{1e3, "Kbps"}, Scale{1, "bps"}};
  return scaled(static_cast<double>(b.bits_per_second()), kScales);
}

}  // namespace rehearse
