// Schedules of exchanges, which run without waking a coroutine for each message, and what makes many ranks fast.

#include "core/base/check.h"
#include "sim/net/network.h"

namespace rehearse {
namespace {

constexpr std::size_t kLine = 64;  // of a cache, bytes

// Has what is there come into the cache.
void fetch(const void* begin, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLine) __builtin_prefetch(static_cast<const char*>(begin) + at, 1);
}

}  // namespace

void Network::exchange_all(Process& process, const Call& call, const ExchangeSchedule& schedule, Completion<> done) {
  PendingOp& op = process.begin(WaitInfo(EventKind::kExchange, call, -1), std::move(done));
  op.row = this;
  op.call = &call;
  op.schedule = &schedule;
  op.step = 0;
  begin_step(op);
}

void Network::begin_step(PendingOp& op) {
  const Call& call = *op.call;
  const ScheduledExchange step = op.schedule->at(op.step);
  const int source = call.group->world_rank(step.from);
  op.wait.peer = source;
  op.expected = step.received;
  const std::int64_t offset = call.offset < 0 ? step.offset : call.offset + step.offset;
  exchange(op, call, offset, call.group->world_rank(step.to), Payload::shape_only(step.sent), source);
}

bool Network::go_on(PendingOp& op, const Payload& received) {
  CHECK_EQ(received.size().count(), op.expected.count());
  if (++op.step == op.schedule->steps()) return false;
  kernel_.disarm_deadline(op);
  op.process->begin_next(op);
  begin_step(op);
  return true;
}

void Network::expect_delivery(std::uint64_t slot) const {
  const Message& message = in_flight_[slot];
  if (message.destination < 0) return;
  const auto destination = static_cast<std::size_t>(message.destination);
  const std::vector<TrafficCounters>& counters = counters_[static_cast<std::size_t>(message.about.operation)];
  if (!counters.empty()) __builtin_prefetch(&counters[destination], 1);
  const Endpoint& endpoint = endpoints_[destination];
  __builtin_prefetch(&endpoint.unexpected, 1);
  if (endpoint.posted.empty()) return;
  const PendingOp* op = kernel_.ops().find(endpoint.posted.front().op);
  if (op == nullptr) return;
  fetch(op, sizeof(PendingOp));
  fetch(op->process, kLine);
  if (op->row == nullptr) return;
  fetch(op->call, sizeof(Call));
  fetch(op->schedule, 2 * kLine);
}

}  // namespace rehearse
