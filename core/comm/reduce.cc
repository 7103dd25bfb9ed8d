#include "core/comm/reduce.h"

#include <cstring>
#include <string>
#include <utility>

namespace rehearse {
namespace {

// Two loops, because only without overlap may the compiler vectorise without a check at run time.
template <class T>
void add_in_place(T* __restrict own, const T* __restrict received, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) own[i] = received[i] + own[i];
}

template <class T>
void add_into(T* __restrict sum, const T* __restrict received, const T* __restrict own, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] = received[i] + own[i];
}

[[noreturn]] void no_sum_of(DType dtype) {
  check_failed(__FILE__, __LINE__, std::string("a sum over ranks is of F32 or F64, found ") + name_of(dtype));
}

template <class T>
void add_in_place(BufferView own, const Payload& received) {
  add_in_place(reinterpret_cast<T*>(own.data), received.as<T>().data(), own.count);
}

template <class T>
void add_into(std::byte* sum, const Payload& received, BufferView own) {
  add_into(reinterpret_cast<T*>(sum), received.as<T>().data(), reinterpret_cast<const T*>(own.data), own.count);
}

}  // namespace

void reduce_add(BufferView own, const Payload& received) {
  CHECK_EQ(received.size().count(), own.bytes().count());
  if (!own.has_elements()) return;
  switch (own.dtype) {
    case DType::kFloat32:
      return add_in_place<float>(own, received);
    case DType::kFloat64:
      return add_in_place<double>(own, received);
    case DType::kInt32:
      break;
  }
  no_sum_of(own.dtype);
}

Payload reduced(PayloadPool& pool, const Payload& received, BufferView own) {
  CHECK_EQ(received.size().count(), own.bytes().count());
  if (!own.has_elements()) return Payload::shape_only(own.bytes());
  std::pair<Payload, std::span<std::byte>> sum = pool.make(own.bytes());
  switch (own.dtype) {
    case DType::kFloat32:
      add_into<float>(sum.second.data(), received, own);
      break;
    case DType::kFloat64:
      add_into<double>(sum.second.data(), received, own);
      break;
    case DType::kInt32:
      no_sum_of(own.dtype);
  }
  return std::move(sum.first);
}

void copy_elements(BufferView to, const Payload& received) {
  CHECK_EQ(received.size().count(), to.bytes().count());
  if (to.has_elements() && to.count > 0) std::memcpy(to.data, received.bytes().data(), received.bytes().size());
}

}  // namespace rehearse
