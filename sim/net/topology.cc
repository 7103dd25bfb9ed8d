#include "sim/net/topology.h"

#include <utility>

#include "core/base/check.h"

namespace rehearse {

int Topology::add_switch(std::string name) {
  switches_.push_back(std::move(name));
  return nodes() - 1;
}

int Topology::add_link(int from, int to, LinkSpec spec, int cost) {
  CHECK(from >= 0 && from < nodes());
  CHECK(to >= 0 && to < nodes());
  CHECK_NE(from, to);
  CHECK_GE(spec.latency.ps(), 0);
  CHECK_GT(spec.bandwidth.bits_per_second(), 0);
  CHECK_GT(cost, 0);
  TopologyLink link;
  link.from = from;
  link.to = to;
  link.latency = spec.latency;
  link.bandwidth = spec.bandwidth;
  link.cost = cost;
  links_.push_back(link);
  return links() - 1;
}

void Topology::connect(int a, int b, LinkSpec spec, int cost) {
  add_link(a, b, spec, cost);
  add_link(b, a, spec, cost);
}

void Topology::plug(int node, int into_switch, LinkSpec spec, int cost) {
  add_link(node, into_switch, spec, cost);
  add_link(into_switch, node, LinkSpec(Duration(), spec.bandwidth), cost);
}

std::string Topology::node_name(int node) const {
  if (node < ranks_) return "rank " + std::to_string(node);
  return switches_[static_cast<std::size_t>(node - ranks_)];
}

std::string Topology::link_name(int index) const {
  return node_name(link(index).from) + " -> " + node_name(link(index).to);
}

int Topology::grid_link(int rank, int dimension, int direction) const {
  const auto dimensions = static_cast<int>(grid_.size());
  return grid_links_[static_cast<std::size_t>((rank * dimensions + dimension) * 2 + direction)];
}

void Topology::set_grid(std::vector<int> sizes, std::vector<int> links) {
  CHECK_EQ(links.size(), static_cast<std::size_t>(ranks_) * sizes.size() * 2);
  grid_ = std::move(sizes);
  grid_links_ = std::move(links);
}

}  // namespace rehearse
