#include "sim/cost/reduction_flow.h"

#include <numeric>
#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

// Where one edge's messages go, as one of its ends sees it.
struct End {
  int peer = 0;
  std::uint64_t edge = 0;
  Bytes bytes;
};

// One vertex as its rank runs it.
struct Work {
  Group group;
  std::vector<End> children;
  std::vector<End> parents;
  std::uint64_t segments = 0;

  // Every message of the flow has a number of its own.
  Call call(const End& end, bool down, std::uint64_t segment) const {
    return Call(group, (end.edge * 2 + (down ? 1 : 0)) * segments + segment, Operation::kAllReduce);
  }
};

Task<> send_one(Communicator& comm, Call call, int peer, Payload payload) {
  co_await comm.send(call, peer, std::move(payload));
}

// Puts a segment on its way over each of these edges; what shares a port leaves in this order.
void post(RankContext& context, const Work& work, const std::vector<End>& ends, bool down, std::uint64_t segment,
          std::vector<Activity<void>>& posted) {
  for (const End& end : ends) {
    Task<> task = send_one(context.comm(), work.call(end, down, segment), end.peer, Payload::shape_only(end.bytes));
    posted.push_back(context.spawn("a segment", std::move(task)));
  }
}

Task<> sums(RankContext& context, const Work& work) {
  std::vector<Activity<void>> posted;
  for (std::uint64_t segment = 0; segment < work.segments; ++segment) {
    for (const End& child : work.children) {
      const Call call = work.call(child, false, segment);
      co_await context.comm().recv(call, child.peer);
    }
    if (work.parents.empty()) {
      post(context, work, work.children, true, segment, posted);
    } else if (!work.children.empty()) {
      post(context, work, work.parents, false, segment, posted);
    } else {
      // A share of its own: the port is asked for the next one when this one has left, so that others get their turn.
      for (const End& parent : work.parents) {
        Task<> task =
            send_one(context.comm(), work.call(parent, false, segment), parent.peer, Payload::shape_only(parent.bytes));
        co_await std::move(task);
      }
    }
  }
  for (Activity<void>& activity : posted) co_await activity.join();
}

Task<> results(RankContext& context, const Work& work) {
  std::vector<Activity<void>> posted;
  for (std::uint64_t segment = 0; segment < work.segments; ++segment) {
    for (const End& parent : work.parents) {
      const Call call = work.call(parent, true, segment);
      co_await context.comm().recv(call, parent.peer);
    }
    post(context, work, work.children, true, segment, posted);
  }
  for (Activity<void>& activity : posted) co_await activity.join();
}

}  // namespace

int ReductionFlow::add(int rank, Bytes to_parents) {
  Vertex vertex;
  vertex.rank = rank;
  vertex.to_parents = to_parents;
  vertices_.push_back(std::move(vertex));
  return static_cast<int>(vertices_.size()) - 1;
}

void ReductionFlow::join(int child, int parent) {
  CHECK_NE(vertices_[static_cast<std::size_t>(child)].rank, vertices_[static_cast<std::size_t>(parent)].rank);
  vertices_[static_cast<std::size_t>(child)].parents.push_back(static_cast<int>(edges_.size()));
  vertices_[static_cast<std::size_t>(parent)].children.push_back(static_cast<int>(edges_.size()));
  edges_.push_back(Edge{child, parent});
}

Task<> ReductionFlow::run(RankContext& context, int segments) const {
  CHECK_GT(segments, 0);
  std::vector<int> world(static_cast<std::size_t>(context.world_size()));
  std::iota(world.begin(), world.end(), 0);
  std::vector<Work> own;
  for (const Vertex& vertex : vertices_) {
    if (vertex.rank != context.rank()) continue;
    Work work{Group(0, context.generation(), world, context.rank()), {}, {}, static_cast<std::uint64_t>(segments)};
    for (const int index : vertex.children) {
      const Vertex& child = vertices_[static_cast<std::size_t>(edges_[static_cast<std::size_t>(index)].child)];
      work.children.push_back(End{child.rank, static_cast<std::uint64_t>(index), child.to_parents});
    }
    for (const int index : vertex.parents) {
      const Vertex& parent = vertices_[static_cast<std::size_t>(edges_[static_cast<std::size_t>(index)].parent)];
      work.parents.push_back(End{parent.rank, static_cast<std::uint64_t>(index), vertex.to_parents});
    }
    own.push_back(std::move(work));
  }
  std::vector<Activity<void>> activities;
  for (const Work& work : own) {
    activities.push_back(context.spawn("sums", sums(context, work)));
    if (!work.parents.empty()) activities.push_back(context.spawn("results", results(context, work)));
  }
  for (Activity<void>& activity : activities) co_await activity.join();
}

}  // namespace rehearse
