#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace rehearse {

struct DevicePreset {
  std::string_view name;
  FlopRate rate;            // float32 peak
  std::string_view source;  // where the number comes from
};

// Null for an unknown name.
const DevicePreset* find_device_preset(std::string_view name);
std::vector<std::string> device_preset_names();

}  // namespace rehearse
