#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/base/random.h"

namespace rehearse {

// Draws of a plan, in integers alone: the same on every machine.
class Dice {
 public:
  explicit Dice(const RandomStream& stream) : stream_(stream) {}

  // From `first` to `last`, both included.
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(stream_.below(static_cast<std::uint64_t>(last - first + 1)));
  }
  std::int64_t below(std::int64_t bound) { return between(0, bound - 1); }
  bool chance(std::int64_t numerator, std::int64_t denominator) {
    return stream_.chance(static_cast<std::uint64_t>(numerator), static_cast<std::uint64_t>(denominator));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }
  std::string word_of(std::initializer_list<const char*> words) { return one_of(words); }
  // "37us"
  std::string microseconds(std::int64_t first, std::int64_t last) {
    return std::to_string(between(first, last)) + "us";
  }

 private:
  RandomStream stream_;
};

}  // namespace rehearse
