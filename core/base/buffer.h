#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/dtype.h"
#include "core/base/units.h"

namespace rehearse {

// What memory is for; the rows of the memory profile (design section 5).
enum class MemoryKind : std::uint8_t { kParameters, kGradients, kOptimizer, kActivations, kCommunication };
inline constexpr int kMemoryKinds = 5;

// Bytes of one rank by kind, counted where Buffers allocate and free, so that the profile is what was really held.
// Outlives every buffer that names it.
class MemoryAccount {
 public:
  void allocate(MemoryKind kind, Bytes bytes);
  void release(MemoryKind kind, Bytes bytes);
  Bytes current(MemoryKind kind) const { return current_[static_cast<std::size_t>(kind)]; }
  Bytes peak(MemoryKind kind) const { return peak_[static_cast<std::size_t>(kind)]; }
  // What another account has held at most counts as this one's; of what it holds now, nothing.
  void take_peaks_of(const MemoryAccount& other) { peak_ = other.peak_; }

 private:
  std::array<Bytes, kMemoryKinds> current_{};
  std::array<Bytes, kMemoryKinds> peak_{};
};

enum class Storing : std::uint8_t { kElements, kShapeOnly };

// A flat array of `count` elements, 64-byte aligned, zeroed when made, counted in an account. Without storage
// (Storing::kShapeOnly) it has a type and a size but no elements: cost-only mode runs the same program on those.
class Buffer {
 public:
  Buffer() = default;
  Buffer(MemoryAccount* account, MemoryKind kind, DType dtype, std::int64_t count,
         Storing storing = Storing::kElements);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  Bytes bytes() const { return Bytes(count_ * size_of(dtype_)); }
  bool has_elements() const { return data_ != nullptr || count_ == 0; }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }

  // The elements as T; requires T to be the buffer's dtype and, unless empty, storage.
  template <class T>
  std::span<T> as() {
    check_access(dtype_of<T>);
    return {reinterpret_cast<T*>(data_), static_cast<std::size_t>(count_)};
  }
  template <class T>
  std::span<const T> as() const {
    check_access(dtype_of<T>);
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(count_)};
  }

 private:
  void check_access(DType wanted) const;
  void free();

  MemoryAccount* account_ = nullptr;
  std::byte* data_ = nullptr;
  std::int64_t count_ = 0;
  MemoryKind kind_ = MemoryKind::kParameters;
  DType dtype_ = DType::kFloat32;
};

// A window into a Buffer (or its shape alone): what a collective reads and writes.
struct BufferView {
  BufferView() = default;
  BufferView(Buffer& buffer, std::int64_t offset, std::int64_t count);
  explicit BufferView(Buffer& buffer) : BufferView(buffer, 0, buffer.count()) {}
  // Elements the caller owns.
  template <class T>
  explicit BufferView(std::span<T> elements)
      : data(reinterpret_cast<std::byte*>(elements.data())),
        count(static_cast<std::int64_t>(elements.size())),
        dtype(dtype_of<T>) {}

  BufferView subview(std::int64_t offset, std::int64_t length) const;
  Bytes bytes() const { return Bytes(count * size_of(dtype)); }
  bool has_elements() const { return data != nullptr; }

  std::byte* data = nullptr;  // null without storage
  std::int64_t count = 0;     // elements
  DType dtype = DType::kFloat32;
  std::int32_t unit = -1;  // the unit of a model's state that this is, for traces
};

}  // namespace rehearse
