#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace rehearse {

// A coroutine of a rank. It awaits other Tasks and the operations of Communicator, Clock, Device and Storage, nothing
// else.
template <class T = void>
using Task = boost::asio::awaitable<T, boost::asio::io_context::executor_type>;

}  // namespace rehearse
