#include <numeric>
#include <set>

#include "core/base/check.h"
#include "sim/config/convert.h"
#include "sim/config/device_presets.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

RankSlowdown convert_slowdown(const config::Slowdown& slowdown, const std::string& path, const Origins& origins) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  const std::optional<std::int64_t> billionths = to_billionths(slowdown.factor());
  if (!billionths) origins.fail(path + ".factor", "found more than 9 decimals; allowed: at most 9");
  const std::int64_t common = std::gcd(*billionths, kBillion);
  return RankSlowdown{static_cast<int>(slowdown.rank()), *billionths / common, kBillion / common};
}

void convert_device(const config::Device& device, const Origins& origins, Scenario& scenario) {
  if (device.has_flops()) {
    scenario.device.rate = parse_flop_rate(device.flops());
    scenario.device_name = device.flops();
  } else {
    const DevicePreset* preset = find_device_preset(device.preset());
    if (preset == nullptr) {
      origins.fail("cluster.device.preset",
                   "found \"" + device.preset() + "\"; " + suggestion(device.preset(), device_preset_names()));
    }
    scenario.device.rate = preset->rate;
    scenario.device_name = device.preset();
  }

  std::set<std::int64_t> seen;
  for (int i = 0; i < device.slowdown_size(); ++i) {
    const config::Slowdown& slowdown = device.slowdown(i);
    const std::string path = "cluster.device.slowdown[" + std::to_string(i) + "]";
    if (slowdown.rank() >= scenario.known_ranks()) {
      origins.fail(path + ".rank",
                   "found " + std::to_string(slowdown.rank()) + "; allowed: " + scenario.allowed_ranks());
    }
    if (!seen.insert(slowdown.rank()).second) {
      origins.fail(path + ".rank", "found rank " + std::to_string(slowdown.rank()) +
                                       " a second time; allowed: one slowdown for each rank");
    }
    scenario.device.slowdowns.push_back(convert_slowdown(slowdown, path, origins));
  }
}

}  // namespace

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
  convert_device(cluster.device(), origins, scenario);
}

}  // namespace rehearse
