#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace rehearse {

// A Protobuf message in wire format, field by field, for the formats of other projects whose schemas are not here.
class WireMessage {
 public:
  WireMessage& number(int field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  // Of types int32 and int64: negative ones take ten bytes.
  WireMessage& integer(int field, std::int64_t value) { return number(field, static_cast<std::uint64_t>(value)); }
  WireMessage& real(int field, double value) {
    key(field, 1);
    fixed(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  WireMessage& real(int field, float value) {
    key(field, 5);
    fixed(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  WireMessage& text(int field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  WireMessage& message(int field, const WireMessage& value) { return text(field, value.bytes()); }

  const std::string& bytes() const { return bytes_; }
  // With its size before it, as in a delimited stream.
  std::string delimited() const {
    WireMessage size;
    size.varint(bytes_.size());
    return size.bytes_ + bytes_;
  }

 private:
  void key(int field, int type) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void fixed(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> 8 * i & 0xff);
  }
  std::string bytes_;
};

}  // namespace rehearse
