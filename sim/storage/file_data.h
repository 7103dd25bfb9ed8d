#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/payload.h"

namespace rehearse {

// The contents of a file: immutable bytes that copies share, or, in cost-only mode, a size without bytes. A file
// outlives the rank that wrote it, so its bytes are its own: none of a rank's pool.
class FileData {
 public:
  FileData() = default;
  static FileData copy_of(std::span<const std::byte> bytes);
  static FileData copy_of(std::string_view text) { return copy_of(std::as_bytes(std::span(text))); }
  // Shares the payload's bytes where they are nobody else's, copies them out of a rank's pool otherwise.
  static FileData of(const Payload& payload);

  Bytes size() const { return bytes_.size(); }
  bool has_bytes() const { return bytes_.has_data(); }
  // Requires has_bytes().
  std::span<const std::byte> bytes() const { return bytes_.bytes(); }
  std::string_view text() const;
  // The first `size` bytes, what a torn write leaves; all of them where there are fewer.
  FileData prefix(Bytes size) const;
  // What a read gives; shares the bytes.
  const Payload& payload() const { return bytes_; }

 private:
  explicit FileData(Payload bytes) : bytes_(std::move(bytes)) {}
  Payload bytes_;
};

}  // namespace rehearse
