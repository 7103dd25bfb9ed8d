#include "core/comm/double_tree_all_reduce.h"

#include <utility>

#include "core/comm/chunks.h"
#include "core/comm/double_tree.h"
#include "core/comm/reduce.h"
#include "core/comm/segments.h"
#include "core/comm/side_by_side.h"

namespace rehearse {
namespace {

Task<> reduce_up(Communicator& comm, Call call, Chunks segments, int count, TreePlace place) {
  for (int k = 0; k < count; ++k) {
    if (place.lower) {
      const Payload received = co_await comm.recv(call, *place.lower);
      reduce_add_in_order(segments[k], received, First::kReceived);
    }
    if (place.higher) {
      const Payload received = co_await comm.recv(call, *place.higher);
      reduce_add_in_order(segments[k], received, First::kOwn);
    }
    if (!place.parent) continue;
    Payload sum = comm.pool().copy_of(segments[k]);
    co_await comm.send(call.at(segments.range(k).offset), *place.parent, std::move(sum));
  }
}

Task<> broadcast_down(Communicator& comm, Call call, Chunks segments, int count, TreePlace place) {
  for (int k = 0; k < count; ++k) {
    Payload message;
    if (place.parent) {
      message = co_await comm.recv(call, *place.parent);
      copy_elements(segments[k], message);
    } else {
      message = comm.pool().copy_of(segments[k]);
    }
    const Call here = call.at(segments.range(k).offset);
    if (place.lower) {
      Payload copy = message;  // shares the bytes
      co_await comm.send(here, *place.lower, std::move(copy));
    }
    if (place.higher) co_await comm.send(here, *place.higher, std::move(message));
  }
}

Task<> in_tree(Communicator& comm, Call call, BufferView half, Bytes segment, int tree) {
  if (half.count == 0) co_return;
  const TreePlace place = double_tree_place(call.group->rank, call.group->size(), tree);
  const int count = segments_of(half, segment);
  const Chunks segments(half, count);
  co_await reduce_up(comm, call, segments, count, place);
  co_await broadcast_down(comm, call, segments, count, place);
}

}  // namespace

Task<> double_tree_all_reduce(RankContext& context, Call first, Call second, BufferView buffer, Bytes segment) {
  if (first.group->size() == 1 || buffer.count == 0) co_return;
  const Chunks halves(buffer, 2);
  Task<> tree_0 = in_tree(context.comm(), first.at(0), halves[0], segment, 0);
  Task<> tree_1 = in_tree(context.comm(), second.at(halves.range(1).offset), halves[1], segment, 1);
  co_await side_by_side(context, first, "all_reduce tree", std::move(tree_0), std::move(tree_1));
}

}  // namespace rehearse
