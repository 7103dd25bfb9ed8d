#include "core/base/random.h"

#include <xxhash.h>

#include <cmath>
#include <string>

#include "core/base/check.h"
#include "core/base/math.h"

namespace rehearse {
namespace {

// Keys are XXH3-64 of a tagged little-endian string, seeded with the parent's key; the tag keeps names, indices and
// seeds apart.
std::uint64_t derive_key(char tag, std::string_view bytes, std::uint64_t parent) {
  std::string text(1, tag);
  text.append(bytes);
  return XXH3_64bits_withSeed(text.data(), text.size(), parent);
}

std::string little_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  return bytes;
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed) : key_(derive_key('s', little_endian(seed), 0)) {}

RandomStream RandomStream::fork(std::string_view name) const {
  return RandomStream(FromKey{}, derive_key('n', name, key_));
}

RandomStream RandomStream::fork(std::uint64_t index) const {
  return RandomStream(FromKey{}, derive_key('i', little_endian(index), key_));
}

std::uint64_t RandomStream::next_u64() {
  const std::uint64_t position = position_++;
  if (position % 2 == 1) return second_word_;
  const std::uint64_t block = position / 2;
  const auto words = philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
                                {static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32)});
  second_word_ = std::uint64_t{words[3]} << 32 | words[2];
  return std::uint64_t{words[1]} << 32 | words[0];
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  CHECK_GT(bound, 0U);
  const std::uint64_t threshold = (0 - bound) % bound;
  for (;;) {
    const unsigned __int128 product = static_cast<unsigned __int128>(next_u64()) * bound;
    if (static_cast<std::uint64_t>(product) >= threshold) return static_cast<std::uint64_t>(product >> 64);
  }
}

double RandomStream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  for (;;) {
    const double u = 2.0 * uniform() - 1.0;
    const double v = 2.0 * uniform() - 1.0;
    const double s = u * u + v * v;
    if (s >= 1.0 || s == 0.0) continue;
    const double factor = std::sqrt(-2.0 * deterministic_log(s) / s);
    spare_normal_ = v * factor;
    has_spare_normal_ = true;
    return u * factor;
  }
}

}  // namespace rehearse
