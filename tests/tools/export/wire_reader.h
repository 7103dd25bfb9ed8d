#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

// One field of a Protobuf message in wire format, read by the encoding's rules alone (protobuf.dev/programming-guides/
// encoding): the number, or the bytes.
struct WireField {
  int number = 0;
  int type = 0;
  std::uint64_t value = 0;
  std::string_view bytes;

  double real() const {
    double out = 0;
    std::memcpy(&out, &value, sizeof out);
    return out;
  }
  float real32() const {
    const auto low = static_cast<std::uint32_t>(value);
    float out = 0;
    std::memcpy(&out, &low, sizeof out);
    return out;
  }
};

inline std::uint64_t read_varint(std::string_view& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in.empty()) throw std::runtime_error("a varint is cut short");
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a varint is too long");
}

inline std::string_view take(std::string_view& in, std::uint64_t size) {
  if (size > in.size()) throw std::runtime_error("a field is cut short");
  const std::string_view out = in.substr(0, size);
  in.remove_prefix(size);
  return out;
}

inline std::vector<WireField> read_wire(std::string_view in) {
  std::vector<WireField> fields;
  while (!in.empty()) {
    const std::uint64_t key = read_varint(in);
    WireField field;
    field.number = static_cast<int>(key >> 3);
    field.type = static_cast<int>(key & 7);
    if (field.type == 0) {
      field.value = read_varint(in);
    } else if (field.type == 2) {
      field.bytes = take(in, read_varint(in));
    } else if (field.type == 1 || field.type == 5) {
      const std::string_view raw = take(in, field.type == 1 ? 8 : 4);
      for (std::size_t i = raw.size(); i-- > 0;) field.value = field.value << 8 | static_cast<unsigned char>(raw[i]);
    } else {
      throw std::runtime_error("no such wire type");
    }
    fields.push_back(field);
  }
  return fields;
}

}  // namespace rehearse
