#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/payload.h"

namespace rehearse {

// The contents of a file: immutable bytes that copies share, or, in cost-only mode, a size without bytes. A file
// outlives the rank that wrote it, so it owns its bytes and never holds on to a rank's Payload.
class FileData {
 public:
  FileData() = default;
  static FileData copy_of(std::span<const std::byte> bytes);
  static FileData copy_of(std::string_view text) { return copy_of(std::as_bytes(std::span(text))); }
  static FileData copy_of(const Payload& payload);

  Bytes size() const { return size_; }
  bool has_bytes() const { return bytes_ != nullptr || size_.count() == 0; }
  // Requires has_bytes().
  std::span<const std::byte> bytes() const;
  std::string_view text() const;
  // The first `size` bytes, what a torn write leaves; all of them where there are fewer.
  FileData prefix(Bytes size) const;
  Payload to_payload(PayloadPool& pool) const;

 private:
  Bytes size_;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

}  // namespace rehearse
