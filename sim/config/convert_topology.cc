#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"
#include "sim/net/make_topology.h"
#include "sim/net/routes.h"

namespace rehearse {
namespace {

std::string in_network(const std::string& field) { return "cluster.network." + field; }
std::string in_topology(const std::string& field) { return "cluster.network.topology." + field; }

// A petabit a second: a thousand times the fastest port, and what fair rates are exact for.
constexpr std::int64_t kMostBandwidth = 1'000'000'000'000'000;
constexpr std::int64_t kMostLinks = std::int64_t{1} << 22;
constexpr int kMostMeshed = 1024;

// Builds the topology of one scenario, for the ranks that it may have.
class Converter {
 public:
  Converter(const config::Scenario& message, const Origins& origins, const Scenario& scenario)
      : cluster_(message.cluster()),
        network_(cluster_.network()),
        topology_(network_.topology()),
        origins_(origins),
        ranks_(scenario.known_ranks()),
        port_(scenario.network.latency, scenario.network.bandwidth) {}

  Topology convert() const {
    Topology made = make();
    if (topology_.store_and_forward()) {
      if (network_.has_fabric() && network_.fabric() != config::Network::PORTS) {
        origins_.fail(in_topology("store_and_forward"), "found true with the fabric " +
                                                            config::Network::Fabric_Name(network_.fabric()) +
                                                            ", which knows no single hop; allowed: only with PORTS");
      }
      made.set_store_and_forward();
    }
    return made;
  }

 private:
  Topology make() const {
    using Shape = config::Topology::ShapeCase;
    const Shape shape = topology_.shape_case();
    if (topology_.has_hosts() && shape != Shape::SHAPE_NOT_SET && shape != Shape::kLeafSpine) {
      origins_.fail(in_topology("hosts"),
                    "found with ranks that are joined directly or by a graph; allowed: alone, or with leaf_spine");
    }
    switch (shape) {
      case Shape::SHAPE_NOT_SET:
      case Shape::kLeafSpine:
        return topology_.has_hosts() ? make_hosts(ranks_, hosts(), ports()) : make_ports(ranks_, ports());
      case Shape::kFullMesh:
        if (ranks_ > kMostMeshed) {
          origins_.fail(in_topology("full_mesh"), "found with " + std::to_string(ranks_) + " ranks; allowed: at most " +
                                                      std::to_string(kMostMeshed));
        }
        return make_full_mesh(ranks_, port_);
      case Shape::kRing:
        return make_torus({ranks_}, port_);
      case Shape::kTorus:
        return torus();
      case Shape::kGraph:
        return graph();
    }
    check_failed(__FILE__, __LINE__, "a shape that the schema does not have");
  }

  LinkSpec spec(const std::string& latency, const std::string& bandwidth, const std::string& path) const {
    const LinkSpec spec(parse_duration(latency), parse_bandwidth(bandwidth));
    if (spec.bandwidth.bits_per_second() > kMostBandwidth) {
      origins_.fail(path + ".bandwidth", "found \"" + bandwidth + "\"; allowed: up to \"1000Tbps\"");
    }
    return spec;
  }

  HostNetwork hosts() const {
    const config::HostNetwork& from = topology_.hosts();
    const std::string path = in_topology("hosts");
    HostNetwork hosts;
    if (!from.has_ranks() && !cluster_.has_ranks_per_host()) {
      origins_.fail(path + ".ranks",
                    "missing; allowed: whole numbers from 1 to 65536, here or as "
                    "cluster.ranks_per_host");
    }
    hosts.ranks_per_host = static_cast<int>(from.has_ranks() ? from.ranks() : cluster_.ranks_per_host());
    if (cluster_.has_ranks_per_host() && cluster_.ranks_per_host() != hosts.ranks_per_host) {
      origins_.fail(path + ".ranks", "found " + std::to_string(from.ranks()) +
                                         "; allowed: cluster.ranks_per_host, which is " +
                                         std::to_string(cluster_.ranks_per_host()));
    }
    hosts.inside = spec(from.latency(), from.bandwidth(), path);
    hosts.shared_nic = from.nic() == config::HostNetwork::PER_HOST;
    return hosts;
  }

