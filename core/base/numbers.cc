#include "core/base/numbers.h"

#include <array>
#include <charconv>

namespace rehearse {
namespace {

template <class T>
std::string shortest(T value) {
  if (value != value) return "nan";
  std::array<char, 48> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end.ptr);
}

}  // namespace

std::string shortest_text(double value) { return shortest(value); }
std::string shortest_text(float value) { return shortest(value); }

}  // namespace rehearse
