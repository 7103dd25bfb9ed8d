#include <optional>
#include <set>
#include <string>

#include "core/base/numbers.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"
#include "sim/fault/failure_presets.h"

namespace rehearse {
namespace {

// The preset's causes and rate, or the scenario's own.
FailureRate convert_figures(const config::Rate& rate, const std::string& path, const Origins& origins) {
  FailureRate out;
  if (rate.has_preset()) {
    if (!find_failure_preset(rate.preset(), out)) {
      origins.fail(path + ".preset",
                   "found \"" + rate.preset() + "\"; " + suggestion(rate.preset(), failure_preset_names()));
    }
    if (rate.host_share() != 0) {
      origins.fail(path + ".host_share",
                   "found together with a preset, whose causes decide it; allowed: only with "
                   "failures_per_node_day");
    }
    return out;
  }
  if (!rate.has_failures_per_node_day()) {
    origins.fail(path, "says not how often; allowed: preset, or failures_per_node_day");
  }
  out.per_node_day = rate.failures_per_node_day();
  const std::optional<std::int64_t> hosts = to_billionths(rate.host_share());
  if (!hosts) origins.fail(path + ".host_share", "found more than 9 decimals; allowed: at most 9");
  constexpr std::int64_t kBillion = 1'000'000'000;
  if (*hosts < kBillion) out.causes.push_back({"", FailureKind::kProcess, kBillion - *hosts});
  if (*hosts > 0) out.causes.push_back({"", FailureKind::kHost, *hosts});
  return out;
}

// More often than every 86 ns on average, failures would be all that happens.
void check_rate(double per_node_day, const std::string& path, const Origins& origins) {
  if (per_node_day >= 1e-12 && per_node_day <= 1e12) return;
  origins.fail(path, "makes " + shortest_text(per_node_day) +
                         " failures of a node in a day; allowed: at least 1e-12 and at most 1e+12");
}

void convert_lemons(const config::Rate& rate, const std::string& path, const Origins& origins, int ranks,
                    FailureRate& out) {
  const int nodes = nodes_of(out, ranks);
  std::set<std::int64_t> seen;
  for (int i = 0; i < rate.lemon_size(); ++i) {
    const config::Lemon& lemon = rate.lemon(i);
    const std::string field = path + ".lemon[" + std::to_string(i) + "].node";
    if (lemon.node() >= nodes) {
      origins.fail(field, "found " + std::to_string(lemon.node()) + "; allowed: 0 to " + std::to_string(nodes - 1) +
                              ", as " + std::to_string(ranks) + " ranks make " + std::to_string(nodes) +
                              (nodes == 1 ? " node of " : " nodes of ") + std::to_string(out.ranks_per_node));
    }
    if (!seen.insert(lemon.node()).second) {
      origins.fail(field,
                   "found node " + std::to_string(lemon.node()) + " a second time; allowed: one lemon for each node");
    }
    out.lemons.push_back(LemonNode{static_cast<int>(lemon.node()), lemon.factor()});
    check_rate(out.per_node_day * lemon.factor(), path + ".lemon[" + std::to_string(i) + "].factor", origins);
  }
}

// `per_host`: where the cluster says it.
FailureRate convert_rate(const config::Rate& rate, const std::string& path, const Origins& origins, int ranks,
                         const std::optional<int>& per_host) {
  FailureRate out = convert_figures(rate, path, origins);
  out.ranks_per_node = static_cast<int>(rate.ranks_per_node());
  if (per_host.has_value() && out.ranks_per_node != *per_host) {
    origins.fail(path + ".ranks_per_node", "found " + std::to_string(out.ranks_per_node) +
                                               "; allowed: as many as cluster.ranks_per_host, which is " +
                                               std::to_string(*per_host) + ", as nodes are hosts");
  }
  out.per_node_day *= rate.scale();
  check_rate(out.per_node_day, path + ".scale", origins);
  out.from = TimePoint::at(parse_duration(rate.from()));
  if (rate.has_until()) {
    out.until = TimePoint::at(parse_duration(rate.until()));
    if (*out.until <= out.from) {
      origins.fail(path + ".until",
                   "found \"" + rate.until() + "\"; allowed: later than from, which is \"" + rate.from() + "\"");
    }
  }
  convert_lemons(rate, path, origins, ranks, out);
  return out;
}

}  // namespace

void convert_rates(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  std::optional<int> per_host;
  if (message.cluster().has_ranks_per_host()) per_host = scenario.hosts.ranks_per_host;
  for (int i = 0; i < message.faults().rate_size(); ++i) {
    const std::string path = "faults.rate[" + std::to_string(i) + "]";
    scenario.faults.rates.push_back(
        convert_rate(message.faults().rate(i), path, origins, scenario.known_ranks(), per_host));
  }
}

}  // namespace rehearse
