#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace rehearse {

// One code point and the bytes it took.
struct Utf8Char {
  char32_t code_point = 0;
  std::size_t bytes = 0;  // 1 to 4
};

// The code point that starts at `offset` (less than text.size()), or nothing where the bytes are not valid UTF-8
// (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF, nothing cut off).
std::optional<Utf8Char> decode_utf8(std::string_view text, std::size_t offset);

// The offset of the first byte that is not valid UTF-8, or nothing.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

}  // namespace rehearse