  PortNetwork ports() const {
    PortNetwork ports;
    ports.port = port_;
    if (!topology_.has_leaf_spine()) return ports;
    const config::LeafSpine& from = topology_.leaf_spine();
    const std::string path = in_topology("leaf_spine");
    ports.ports_per_leaf = static_cast<int>(from.ports_per_leaf());
    ports.spines = static_cast<int>(from.spines());
    ports.rails = static_cast<int>(from.rails());
    int count = ranks_;
    if (topology_.has_hosts()) {
      const HostNetwork inner = hosts();
      if (inner.shared_nic) {
        count = (ranks_ + inner.ranks_per_host - 1) / inner.ranks_per_host;
      } else if (inner.ranks_per_host % ports.rails != 0) {
        origins_.fail(path + ".rails", "found " + std::to_string(ports.rails) +
                                           "; allowed: a divisor of the ranks of a host, which are " +
                                           std::to_string(inner.ranks_per_host));
      }
    }
    if (ports.rails > count) {
      origins_.fail(path + ".rails", "found " + std::to_string(ports.rails) +
                                         "; allowed: at most one for each of the " + std::to_string(count) + " ports");
    }
    ports.uplink.latency = parse_duration(from.hop_latency());
    ports.uplink.bandwidth = uplink_bandwidth(from, path);
    const std::int64_t leaves_of_rail = (count / ports.rails + ports.ports_per_leaf) / ports.ports_per_leaf;
    const std::int64_t links = 2 * leaves_of_rail * ports.rails * ports.spines;
    if (links > kMostLinks) {
      origins_.fail(path, "makes more than " + std::to_string(kMostLinks) + " links; allowed: fewer leaves or spines");
    }
    return ports;
  }

  Bandwidth uplink_bandwidth(const config::LeafSpine& from, const std::string& path) const {
    if (from.has_uplink_bandwidth()) {
      const Bandwidth uplink = parse_bandwidth(from.uplink_bandwidth());
      if (uplink.bits_per_second() > kMostBandwidth) {
        origins_.fail(path + ".uplink_bandwidth",
                      "found \"" + from.uplink_bandwidth() + "\"; allowed: up to \"1000Tbps\"");
      }
      return uplink;
    }
    const std::optional<std::int64_t> factor = to_billionths(from.oversubscription());
    if (!factor) origins_.fail(path + ".oversubscription", "found more than 9 decimals; allowed: at most 9");
    const __int128 all = static_cast<__int128>(from.ports_per_leaf()) * port_.bandwidth.bits_per_second();
    const __int128 parts = static_cast<__int128>(from.spines()) * *factor;
    const __int128 bits = all * 1'000'000'000 / parts;
    if (bits < 1 || bits > kMostBandwidth || bits * parts != all * 1'000'000'000) {
      origins_.fail(path + ".oversubscription",
                    "makes an uplink of no whole number of bits a second from 1 to 10^15; allowed: ports_per_leaf x "
                    "network.bandwidth / (spines x oversubscription) that is one, or uplink_bandwidth instead");
    }
    return Bandwidth::bits_per_second(static_cast<std::int64_t>(bits));
  }

  Topology torus() const {
    const config::Torus& from = topology_.torus();
    const __int128 product = static_cast<__int128>(from.x()) * from.y() * from.z();
    if (product != ranks_) {
      origins_.fail(in_topology("torus"), "found x " + std::to_string(from.x()) + ", y " + std::to_string(from.y()) +
                                              ", z " + std::to_string(from.z()) + "; allowed: with the product " +
                                              std::to_string(ranks_) + ", the number of ranks");
    }
    return make_torus({static_cast<int>(from.x()), static_cast<int>(from.y()), static_cast<int>(from.z())}, port_);
  }

  // Of a rank or a switch of the graph.
  int node(const std::string& name, const std::map<std::string, int>& nodes, const std::string& path) const {
    const auto found = nodes.find(name);
    if (found != nodes.end()) return found->second;
    origins_.fail(path, "found \"" + name + "\", which is no node; allowed: \"rank 0\" to \"rank " +
                            std::to_string(ranks_ - 1) + "\", or the name of a node");
  }

