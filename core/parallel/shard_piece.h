#pragma once

#include <cstddef>
#include <cstdint>

namespace rehearse {

// The part of a tensor whose update a rank computes: its elements [offset, offset + count), and where they lie in the
// rank's memory. Byte is std::byte, or const std::byte for who may only look.
template <class Byte>
struct BasicShardPiece {
  int tensor = 0;
  std::int64_t offset = 0;
  std::int64_t count = 0;
  Byte* parameters = nullptr;  // what this rank gives when parameters are gathered
  Byte* gradients = nullptr;   // summed over ranks once they are reduced
  Byte* master = nullptr;
  Byte* m = nullptr;
  Byte* v = nullptr;

  operator BasicShardPiece<const std::byte>() const {
    return {tensor, offset, count, parameters, gradients, master, m, v};
  }
};
using ShardPiece = BasicShardPiece<std::byte>;
using ConstShardPiece = BasicShardPiece<const std::byte>;

}  // namespace rehearse
