#pragma once

#include <array>
#include <cstdint>
#include <string_view>

// Named integer random streams. The generator is Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011): a pure function of a 64-bit key and a 128-bit counter. Every consumer forks its own stream by
// name or index, so that a new consumer cannot shift another's draws. README.md of this folder has the test vectors.

namespace rehearse {

// One block of Philox4x32-10: four 32-bit words from a counter and a key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

class RandomStream {
 public:
  // The root stream of a run's seed.
  explicit RandomStream(std::uint64_t seed);

  // A stream of its own, given by this stream's key and the name or index alone; this stream's position does not
  // matter.
  RandomStream fork(std::string_view name) const;
  RandomStream fork(std::uint64_t index) const;

  std::uint64_t next_u64();
  // Uniform in [0, bound), without bias; bound > 0 (Lemire's multiply and reject).
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1): the top 53 bits of next_u64() times 2^-53.
  double uniform();
  // True with probability numerator/denominator.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }
  // Standard normal: Marsaglia's polar method with our own logarithm; draws a pair, gives them one by one.
  double normal();

  std::uint64_t key() const { return key_; }
  // Draws of next_u64() so far.
  std::uint64_t position() const { return position_; }

 private:
  struct FromKey {};
  RandomStream(FromKey, std::uint64_t key) : key_(key) {}

  std::uint64_t key_;
  std::uint64_t position_ = 0;
  std::uint64_t second_word_ = 0;  // of the current block, valid at odd positions
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace rehearse
