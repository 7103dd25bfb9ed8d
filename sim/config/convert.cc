#include "sim/config/convert.h"

#include "sim/config/scenario.pb.h"

namespace rehearse {
namespace {

void check_name(const std::string& name, const Origins& origins) {
  const bool valid =
      name.size() <= 100 && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
  if (!valid) {
    origins.fail("name", "found \"" + name + "\"; allowed: at most 100 lower-case letters, digits, - and _");
  }
}

}  // namespace

Scenario convert(const config::Scenario& message, const NamedFiles& files, const Origins& origins) {
  check_name(message.name(), origins);
  Scenario scenario;
  scenario.name = message.name();
  scenario.seed = message.seed();
  scenario.cost_only = message.mode() == config::Scenario::COST;
  if (scenario.cost_only && message.has_job()) {
    origins.fail("mode", "found COST beside a job, which computes nothing; allowed: only with model, data and train");
  }
  convert_cluster(message, origins, scenario);
  convert_device(message, origins, scenario);
  if (message.has_job()) {
    convert_job(message, origins, scenario);
  } else {
    convert_model(message, files, origins, scenario);
    convert_train(message, files, origins, scenario);
    convert_collectives(message, origins, scenario);
    convert_tiers(message, origins, scenario);
  }
  convert_faults(message, origins, scenario);
  convert_recovery(message, origins, scenario);
  convert_storage_faults(message, origins, scenario);
  convert_network_faults(message, origins, scenario);
  convert_supervisor_links(message, origins, scenario);
  convert_rates(message, origins, scenario);
  convert_expect(message, files, origins, scenario);
  return scenario;
}

}  // namespace rehearse
