#include "core/base/check.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

RecoveryMode convert_mode(config::Recovery::Mode mode) {
  switch (mode) {
    case config::Recovery::RESTART:
      return RecoveryMode::kRestart;
    case config::Recovery::ELASTIC:
      return RecoveryMode::kElastic;
  }
  check_failed(__FILE__, __LINE__, "a mode that the schema does not have");
}

// Expectations that are of one number of ranks, and networks in which ranks have places of their own.
void check_elastic(const config::Scenario& message, const Origins& origins) {
  const config::Topology& topology = message.cluster().network().topology();
  const bool alike = !topology.has_ring() && !topology.has_torus() && !topology.has_leaf_spine() &&
                     !topology.has_graph() && !topology.has_hosts();
  if (!alike) {
    origins.fail(
        "recovery.mode",
        "found ELASTIC with a topology in which ranks have places, and those that are left would take those of "
        "others; allowed: ELASTIC with one switch or a full mesh");
  }
  const config::Expect& expect = message.expect();
  const auto refuse = [&origins](const char* field) {
    origins.fail(field, "found with recovery.mode ELASTIC; allowed: only where the number of ranks stays");
  };
  if (expect.has_resume_from()) refuse("expect.resume_from");
  if (expect.has_max_accumulation_difference()) refuse("expect.max_accumulation_difference");
}

}  // namespace

void convert_recovery(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const config::Recovery& recovery = message.recovery();
  RecoveryConfig& out = scenario.recovery;
  out.max_restarts = static_cast<int>(recovery.max_restarts());
  out.restart_delay = parse_duration(recovery.restart_delay());
  out.heartbeat_timeout = parse_duration(recovery.heartbeat_timeout());
  out.collective_timeout = parse_duration(recovery.collective_timeout());
  if (recovery.has_rendezvous_timeout()) out.rendezvous_timeout = parse_duration(recovery.rendezvous_timeout());
  out.heartbeat_interval = Duration::picoseconds(out.heartbeat_timeout.ps() / 3);
  if (recovery.has_heartbeat_interval()) {
    out.heartbeat_interval = parse_duration(recovery.heartbeat_interval());
    if (out.heartbeat_interval > out.heartbeat_timeout) {
      origins.fail("recovery.heartbeat_interval", "found \"" + recovery.heartbeat_interval() +
                                                      "\"; allowed: at most heartbeat_timeout, which is \"" +
                                                      recovery.heartbeat_timeout() + "\"");
    }
  }
  if (out.heartbeat_timeout < scenario.network.latency) {
    origins.fail("recovery.heartbeat_timeout", "found \"" + recovery.heartbeat_timeout() +
                                                   "\"; allowed: at least the latency, in which a heartbeat comes, " +
                                                   to_string(scenario.network.latency));
  }
  if (recovery.has_mode()) out.mode = convert_mode(recovery.mode());
  const std::int64_t planned = scenario.train.data_ranks;
  if (out.mode == RecoveryMode::kElastic && planned > 0 && planned < scenario.ranks) {
    origins.fail("train.data_ranks", "found " + std::to_string(planned) +
                                         " with recovery.mode ELASTIC; allowed: at least cluster.ranks, which is " +
                                         std::to_string(scenario.ranks));
  }
  if (recovery.has_spares()) out.spares = static_cast<int>(recovery.spares());
  if (out.mode == RecoveryMode::kElastic) check_elastic(message, origins);
  if (!recovery.has_min_ranks()) return;
  if (out.mode != RecoveryMode::kElastic) {
    origins.fail("recovery.min_ranks", "found " + std::to_string(recovery.min_ranks()) +
                                           " without fewer ranks ever being taken; allowed: only with mode ELASTIC");
  }
  if (recovery.min_ranks() > scenario.known_ranks()) {
    origins.fail("recovery.min_ranks", "found " + std::to_string(recovery.min_ranks()) +
                                           "; allowed: at most the ranks that the job has, " +
                                           std::to_string(scenario.known_ranks()));
  }
  out.min_ranks = static_cast<int>(recovery.min_ranks());
}

}  // namespace rehearse
