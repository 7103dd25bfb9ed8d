#include "sim/config/convert_domains.h"

#include "sim/config/convert_fault_when.h"

namespace rehearse {
namespace {

// Throws InputError unless there are more than `index` of `what`: "hosts".
void check_index(std::int64_t index, int count, const char* what, const std::string& path, const Origins& origins,
                 const Scenario& scenario) {
  if (index < count) return;
  origins.fail(path, "found " + std::to_string(index) + "; allowed: 0 to " + std::to_string(count - 1) + ", as " +
                         std::to_string(scenario.known_ranks()) + " ranks make " + std::to_string(count) + " " + what +
                         (count == 1 ? "" : "s"));
}

}  // namespace

void fill_domain_defaults(config::Scenario& message) {
  if (!message.has_faults()) return;
  for (config::Crash& crash : *message.mutable_faults()->mutable_crash()) {
    const bool domain = crash.has_host() || crash.has_rack();
    if (domain && !crash.has_kind()) crash.set_kind(config::Crash::HOST);
  }
  if (!message.cluster().has_ranks_per_host()) return;
  for (config::Rate& rate : *message.mutable_faults()->mutable_rate()) {
    if (!rate.has_ranks_per_node()) rate.set_ranks_per_node(message.cluster().ranks_per_host());
  }
}

CrashTarget convert_crash_target(const config::Crash& crash, const std::string& path, const Origins& origins,
                                 const Scenario& scenario) {
  CrashTarget target;
  const HostLayout& hosts = scenario.hosts;
  const int ranks = scenario.known_ranks();
  switch (crash.what_case()) {
    case config::Crash::WHAT_NOT_SET:
      origins.fail(path, "says not what dies; allowed: rank, host, or rack");
    case config::Crash::kRank:
      check_rank(crash.rank(), path, origins, scenario);
      target.ranks.first = static_cast<int>(crash.rank());
      return target;
    case config::Crash::kHost:
      check_index(crash.host(), hosts.hosts_of(ranks), "host", path + ".host", origins, scenario);
      target.domain.kind = DomainKind::kHost;
      target.domain.index = static_cast<int>(crash.host());
      target.ranks = hosts.ranks_of_host(target.domain.index, ranks);
      break;
    case config::Crash::kRack:
      if (hosts.hosts_per_rack == 0) {
        origins.fail(path + ".rack", "found " + std::to_string(crash.rack()) +
                                         ", but there are no racks; allowed: only with cluster.hosts_per_rack");
      }
      check_index(crash.rack(), hosts.racks_of(ranks), "rack", path + ".rack", origins, scenario);
      target.domain.kind = DomainKind::kRack;
      target.domain.index = static_cast<int>(crash.rack());
      target.ranks = hosts.ranks_of_rack(target.domain.index, ranks);
      break;
  }
  if (crash.kind() != config::Crash::HOST) {
    origins.fail(path + ".kind", "found " + config::Crash::Kind_Name(crash.kind()) +
                                     ", but a host or a rack is lost as a whole; allowed: HOST");
  }
  return target;
}

}  // namespace rehearse
