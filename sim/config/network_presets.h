#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rehearse {

namespace config {
class Scenario;
}  // namespace config

class Origins;

// A network by name, in the words of a scenario.
struct NetworkPreset {
  std::string_view name;
  std::string_view latency;
  std::string_view bandwidth;
  // Of the switch inside each host; empty where there are no hosts.
  std::string_view inside_latency;
  std::string_view inside_bandwidth;
  std::string_view source;
};

// Ranks of a host of a preset, unless the cluster says another number.
inline constexpr int kPresetHostRanks = 8;

// Null where there is none of that name.
const NetworkPreset* find_network_preset(std::string_view name);
std::vector<std::string> network_preset_names();

// Writes what cluster.network.preset says into the network's other fields, where they are not written. Before all other
// defaults. Throws InputError for an unknown preset.
void fill_network_preset(config::Scenario& message, const Origins& origins);

}  // namespace rehearse
