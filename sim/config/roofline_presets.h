#pragma once

#include <cstdint>
#include <string_view>

namespace rehearse {

namespace config {
class Scenario;
}  // namespace config

class Origins;

// A device by name, in the words of a scenario; an empty text where the device has none of that type.
struct RooflinePreset {
  std::string_view name;
  std::string_view float32;
  std::string_view float64;
  std::string_view half;  // bfloat16 and float16, dense
  std::string_view memory_bandwidth;
  std::string_view launch_overhead;
  double efficiency;
  std::int64_t multiprocessors;
  std::int64_t tile_m;
  std::int64_t tile_n;
  std::int64_t fill;
  std::string_view source;
};

// Null where there is none of that name.
const RooflinePreset* find_roofline_preset(std::string_view name);

// Writes what cluster.device.roofline.preset says into the roofline's other fields, where they are not written. Before
// all other defaults. Throws InputError for an unknown preset.
void fill_roofline_preset(config::Scenario& message, const Origins& origins);

}  // namespace rehearse
