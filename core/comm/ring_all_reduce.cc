#include "core/comm/ring_all_reduce.h"

#include "core/comm/ring_all_gather.h"
#include "core/comm/ring_reduce_scatter.h"

namespace rehearse {

Task<> ring_all_reduce(Communicator& comm, Call call, BufferView buffer) {
  // Messages of one call and one source arrive in order, so the halves cannot be confused although they share a tag.
  co_await ring_reduce_scatter(comm, call, buffer);
  co_await ring_all_gather(comm, call, buffer);
}

}  // namespace rehearse
