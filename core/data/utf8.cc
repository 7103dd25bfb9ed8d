#include "core/data/utf8.h"

namespace rehearse {

std::optional<Utf8Char> decode_utf8(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return Utf8Char{lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return std::nullopt;
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() - offset < bytes) return std::nullopt;
  char32_t code_point = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  const char32_t smallest = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < smallest || code_point > 0x10FFFF || surrogate) return std::nullopt;
  return Utf8Char{code_point, bytes};
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t offset = 0; offset < text.size();) {
    const auto character = decode_utf8(text, offset);
    if (!character) return offset;
    offset += character->bytes;
  }
  return std::nullopt;
}

}  // namespace rehearse
