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

// The return type in the completion signature of operations with a result; picks the handler below.
struct OperationSignature {};

}  // namespace rehearse

// Boost 1.81's own handler for (exception_ptr, T) does not compile (it tests the result struct where it means the
// exception), so operations with a result bring theirs. The argument objects live in the caller until the coroutine has
// been resumed, so that pointers to them suffice.
template <class T, class Executor>
class boost::asio::detail::awaitable_async_op_handler<rehearse::OperationSignature(std::exception_ptr, T), Executor>
    : public boost::asio::detail::awaitable_thread<Executor> {
 public:
  struct result_type {
    std::exception_ptr* error = nullptr;
    T* value = nullptr;
  };

  awaitable_async_op_handler(boost::asio::detail::awaitable_thread<Executor>* thread, result_type& result)
      : boost::asio::detail::awaitable_thread<Executor>(std::move(*thread)), result_(result) {}

  void operator()(std::exception_ptr error, T value) {
    result_.error = &error;
    result_.value = &value;
    this->entry_point()->top_of_stack_->attach_thread(this);
    this->entry_point()->top_of_stack_->clear_cancellation_slot();
    this->pump();
  }

  static T resume(result_type& result) {
    if (*result.error) std::rethrow_exception(std::exchange(*result.error, nullptr));
    return std::move(*result.value);
  }

 private:
  result_type& result_;
};

namespace rehearse {

// What a started operation calls once, with an error or with its result (T... is empty or one type). Move-only;
// dropping it without a call ends the coroutine that waits: only its destructors run. Asio's own handler of an awaiting
// coroutine fits the inline storage.
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
  static constexpr Table kInlineTable = {[](void* from, std::exception_ptr error, T... result) {
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
  static constexpr Table kHeapTable = {[](void* from, std::exception_ptr error, T... result) {
                                         const std::unique_ptr<Stored> handler(*static_cast<Stored**>(from));
                                         std::move (*handler)(std::move(error), std::move(result)...);
                                       },
                                       [](void* from, void* to) { ::new (to) Stored*(*static_cast<Stored**>(from)); },
                                       [](void* at) { delete *static_cast<Stored**>(at); }};

  const Table* table_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[kInline];
};

// An awaitable operation out of a function that starts it: start(Completion<T...>). Nothing happens until it is
// awaited.
template <class... T, class Start>
auto make_operation(Start start) {
  using Return = std::conditional_t<sizeof...(T) == 0, void, OperationSignature>;
  return boost::asio::async_initiate<const boost::asio::deferred_t, Return(std::exception_ptr, T...)>(
      [start = std::move(start)](auto handler) mutable { std::move(start)(Completion<T...>(std::move(handler))); },
      boost::asio::deferred);
}

}  // namespace rehearse
