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

// The one loop of every sum whose operands have an order. `sum` is one of the operands, so that a compiler left alone
// would not vectorise; and were there a loop for each case, it might swap operands in one of them: of two NaNs a sum is
// the first.
template <class T>
[[gnu::noinline]] void add_pairs(T* sum, const T* first, const T* second, std::int64_t count) {
  constexpr std::int64_t kLanes = 32 / sizeof(T);
  typedef T Lanes __attribute__((vector_size(32)));
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes a;
    Lanes b;
    std::memcpy(&a, first + i, sizeof(Lanes));
    std::memcpy(&b, second + i, sizeof(Lanes));
    a = a + b;
    std::memcpy(sum + i, &a, sizeof(Lanes));
  }
  for (; i < count; ++i) sum[i] = first[i] + second[i];
}

template <class T>
void add_in_order(BufferView own, const Payload& received, First first) {
  T* const mine = reinterpret_cast<T*>(own.data);
  const T* const other = received.as<T>().data();
  if (first == First::kOwn) {
    add_pairs<T>(mine, mine, other, own.count);
  } else {
    add_pairs<T>(mine, other, mine, own.count);
  }
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
    case DType::kBFloat16:
    case DType::kFloat16:
      break;
  }
  no_sum_of(own.dtype);
}

void reduce_add_in_order(BufferView own, const Payload& received, First first) {
  CHECK_EQ(received.size().count(), own.bytes().count());
  if (!own.has_elements()) return;
  switch (own.dtype) {
    case DType::kFloat32:
      return add_in_order<float>(own, received, first);
    case DType::kFloat64:
      return add_in_order<double>(own, received, first);
    case DType::kInt32:
    case DType::kBFloat16:
    case DType::kFloat16:
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
    case DType::kBFloat16:
    case DType::kFloat16:
      no_sum_of(own.dtype);
  }
  return std::move(sum.first);
}

void copy_elements(BufferView to, const Payload& received) {
  CHECK_EQ(received.size().count(), to.bytes().count());
  if (to.has_elements() && to.count > 0) std::memcpy(to.data, received.bytes().data(), received.bytes().size());
}

void copy_view(BufferView to, BufferView from) {
  CHECK_EQ(to.count, from.count);
  CHECK(to.dtype == from.dtype);
  if (!from.has_elements() || from.data == to.data || from.count == 0) return;
  CHECK(to.has_elements());
  std::memcpy(to.data, from.data, static_cast<std::size_t>(from.bytes().count()));
}

}  // namespace rehearse
