#include "core/base/buffer.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/base/error.h"

namespace rehearse {

namespace {
constexpr std::size_t kAlignment = 64;
}

void MemoryAccount::allocate(MemoryKind kind, Bytes bytes) {
  const auto k = static_cast<std::size_t>(kind);
  current_[k] += bytes;
  if (current_[k] > peak_[k]) peak_[k] = current_[k];
}

void MemoryAccount::release(MemoryKind kind, Bytes bytes) {
  const auto k = static_cast<std::size_t>(kind);
  CHECK_GE(current_[k].count(), bytes.count());
  current_[k] -= bytes;
}

Buffer::Buffer(MemoryAccount* account, MemoryKind kind, DType dtype, std::int64_t count, Storing storing)
    : account_(account), count_(count), kind_(kind), dtype_(dtype) {
  CHECK_GE(count, 0);
  if (count > std::numeric_limits<std::int64_t>::max() / size_of(dtype)) {
    throw InputError("a buffer of " + std::to_string(count) + " elements does not fit 64-bit byte counts");
  }
  if (storing == Storing::kElements && count > 0) {
    const auto size = static_cast<std::size_t>(bytes().count());
    const std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
    data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
    if (data_ == nullptr) throw std::bad_alloc();
    std::memset(data_, 0, rounded);
  }
  if (account_ != nullptr) account_->allocate(kind_, bytes());
}

Buffer::~Buffer() { free(); }

Buffer::Buffer(Buffer&& other) noexcept
    : account_(std::exchange(other.account_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      kind_(other.kind_),
      dtype_(other.dtype_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    free();
    account_ = std::exchange(other.account_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    count_ = std::exchange(other.count_, 0);
    kind_ = other.kind_;
    dtype_ = other.dtype_;
  }
  return *this;
}

void Buffer::free() {
  if (account_ != nullptr) account_->release(kind_, bytes());
  std::free(data_);
  account_ = nullptr;
  data_ = nullptr;
  count_ = 0;
}

void Buffer::check_access(DType wanted) const {
  CHECK(dtype_ == wanted);
  CHECK(has_elements());
}

BufferView::BufferView(Buffer& buffer, std::int64_t offset, std::int64_t length)
    : count(length), dtype(buffer.dtype()) {
  CHECK_GE(offset, 0);
  CHECK_GE(length, 0);
  CHECK_LE(offset + length, buffer.count());
  if (buffer.data() != nullptr) data = buffer.data() + offset * size_of(dtype);
}

BufferView BufferView::subview(std::int64_t offset, std::int64_t length) const {
  CHECK_GE(offset, 0);
  CHECK_GE(length, 0);
  CHECK_LE(offset + length, count);
  BufferView view;
  view.data = data == nullptr ? nullptr : data + offset * size_of(dtype);
  view.count = length;
  view.dtype = dtype;
  return view;
}

}  // namespace rehearse
