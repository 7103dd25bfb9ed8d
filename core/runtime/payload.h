#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/base/units.h"

namespace rehearse {

class PayloadPool;

// A reference-counted immutable view of bytes in flight: the data of a message or of a file. Counts are not atomic: a
// simulation is single-threaded. In cost-only mode it has a size but no data.
class Payload {
 public:
  Payload() = default;
  static Payload shape_only(Bytes size);
  // Takes the bytes over without a copy; counted in no account.
  static Payload own(std::vector<std::byte> bytes);
  ~Payload() { release(); }
  Payload(const Payload& other) : block_(other.block_), data_(other.data_), size_(other.size_) { retain(); }
  Payload(Payload&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, Bytes())) {}
  Payload& operator=(Payload other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  Bytes size() const { return size_; }
  bool has_data() const { return data_ != nullptr || size_.count() == 0; }
  // Whether its memory is its own alone: no pool and no rank's account hears of it, so it may be kept for ever.
  bool is_own() const;
  std::span<const std::byte> bytes() const;
  std::string_view text() const;
  // XXH3-128 of the bytes, computed once however often the payload is passed on; 0 where there are none. Not before the
  // payload is filled.
  Digest128 digest() const;
  // The bytes as elements; requires the size to be a multiple of the element's. Data of a pool starts 64-byte aligned.
  template <class T>
  std::span<const T> as() const {
    CHECK_EQ(size_.count() % static_cast<std::int64_t>(sizeof(T)), 0);
    return {reinterpret_cast<const T*>(bytes().data()), static_cast<std::size_t>(size_.count()) / sizeof(T)};
  }

 private:
  friend class PayloadPool;
  struct Block;
  Payload(Block* block, const std::byte* data, Bytes size) : block_(block), data_(data), size_(size) {}
  void retain() {
    if (block_ != nullptr) retain_block();
  }
  void release() {
    if (block_ != nullptr) release_block();
  }
  void retain_block();
  void release_block();

  Block* block_ = nullptr;
  const std::byte* data_ = nullptr;
  Bytes size_;
};

// Makes payloads and takes their memory back, by power-of-two size classes. Bytes in use count as kCommunication in the
// account, as asked for: what size classes round up does not count. Payloads may outlive the pool, not the account.
class PayloadPool {
 public:
  explicit PayloadPool(MemoryAccount* account);
  ~PayloadPool();
  PayloadPool(const PayloadPool&) = delete;
  PayloadPool& operator=(const PayloadPool&) = delete;

  Payload copy_of(std::span<const std::byte> bytes);
  Payload copy_of(std::string_view text) { return copy_of(std::as_bytes(std::span(text))); }
  // The elements of the view, or their size alone where it has no storage.
  Payload copy_of(const BufferView& view);
  // A payload that the caller fills before it is sent: {payload, its bytes}.
  std::pair<Payload, std::span<std::byte>> make(Bytes size);

 private:
  friend class Payload;
  struct Shared;
  MemoryAccount* account_;
  Shared* shared_ = nullptr;  // made for the first payload: without payloads, ranks hold nothing
};

}  // namespace rehearse
