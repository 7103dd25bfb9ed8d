#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace rehearse {

// A coroutine of a rank. It awaits other Tasks and the operations of Communicator, Clock, Device and Storage, nothing else.
template <class T = void>
using Task = boost::asio::awaitable<T, boost::asio::io_context::executor_type>;

}  // namespace rehearse

#if BOOST_VERSION < 108200
// Boost 1.81's own handler for an operation that gives (exception_ptr, T) does not compile (its resume() tests the result
// struct instead of the exception in it; repaired in 1.82). This one is the same with that line right; the fixed executor
// makes it the more specialised.
namespace boost::asio::detail {

template <typename R, typename T>
class awaitable_async_op_handler<R(std::exception_ptr, T), io_context::executor_type>
    : public awaitable_thread<io_context::executor_type> {
 public:
  struct result_type {
    std::exception_ptr* ex_;
    T* value_;
  };

  awaitable_async_op_handler(awaitable_thread<io_context::executor_type>* thread, result_type& result)
      : awaitable_thread<io_context::executor_type>(std::move(*thread)), result_(result) {}

  void operator()(std::exception_ptr ex, T value) {
    result_.ex_ = &ex;
    result_.value_ = &value;
    this->entry_point()->top_of_stack_->attach_thread(this);
    this->entry_point()->top_of_stack_->clear_cancellation_slot();
    this->pump();
  }

  static T resume(result_type& result) {
    if (*result.ex_) std::rethrow_exception(std::exchange(*result.ex_, nullptr));
    return std::move(*result.value_);
  }

 private:
  result_type& result_;
};

}  // namespace boost::asio::detail
#endif
