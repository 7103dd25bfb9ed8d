#pragma once

#include <vector>

#include "core/runtime/rank_context.h"

namespace rehearse {

// An all_reduce as a graph through which segments flow: sums go up, from vertex to parents, and results come down the
// same edges. A chain, a tree, and a switch that adds what its ports bring are all such graphs; several share a network
// when they are one graph without edges between them.
//
// Segment by segment, a vertex waits for its children's sums and sends one to each parent, and waits for its parents'
// results and sends one to each child. A vertex without parents has the result when it has the sums. One without
// children sends its own share, one segment behind the other. Nothing is ever held back for want of a buffer.
class ReductionFlow {
 public:
  struct Vertex {
    int rank = 0;
    Bytes to_parents;           // of a segment, on each edge up and back
    std::vector<int> parents;   // edges
    std::vector<int> children;  // edges
  };

  // Returns the new vertex, without children; parents are added later with join().
  int add(int rank, Bytes to_parents);
  // `child` sends its sums to `parent`.
  void join(int child, int parent);
  const std::vector<Vertex>& vertices() const { return vertices_; }

  // What `rank` does: all its vertices at once, each for `segments` segments. The flow must outlive it.
  Task<> run(RankContext& context, int segments) const;

 private:
  struct Edge {
    int child;
    int parent;
  };

  std::vector<Vertex> vertices_;
  std::vector<Edge> edges_;
};

}  // namespace rehearse
