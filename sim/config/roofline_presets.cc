#include "sim/config/roofline_presets.h"

#include <array>
#include <string>
#include <vector>

#include "sim/config/origins.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

// Peaks and bandwidths are the data sheets': dense, at the boost clock; float32 without tensor cores, float64 with
// them. Tiles of 128 x 256 are the largest that cuBLAS takes, and the most efficient (NVIDIA, Matrix Multiplication
// Background, DU-09799-001, 2.3). `fill` is nominal: two steps of the inner loop of a tile. `efficiency` is fitted, per
// device to one figure: the largest rate that a search over shapes found for bfloat16 (ml-engineering,
// compute/accelerator, maximum achievable matmul), which comes out exactly:
//   a100   271.2 of 312 TFLOPS at (1024, 10240, 5120):  320 tiles in 3 waves of 108,  5120 of 5184 in k
//   h100   794.5 of 989 TFLOPS at (2048, 2048, 13312):  128 tiles in 1 wave of 132,  13312 of 13376 in k
// launch_overhead is nominal: about what small kernels of one stream stand apart when launches run ahead of them.
constexpr std::array<RooflinePreset, 4> kPresets = {
    RooflinePreset{"cpu", "117GFLOPS", "58.5GFLOPS", "", "25.6GB/s", "0ps", 0.82, 1, 1, 1, 0,
                   "one core with AVX2 at 3.66 GHz, of which products (64, 96, 32) reach 96 GFLOPS, both measured; one "
                   "channel of DDR4-3200 (JEDEC JESD79-4)"},
    RooflinePreset{"a100", "19.5TFLOPS", "19.5TFLOPS", "312TFLOPS", "2039GB/s", "1us", 0.891097, 108, 128, 256, 64,
                   "NVIDIA A100 80GB SXM data sheet"},
    RooflinePreset{"h100", "67TFLOPS", "67TFLOPS", "989TFLOPS", "3350GB/s", "1us", 0.832424, 132, 128, 256, 64,
                   "NVIDIA H100 SXM data sheet"},
    RooflinePreset{"h200", "67TFLOPS", "67TFLOPS", "989TFLOPS", "4800GB/s", "1us", 0.832424, 132, 128, 256, 64,
                   "NVIDIA H200 SXM data sheet; products as on the H100"},
};

}  // namespace

const RooflinePreset* find_roofline_preset(std::string_view name) {
  for (const RooflinePreset& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

void fill_roofline_preset(config::Scenario& message, const Origins& origins) {
  if (!message.cluster().device().roofline().has_preset()) return;
  config::Roofline& roofline = *message.mutable_cluster()->mutable_device()->mutable_roofline();
  const RooflinePreset* preset = find_roofline_preset(roofline.preset());
  if (preset == nullptr) {
    std::vector<std::string> names;
    for (const RooflinePreset& one : kPresets) names.emplace_back(one.name);
    origins.fail("cluster.device.roofline.preset",
                 "found \"" + roofline.preset() + "\"; " + suggestion(roofline.preset(), names));
  }
  const bool half = preset->half.empty() || (roofline.has_bfloat16() && roofline.has_float16());
  const bool says_nothing = half && roofline.has_float32() && roofline.has_float64() &&
                            roofline.has_memory_bandwidth() && roofline.has_launch_overhead() &&
                            roofline.has_efficiency() && roofline.has_multiprocessors() && roofline.has_tile_m() &&
                            roofline.has_tile_n() && roofline.has_fill();
  if (says_nothing && origins.where("cluster.device.roofline.preset").starts_with("--set ")) {
    origins.fail("cluster.device.roofline.preset",
                 "found \"" + roofline.preset() +
                     "\" for a roofline whose numbers are all written, so that nothing of it would count; allowed: to "
                     "set those numbers");
  }
  const auto rate = [](std::string_view text) { return canonical_text(parse_flop_rate(text)); };
  if (!roofline.has_float32()) roofline.set_float32(rate(preset->float32));
  if (!roofline.has_float64()) roofline.set_float64(rate(preset->float64));
  if (!roofline.has_bfloat16() && !preset->half.empty()) roofline.set_bfloat16(rate(preset->half));
  if (!roofline.has_float16() && !preset->half.empty()) roofline.set_float16(rate(preset->half));
  if (!roofline.has_memory_bandwidth()) {
    roofline.set_memory_bandwidth(canonical_text(parse_bandwidth(preset->memory_bandwidth)));
  }
  if (!roofline.has_launch_overhead()) {
    roofline.set_launch_overhead(canonical_text(parse_duration(preset->launch_overhead)));
  }
  if (!roofline.has_efficiency()) roofline.set_efficiency(preset->efficiency);
  if (!roofline.has_multiprocessors()) roofline.set_multiprocessors(preset->multiprocessors);
  if (!roofline.has_tile_m()) roofline.set_tile_m(preset->tile_m);
  if (!roofline.has_tile_n()) roofline.set_tile_n(preset->tile_n);
  if (!roofline.has_fill()) roofline.set_fill(preset->fill);
}

}  // namespace rehearse
