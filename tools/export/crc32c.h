#pragma once

#include <cstdint>
#include <string_view>

namespace rehearse {

// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
std::uint32_t crc32c(std::string_view bytes);

// As TFRecord files have it: rotated right by 15 bits, plus 0xa282ead8, so that a CRC of bytes that hold CRCs is no
// trouble.
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace rehearse
