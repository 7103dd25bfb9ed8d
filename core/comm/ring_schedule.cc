#include "core/comm/ring_schedule.h"

namespace rehearse {

Task<> exchange_around_ring(Communicator& comm, Call call, BufferView buffer, int first, int steps) {
  const RingSchedule schedule(*call.group, buffer, first, steps);
  co_await comm.exchange_all(call, schedule);
}

}  // namespace rehearse