  Topology graph() const {
    const config::Graph& from = topology_.graph();
    const std::string path = in_topology("graph");
    Topology made(ranks_);
    std::map<std::string, int> nodes;
    for (int rank = 0; rank < ranks_; ++rank) nodes.emplace(made.node_name(rank), rank);
    for (int i = 0; i < from.node_size(); ++i) {
      const std::string& name = from.node(i).name();
      const std::string place = path + ".node[" + std::to_string(i) + "].name";
      if (name.starts_with("rank")) {
        origins_.fail(place, "found \"" + name + "\"; allowed: names that do not begin with \"rank\"");
      }
      if (!nodes.emplace(name, made.nodes()).second) {
        origins_.fail(place, "found \"" + name + "\" a second time; allowed: once");
      }
      made.add_switch(name);
    }
    for (int i = 0; i < from.link_size(); ++i) {
      const config::GraphLink& link = from.link(i);
      const std::string place = path + ".link[" + std::to_string(i) + "]";
      const int a = node(link.from(), nodes, place + ".from");
      const int b = node(link.to(), nodes, place + ".to");
      if (a == b) {
        origins_.fail(place + ".to", "found \"" + link.to() + "\", where the link comes from; allowed: another node");
      }
      const LinkSpec cable = spec(link.latency(), link.bandwidth(), place);
      const int cost = static_cast<int>(link.cost());
      made.add_link(a, b, cable, cost);
      if (!link.one_way()) made.add_link(b, a, cable, cost);
    }
    if (const auto apart = Routes(made, RandomStream(0)).first_without_way()) {
      origins_.fail(path, "has no way from rank " + std::to_string(apart->first) + " to rank " +
                              std::to_string(apart->second) + "; allowed: one from every rank to every other one");
    }
    return made;
  }

  const config::Cluster& cluster_;
  const config::Network& network_;
  const config::Topology& topology_;
  const Origins& origins_;
  int ranks_;
  LinkSpec port_;
};

FabricKind fabric_of(config::Network::Fabric fabric) {
  switch (fabric) {
    case config::Network::PORTS:
      return FabricKind::kPorts;
    case config::Network::MAX_MIN:
      return FabricKind::kMaxMin;
    case config::Network::ALPHA_BETA:
      return FabricKind::kAlphaBeta;
    case config::Network::IDEAL:
      return FabricKind::kIdeal;
  }
  check_failed(__FILE__, __LINE__, "a fabric that the schema does not have");
}

}  // namespace

void convert_topology(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const config::Network& network = message.cluster().network();
  if (network.has_fabric()) scenario.network.fabric = fabric_of(network.fabric());
  if (network.has_overhead()) scenario.network.overhead = parse_duration(network.overhead());
  if (network.has_gap()) scenario.network.gap = parse_duration(network.gap());
  if (scenario.network.is_plain() && !network.has_topology()) return;
  const std::string field = network.has_topology()   ? "topology"
                            : network.has_fabric()   ? "fabric"
                            : network.has_overhead() ? "overhead"
                                                     : "gap";
  if (message.has_job()) {
    origins.fail(in_network(field),
                 "found in a scenario with a job, which sends no messages; allowed: latency, bandwidth, jitter");
  }
  if (scenario.network.bandwidth.bits_per_second() > kMostBandwidth) {
    origins.fail(in_network("bandwidth"), "found \"" + network.bandwidth() +
                                              "\" with a topology or a fabric; allowed: "
                                              "up to \"1000Tbps\"");
  }
  if (scenario.network.fabric == FabricKind::kIdeal) {
    if (network.has_topology()) {
      origins.fail(in_network("topology"),
                   "found with the fabric IDEAL, over which messages take no time; allowed: "
                   "another fabric, or no topology");
    }
    if (network.has_overhead() || network.has_gap()) {
      origins.fail(in_network(network.has_overhead() ? "overhead" : "gap"),
                   "found with the fabric IDEAL, over which messages take no time; allowed: another fabric");
    }
    if (scenario.network.jitter > Duration()) {
      origins.fail(in_network("jitter"), "found \"" + network.jitter() +
                                             "\" with the fabric IDEAL, over which messages take no time; allowed: "
                                             "\"0ps\"");
    }
  }
  if (network.has_topology()) {
    scenario.network.topology = std::make_shared<const Topology>(Converter(message, origins, scenario).convert());
    const config::Topology& topology = network.topology();
    // Hosts of the network are those that are lost.
    if (topology.has_hosts() && topology.hosts().has_ranks()) {
      scenario.hosts.ranks_per_host = static_cast<int>(topology.hosts().ranks());
    }
  }
}

void check_links_can_fail(const config::Scenario& message, const Origins& origins, const Scenario& scenario) {
  if (scenario.network.is_plain()) return;
  const std::string what =
      "found with a topology, a fabric, an overhead or a gap of its own; allowed: only with the fabric PORTS on a "
      "switch";
  if (message.cluster().network().has_transport()) origins.fail(in_network("transport"), what);
  for (const NetworkFault& fault : scenario.faults.network.faults) {
    origins.fail("faults." + std::string(name_of(fault.kind)) + "[" + std::to_string(fault.index) + "]", what);
  }
}

}  // namespace rehearse
