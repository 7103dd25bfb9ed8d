#include "core/comm/binomial_all_reduce.h"

#include "core/comm/binomial_broadcast.h"
#include "core/comm/binomial_reduce.h"

namespace rehearse {

Task<> binomial_all_reduce(Communicator& comm, Call call, BufferView buffer) {
  co_await binomial_reduce(comm, call, buffer, 0);
  co_await binomial_broadcast(comm, call, buffer, 0);
}

}  // namespace rehearse
