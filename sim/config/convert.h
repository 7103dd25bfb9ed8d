#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/config/origins.h"
#include "sim/config/scenario.h"

namespace rehearse {

namespace config {
class At;
class Crash;
class Scenario;
}  // namespace config

// What a scenario's fields name outside of it, already read.
struct NamedFiles {
  std::map<std::string, InputFile> inputs;  // by path of the field: "data.text_file"
  std::optional<WeightsReference> weights;  // expect.same_weights_as
};

// The plain structs of a message that is complete (defaults filled in, every single field within its rule). Checks what
// takes more than one field to see, and the data, and throws InputError at the field that is wrong. Leaves the texts
// and hashes of the result empty.
Scenario convert(const config::Scenario& message, const NamedFiles& files, const Origins& origins);

// Elements of one tensor, or of all parameters of a model: more could not be counted in bytes everywhere below.
inline constexpr __int128 kMostElements = __int128{1} << 40;

// The parts, each in a file of its own; `convert` calls them in this order.
void convert_cluster(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_device(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_model(const config::Scenario& message, const NamedFiles& files, const Origins& origins,
                   Scenario& scenario);
// After convert_model.
void convert_train(const config::Scenario& message, const NamedFiles& files, const Origins& origins,
                   Scenario& scenario);
// After convert_train.
void convert_collectives(const config::Scenario& message, const Origins& origins, Scenario& scenario);
// Writes the algorithms that convert_collectives has picked in the place of AUTO.
void write_picked(const Scenario& scenario, config::Scenario& message);
void convert_tiers(const config::Scenario& message, const Origins& origins, Scenario& scenario);
// Instead of these three where the scenario has a job: it, and that nothing stands beside it that a
// job has not.
void convert_job(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_faults(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_recovery(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_storage_faults(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_network_faults(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_supervisor_links(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_rates(const config::Scenario& message, const Origins& origins, Scenario& scenario);
void convert_expect(const config::Scenario& message, const NamedFiles& files, const Origins& origins,
                    Scenario& scenario);

// The fabric and the topology of the network; part of convert_cluster.
void convert_topology(const config::Scenario& message, const Origins& origins, Scenario& scenario);
// Throws InputError where links are to fail, or a transport is written, and the network has other links than those.
void check_links_can_fail(const config::Scenario& message, const Origins& origins, const Scenario& scenario);

// What `crash` says of unsynced operations.
PowerLoss convert_host_loss(const config::Crash& crash, const std::string& path, const Origins& origins);

}  // namespace rehearse
