#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {

void convert_cluster(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const config::Cluster& cluster = message.cluster();
  scenario.ranks = static_cast<int>(cluster.ranks());
  if (cluster.has_ranks_per_host()) scenario.hosts.ranks_per_host = static_cast<int>(cluster.ranks_per_host());
  if (cluster.has_hosts_per_rack()) scenario.hosts.hosts_per_rack = static_cast<int>(cluster.hosts_per_rack());
  if (cluster.has_price_per_rank_hour()) scenario.price_per_rank_hour = cluster.price_per_rank_hour();
  scenario.train.data_ranks = message.train().has_data_ranks() ? message.train().data_ranks() : scenario.ranks;
  scenario.network.latency = parse_duration(cluster.network().latency());
  scenario.network.bandwidth = parse_bandwidth(cluster.network().bandwidth());
  scenario.network.jitter = parse_duration(cluster.network().jitter());
  convert_topology(message, origins, scenario);
  scenario.storage.latency = parse_duration(cluster.storage().latency());
  scenario.storage.bandwidth = parse_bandwidth(cluster.storage().bandwidth());
  if (cluster.storage().has_capacity()) scenario.storage.capacity = parse_size(cluster.storage().capacity());
}

}  // namespace rehearse
