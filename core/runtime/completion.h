#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/runtime/task.h"

namespace rehearse {

// What a started operation calls once, with an error or with its result (T... is empty or one type). Move-only; dropping
// it without a call ends the coroutine that waits: only its destructors run. Asio's own handler of an awaiting coroutine
// fits the inline storage.
template <class... T>
class Completion {
 public:
  Completion() = default;
  template <class Handler, class = std::enable_if_t<!std::is_same_v<std::decay_t<Handler>, Completion>>>
  explicit Completion(Handler&& handler) {
    using Stored = std::decay_t<Handler>;
    if constexpr (sizeof(Stored) <= kInline && alignof(Stored) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<Stored>) {
      ::new (static_cast<void*>(storage_)) Stored(std::forward<Handler>(handler));
      table_ = &kInlineTable<Stored>;
    } else {
      ::new (static_cast<void*>(storage_)) Stored*(new Stored(std::forward<Handler>(handler)));
      table_ = &kHeapTable<Stored>;
    }
  }
  Completion(Completion&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {
    if (table_ != nullptr) table_->move(other.storage_, storage_);
  }
  Completion& operator=(Completion&& other) noexcept {
    if (this != &other) {
      reset();
      table_ = std::exchange(other.table_, nullptr);
      if (table_ != nullptr) table_->move(other.storage_, storage_);
    }
    return *this;
  }
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;
  ~Completion() { reset(); }

  explicit operator bool() const { return table_ != nullptr; }

  void reset() {
    if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(storage_);
  }

  // Calls the handler and leaves this empty; the handler is gone when it returns.
  void operator()(std::exception_ptr error, T... result) {
    CHECK(table_ != nullptr);
    std::exchange(table_, nullptr)->invoke(storage_, std::move(error), std::move(result)...);
  }

 private:
  static constexpr std::size_t kInline = 32;
  struct Table {
    void (*invoke)(void*, std::exception_ptr, T...);
    void (*move)(void*, void*);
    void (*destroy)(void*);
  };

  template <class Stored>
  static constexpr Table kInlineTable = {
      [](void* from, std::exception_ptr error, T... result) {
        Stored handler(std::move(*static_cast<Stored*>(from)));
        static_cast<Stored*>(from)->~Stored();
        std::move(handler)(std::move(error), std::move(result)...);
      },
      [](void* from, void* to) {
        ::new (to) Stored(std::move(*static_cast<Stored*>(from)));
        static_cast<Stored*>(from)->~Stored();
      },
      [](void* at) { static_cast<Stored*>(at)->~Stored(); }};

  template <class Stored>
  static constexpr Table kHeapTable = {
      [](void* from, std::exception_ptr error, T... result) {
        const std::unique_ptr<Stored> handler(*static_cast<Stored**>(from));
        std::move (*handler)(std::move(error), std::move(result)...);
      },
      [](void* from, void* to) { ::new (to) Stored*(*static_cast<Stored**>(from)); },
      [](void* at) { delete *static_cast<Stored**>(at); }};

  const Table* table_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kInline];
};

// An awaitable operation out of a function that starts it: start(Completion<T...>). Nothing happens until it is awaited.
template <class... T, class Start>
auto make_operation(Start start) {
  return boost::asio::async_initiate<const boost::asio::deferred_t, void(std::exception_ptr, T...)>(
      [start = std::move(start)](auto handler) mutable { std::move(start)(Completion<T...>(std::move(handler))); },
      boost::asio::deferred);
}

}  // namespace rehearse
