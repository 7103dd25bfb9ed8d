#include "sim/config/device_presets.h"

#include <array>

namespace rehearse {
namespace {

// Peaks of plain float32 multiply-adds, which is what the arithmetic does: TF32 and bf16 tensor cores are faster, with
// fewer bits.
constexpr std::array<DevicePreset, 3> kPresets = {
    DevicePreset{"cpu", FlopRate::per_second(117'000'000'000), "one core with AVX2 at 3.66 GHz, measured"},
    DevicePreset{"a100", FlopRate::per_second(19'500'000'000'000), "NVIDIA A100 datasheet, FP32: 19.5 TFLOPS"},
    DevicePreset{"h100", FlopRate::per_second(67'000'000'000'000), "NVIDIA H100 SXM datasheet, FP32: 67 TFLOPS"},
};

}  // namespace

const DevicePreset* find_device_preset(std::string_view name) {
  for (const DevicePreset& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::vector<std::string> device_preset_names() {
  std::vector<std::string> names;
  for (const DevicePreset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

}  // namespace rehearse
