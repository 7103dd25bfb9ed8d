#include "sim/net/make_topology.h"

#include <map>
#include <string>
#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

// A rank's own port costs twice as much as what is inside its host, so that ranks of one host stay inside.
constexpr int kPortCost = 2;

void plug_all(Topology& topology, const std::vector<int>& nodes, const PortNetwork& network) {
  if (network.ports_per_leaf == 0) {
    const int middle = topology.add_switch("switch");
    for (const int node : nodes) topology.plug(node, middle, network.port, kPortCost);
    return;
  }
  std::vector<int> leaves;
  std::map<std::pair<int, int>, int> leaf_of;  // by rail and number in it
  for (std::size_t port = 0; port < nodes.size(); ++port) {
    const int rail = static_cast<int>(port) % network.rails;
    const int number = static_cast<int>(port) / network.rails / network.ports_per_leaf;
    const auto [place, is_new] = leaf_of.try_emplace({rail, number}, 0);
    if (is_new) {
      std::string name = "leaf " + std::to_string(leaves.size());
      if (network.rails > 1) name += " of rail " + std::to_string(rail);
      place->second = topology.add_switch(std::move(name));
      leaves.push_back(place->second);
    }
    topology.plug(nodes[port], place->second, network.port, kPortCost);
  }
  for (int i = 0; i < network.spines; ++i) {
    const int spine = topology.add_switch("spine " + std::to_string(i));
    for (const int leaf : leaves) topology.connect(leaf, spine, network.uplink);
  }
}

}  // namespace

Topology make_ports(int ranks, const PortNetwork& network) {
  Topology topology(ranks);
  std::vector<int> nodes;
  for (int rank = 0; rank < ranks; ++rank) nodes.push_back(rank);
  plug_all(topology, nodes, network);
  return topology;
}

Topology make_hosts(int ranks, const HostNetwork& hosts, const PortNetwork& network) {
  CHECK_GT(hosts.ranks_per_host, 0);
  Topology topology(ranks);
  std::vector<int> nodes;
  for (int first = 0; first < ranks; first += hosts.ranks_per_host) {
    const int host = topology.add_switch("host " + std::to_string(first / hosts.ranks_per_host));
    for (int rank = first; rank < ranks && rank < first + hosts.ranks_per_host; ++rank) {
      topology.plug(rank, host, hosts.inside);
      if (!hosts.shared_nic) nodes.push_back(rank);
    }
    if (hosts.shared_nic) nodes.push_back(host);
  }
  plug_all(topology, nodes, network);
  return topology;
}

Topology make_full_mesh(int ranks, LinkSpec link) {
  Topology topology(ranks);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (to != from) topology.add_link(from, to, link);
    }
  }
  topology.set_full_mesh();
  return topology;
}

Topology make_torus(const std::vector<int>& sizes, LinkSpec link) {
  int ranks = 1;
  for (const int size : sizes) {
    CHECK_GT(size, 0);
    ranks *= size;
  }
  Topology topology(ranks);
  std::vector<int> links;
  for (int rank = 0; rank < ranks; ++rank) {
    int stride = 1;
    for (const int size : sizes) {
      const int place = rank / stride % size;
      const int next = rank + ((place + 1) % size - place) * stride;
      const int previous = rank + ((place + size - 1) % size - place) * stride;
      links.push_back(size > 1 ? topology.add_link(rank, next, link) : -1);
      links.push_back(size > 2 ? topology.add_link(rank, previous, link) : -1);
      stride *= size;
    }
  }
  topology.set_ranks_forward();
  topology.set_grid(sizes, std::move(links));
  return topology;
}

std::shared_ptr<const Topology> topology_of(const NetworkConfig& network, int ranks) {
  if (network.topology != nullptr) {
    CHECK_GE(network.topology->ranks(), ranks);
    return network.topology;
  }
  PortNetwork ports;
  ports.port = LinkSpec(network.latency, network.bandwidth);
  return std::make_shared<const Topology>(make_ports(ranks, ports));
}

}  // namespace rehearse
