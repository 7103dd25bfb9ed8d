#include <string>

#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {

void convert_tiers(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  if (!message.checkpoint().has_tiers()) return;
  const config::Tiers& tiers = message.checkpoint().tiers();
  CheckpointConfig& checkpoint = scenario.train.checkpoint;
  if (!checkpoint.any()) {
    origins.fail("checkpoint.tiers", "found without checkpoints; allowed: only with checkpoint.every_steps or every");
  }
  const std::int64_t distance = tiers.replica_distance();
  const int hosts = scenario.hosts.hosts_of(scenario.known_ranks());
  // With one host, the default says as much as 0.
  if (distance >= hosts && distance != 1) {
    origins.fail(
        "checkpoint.tiers.replica_distance",
        "found " + std::to_string(distance) + "; allowed: less than the hosts, which are " + std::to_string(hosts));
  }
  checkpoint.tiers.emplace();
  checkpoint.tiers->upload_every = tiers.upload_every();
  checkpoint.tiers->replica_distance = tiers.replica_distance();
  scenario.local_disk.latency = parse_duration(tiers.local_disk().latency());
  scenario.local_disk.bandwidth = parse_bandwidth(tiers.local_disk().bandwidth());
  if (tiers.local_disk().has_capacity()) scenario.local_disk.capacity = parse_size(tiers.local_disk().capacity());
}

}  // namespace rehearse
