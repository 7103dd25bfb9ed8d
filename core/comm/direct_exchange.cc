#include "core/comm/direct_exchange.h"

#include <utility>

#include "core/comm/chunks.h"
#include "core/comm/reduce.h"
#include "core/comm/side_by_side.h"

namespace rehearse {
namespace {

int after(int rank, int distance, int size) { return (rank + distance) % size; }
int before(int rank, int distance, int size) { return (rank - distance + size) % size; }

Task<> send_parts(Communicator& comm, Call call, const std::vector<BufferView>& out) {
  const int size = call.group->size();
  for (int distance = 1; distance < size; ++distance) {
    const int to = after(call.group->rank, distance, size);
    const BufferView part = out[static_cast<std::size_t>(to)];
    if (part.count == 0) continue;
    Payload message = comm.pool().copy_of(part);
    co_await comm.send(call, to, std::move(message));
  }
}

Task<> take_parts(Communicator& comm, Call call, const std::vector<BufferView>& into) {
  const int size = call.group->size();
  for (int distance = 1; distance < size; ++distance) {
    const int from = before(call.group->rank, distance, size);
    const BufferView part = into[static_cast<std::size_t>(from)];
    if (part.count == 0) continue;
    const Payload received = co_await comm.recv(call, from);
    copy_elements(part, received);
  }
}

Task<> send_chunks(Communicator& comm, Call call, Chunks chunks) {
  const int size = call.group->size();
  for (int distance = 1; distance < size; ++distance) {
    const int to = after(call.group->rank, distance, size);
    Payload message = comm.pool().copy_of(chunks[to]);
    co_await comm.send(call.at(chunks.range(to).offset), to, std::move(message));
  }
}

Task<> add_chunks(Communicator& comm, Call call, Chunks chunks) {
  const int size = call.group->size();
  for (int distance = 1; distance < size; ++distance) {
    const int from = before(call.group->rank, distance, size);
    const Payload received = co_await comm.recv(call, from);
    reduce_add_in_order(chunks[call.group->rank], received, First::kOwn);
  }
}

Task<> send_own(Communicator& comm, Call call, Chunks chunks) {
  const int size = call.group->size();
  const Payload own = comm.pool().copy_of(chunks[call.group->rank]);
  for (int distance = 1; distance < size; ++distance) {
    Payload copy = own;  // shares the bytes
    co_await comm.send(call.at(chunks.range(call.group->rank).offset), after(call.group->rank, distance, size),
                       std::move(copy));
  }
}

Task<> take_chunks(Communicator& comm, Call call, Chunks chunks) {
  const int size = call.group->size();
  for (int distance = 1; distance < size; ++distance) {
    const int from = before(call.group->rank, distance, size);
    const Payload received = co_await comm.recv(call, from);
    copy_elements(chunks[from], received);
  }
}

bool nothing_but(int rank, const std::vector<BufferView>& parts) {
  for (std::size_t r = 0; r < parts.size(); ++r) {
    if (static_cast<int>(r) != rank && parts[r].count > 0) return false;
  }
  return true;
}

}  // namespace

Task<> direct_all_to_all(RankContext& context, Call call, std::vector<BufferView> out, std::vector<BufferView> into) {
  const int size = call.group->size();
  const int rank = call.group->rank;
  CHECK_EQ(out.size(), static_cast<std::size_t>(size));
  CHECK_EQ(into.size(), static_cast<std::size_t>(size));
  copy_view(into[static_cast<std::size_t>(rank)], out[static_cast<std::size_t>(rank)]);
  if (nothing_but(rank, out) && nothing_but(rank, into)) co_return;
  Task<> sending = send_parts(context.comm(), call, out);
  Task<> taking = take_parts(context.comm(), call, into);
  co_await side_by_side(context, call, "all_to_all sends", std::move(sending), std::move(taking));
}

Task<> direct_reduce_scatter(RankContext& context, Call call, BufferView buffer) {
  if (call.group->size() == 1 || buffer.count == 0) co_return;
  const Chunks chunks(buffer, call.group->size());
  Task<> sending = send_chunks(context.comm(), call, chunks);
  Task<> adding = add_chunks(context.comm(), call, chunks);
  co_await side_by_side(context, call, "reduce_scatter sends", std::move(sending), std::move(adding));
}

Task<> direct_all_gather(RankContext& context, Call call, BufferView buffer) {
  if (call.group->size() == 1 || buffer.count == 0) co_return;
  const Chunks chunks(buffer, call.group->size());
  Task<> sending = send_own(context.comm(), call, chunks);
  Task<> taking = take_chunks(context.comm(), call, chunks);
  co_await side_by_side(context, call, "all_gather sends", std::move(sending), std::move(taking));
}

}  // namespace rehearse
