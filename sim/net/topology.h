#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace rehearse {

// What a cable is like, in one direction. Through a port of a switch, `latency` is that of the whole way through the
// switch.
struct LinkSpec {
  LinkSpec() = default;
  LinkSpec(Duration link_latency, Bandwidth link_bandwidth) : latency(link_latency), bandwidth(link_bandwidth) {}
  Duration latency;
  Bandwidth bandwidth;
};

// A directed link between two nodes.
struct TopologyLink {
  int from = 0;
  int to = 0;
  Duration latency;
  Bandwidth bandwidth;
  int cost = 1;  // routes are those of the least sum of costs
};

// What is joined to what: nodes, of which the first are the ranks and the others switches, and directed links. Built
// once (make_topology.h), then only read; several worlds may share one.
class Topology {
 public:
  explicit Topology(int ranks) : ranks_(ranks) {}

  // Returns the new node.
  int add_switch(std::string name);
  // Returns the new link. Requires two different nodes, a latency of 0 or more and a bandwidth above 0.
  int add_link(int from, int to, LinkSpec spec, int cost = 1);
  // A cable with both directions.
  void connect(int a, int b, LinkSpec spec, int cost = 1);
  // A full-duplex port of a rank or a switch at a switch: all of the latency is on the way to it, so that it counts
  // once on the way through.
  void plug(int node, int into_switch, LinkSpec spec, int cost = 1);

  int ranks() const { return ranks_; }
  int nodes() const { return ranks_ + static_cast<int>(switches_.size()); }
  int links() const { return static_cast<int>(links_.size()); }
  const TopologyLink& link(int index) const { return links_[static_cast<std::size_t>(index)]; }
  // "rank 3", or the switch's name.
  std::string node_name(int node) const;
  // "rank 3 -> leaf 0".
  std::string link_name(int index) const;

  // Where ranks are joined directly they pass on what is for others; else they do not.
  bool ranks_forward() const { return ranks_forward_; }
  void set_ranks_forward() { ranks_forward_ = true; }

  // A grid of ranks that wraps around: sizes of its dimensions, and for rank r, dimension d and direction (0 up, 1
  // down) the link at [(r * dimensions + d) * 2 + direction], or -1 (make_torus()). Empty where there is none.
  const std::vector<int>& grid() const { return grid_; }
  int grid_link(int rank, int dimension, int direction) const;
  void set_grid(std::vector<int> sizes, std::vector<int> links);

  // Every rank has its own link to every other one: from r, in the order of the others, at r * (ranks - 1).
  bool is_full_mesh() const { return is_full_mesh_; }
  void set_full_mesh() { is_full_mesh_ = true; }

  // A switch sends a message on when it has all of it; otherwise at its first byte.
  bool store_and_forward() const { return store_and_forward_; }
  void set_store_and_forward() { store_and_forward_ = true; }

 private:
  int ranks_;
  std::vector<std::string> switches_;  // names
  std::vector<TopologyLink> links_;
  bool ranks_forward_ = false;
  bool is_full_mesh_ = false;
  bool store_and_forward_ = false;
  std::vector<int> grid_;
  std::vector<int> grid_links_;
};

}  // namespace rehearse
