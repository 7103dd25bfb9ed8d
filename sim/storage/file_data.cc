#include "sim/storage/file_data.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {

FileData FileData::copy_of(std::span<const std::byte> bytes) {
  FileData data;
  data.size_ = Bytes(static_cast<std::int64_t>(bytes.size()));
  data.bytes_ = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return data;
}

FileData FileData::copy_of(const Payload& payload) {
  if (payload.has_data()) return copy_of(payload.bytes());
  FileData data;
  data.size_ = payload.size();
  return data;
}

std::span<const std::byte> FileData::bytes() const {
  CHECK(has_bytes());
  if (bytes_ == nullptr) return {};
  return *bytes_;
}

std::string_view FileData::text() const {
  const auto all = bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

FileData FileData::prefix(Bytes size) const {
  CHECK_GE(size.count(), 0);
  if (size >= size_) return *this;
  if (has_bytes()) return copy_of(bytes().first(static_cast<std::size_t>(size.count())));
  FileData data;
  data.size_ = size;
  return data;
}

Payload FileData::to_payload(PayloadPool& pool) const {
  return has_bytes() ? pool.copy_of(bytes()) : Payload::shape_only(size_);
}

}  // namespace rehearse
