#include "sim/cost/stack_network.h"

#include <utility>
#include <vector>

#include "core/comm/double_tree.h"
#include "sim/net/make_topology.h"

namespace rehearse {
namespace {

Bytes part_of(Bytes whole, std::int64_t parts) { return Bytes((whole.count() + parts - 1) / parts); }

// Joins vertices[h] of host h as tree `tree` over the hosts.
void join_hosts(ReductionFlow& flow, const std::vector<int>& vertices, int tree) {
  const int hosts = static_cast<int>(vertices.size());
  for (int host = 0; host < hosts; ++host) {
    const TreePlace place = double_tree_place(host, hosts, tree);
    if (!place.parent.has_value()) continue;
    flow.join(vertices[static_cast<std::size_t>(host)], vertices[static_cast<std::size_t>(*place.parent)]);
  }
}

}  // namespace

BenchCluster hosts_cluster(const StackSite& site, const StackLinks& links) {
  BenchCluster cluster;
  cluster.ranks = site.gpus();
  cluster.network.latency = links.inside.latency;
  cluster.network.bandwidth = links.inside.bandwidth;
  if (site.hosts == 1) return cluster;
  HostNetwork hosts;
  hosts.ranks_per_host = site.gpus_per_host;
  hosts.inside = links.inside;
  PortNetwork outside;
  outside.port = links.outside;
  cluster.network.topology = std::make_shared<const Topology>(make_hosts(site.gpus(), hosts, outside));
  return cluster;
}

BenchCluster adders_cluster(const StackSite& site, const StackLinks& links) {
  const int gpus = site.gpus();
  const int net_adders = site.network_adds && site.hosts > 1 ? site.gpus_per_host : 0;
  Topology topology(gpus + site.hosts + net_adders);
  const int outside = site.hosts > 1 ? topology.add_switch("switch") : -1;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    topology.connect(gpu, gpus + gpu / site.gpus_per_host, links.inside);
    if (site.hosts > 1) topology.plug(gpu, outside, links.outside);
    if (net_adders > 0) topology.connect(gpu, gpus + site.hosts + gpu % site.gpus_per_host, links.outside);
  }
  BenchCluster cluster;
  cluster.ranks = topology.ranks();
  cluster.network.latency = links.inside.latency;
  cluster.network.bandwidth = links.inside.bandwidth;
  cluster.network.topology = std::make_shared<const Topology>(std::move(topology));
  return cluster;
}

ReductionFlow tree_flow(const StackSite& site, int rails, Bytes segment) {
  ReductionFlow flow;
  const int per_host = site.gpus_per_host;
  for (int rail = 0; rail < rails; ++rail) {
    for (int tree = 0; tree < 2; ++tree) {
      std::vector<int> heads;
      for (int host = 0; host < site.hosts; ++host) {
        int behind = -1;
        for (int i = 0; i < per_host; ++i) {
          const int gpu = host * per_host + (rail * per_host / rails + i) % per_host;
          const int vertex = flow.add(gpu, part_of(segment, std::int64_t{2} * rails));
          if (i == 0) {
            heads.push_back(vertex);
          } else {
            flow.join(vertex, behind);
          }
          behind = vertex;
        }
      }
      join_hosts(flow, heads, tree);
    }
  }
  return flow;
}

ReductionFlow in_switch_flow(const StackSite& site, Bytes segment) {
  ReductionFlow flow;
  const int per_host = site.gpus_per_host;
  const int gpus = site.gpus();
  const int trees = site.hosts > 1 && !site.network_adds ? 2 : 1;
  const Bytes part = part_of(segment, std::int64_t{per_host} * trees);
  std::vector<int> adders;
  for (int host = 0; host < site.hosts; ++host) adders.push_back(flow.add(gpus + host, part));
  for (int gpu = 0; gpu < gpus; ++gpu) {
    flow.join(flow.add(gpu, segment), adders[static_cast<std::size_t>(gpu / per_host)]);
  }
  for (int place = 0; place < per_host; ++place) {
    for (int tree = 0; tree < trees; ++tree) {
      std::vector<int> owners;
      for (int host = 0; host < site.hosts; ++host) {
        owners.push_back(flow.add(host * per_host + place, part));
        flow.join(adders[static_cast<std::size_t>(host)], owners.back());
      }
      if (site.hosts == 1) continue;
      if (!site.network_adds) {
        join_hosts(flow, owners, tree);
        continue;
      }
      const int adder = flow.add(gpus + site.hosts + place, Bytes());
      for (const int owner : owners) flow.join(owner, adder);
    }
  }
  return flow;
}

}  // namespace rehearse
