#pragma once

#include <memory>
#include <vector>

#include "sim/net/config.h"
#include "sim/net/topology.h"

// The topologies that have a name. Sizes are at least 1; what a user's file can have wrong is refused before
// (sim/config).

namespace rehearse {

// Where ranks, or hosts, have their ports: one switch, or leaves joined by spines.
//
// Port p belongs to rail p % rails. The ports of a rail are cut into leaves of `ports_per_leaf` in their order, and
// every leaf has one link to every spine, whatever its rail: what goes from rail to rail does so over the spines.
struct PortNetwork {
  LinkSpec port;           // of a port: through one switch, end to end
  int ports_per_leaf = 0;  // 0: one switch for all
  int rails = 1;
  int spines = 0;
  LinkSpec uplink;  // between a leaf and a spine
};

// Hosts with a network of their own inside: a switch that its ranks have a port each at. To other hosts goes either a
// port of each rank or one port of the whole host.
struct HostNetwork {
  int ranks_per_host = 1;
  LinkSpec inside;
  bool shared_nic = false;
};

// Every rank has a port at `network`.
Topology make_ports(int ranks, const PortNetwork& network);
// Every rank or every host has; the last host may have fewer ranks.
Topology make_hosts(int ranks, const HostNetwork& hosts, const PortNetwork& network);
// A cable between any two ranks.
Topology make_full_mesh(int ranks, LinkSpec link);
// A grid of ranks in which each has a cable to the next and the previous one in every dimension, around its ends; one
// cable where they are the same. Rank r is at r % sizes[0], r / sizes[0] % sizes[1], and so on. One dimension is a
// ring.
Topology make_torus(const std::vector<int>& sizes, LinkSpec link);

// A network's own topology, of at least so many ranks, or where it has none the switch with one port a rank that it
// then is.
std::shared_ptr<const Topology> topology_of(const NetworkConfig& network, int ranks);

}  // namespace rehearse
