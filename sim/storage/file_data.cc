#include "sim/storage/file_data.h"

#include <utility>
#include <vector>

#include "core/base/check.h"

namespace rehearse {

FileData FileData::copy_of(std::span<const std::byte> bytes) {
  return FileData(Payload::own(std::vector<std::byte>(bytes.begin(), bytes.end())));
}

FileData FileData::of(const Payload& payload) {
  return payload.is_own() || !payload.has_data() ? FileData(payload) : copy_of(payload.bytes());
}

std::string_view FileData::text() const {
  const auto all = bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

FileData FileData::prefix(Bytes size) const {
  CHECK_GE(size.count(), 0);
  if (size >= this->size()) return *this;
  if (has_bytes()) return copy_of(bytes().first(static_cast<std::size_t>(size.count())));
  return FileData(Payload::shape_only(size));
}

}  // namespace rehearse
