#include <numeric>
#include <set>

#include "core/base/check.h"
#include "sim/config/convert.h"
#include "sim/config/device_presets.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

RankSlowdown convert_slowdown(const config::Slowdown& slowdown, const std::string& path, const Origins& origins) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  const std::optional<std::int64_t> billionths = to_billionths(slowdown.factor());
  if (!billionths) origins.fail(path + ".factor", "found more than 9 decimals; allowed: at most 9");
  const std::int64_t common = std::gcd(*billionths, kBillion);
  return RankSlowdown{static_cast<int>(slowdown.rank()), *billionths / common, kBillion / common};
}

// A peak or bandwidth that is missing.
[[noreturn]] void missing(const std::string& field, const std::string& why, const Origins& origins) {
  origins.fail("cluster.device.roofline." + field, "missing" + why);
}

void check_peaks(const config::Roofline& roofline, const config::Scenario& message, const Origins& origins) {
  if (!roofline.has_float32())
    missing("float32", "; allowed: a flop rate such as \"19.5TFLOPS\", or a preset", origins);
  const std::string type = config::Model::DType_Name(message.model().dtype());
  const std::string why = ", but model.dtype is " + type + "; allowed: a flop rate such as \"312TFLOPS\"";
  switch (message.model().dtype()) {
    case config::Model::FLOAT32:
      return;
    case config::Model::FLOAT64:
      if (!roofline.has_float64()) missing("float64", why, origins);
      return;
    case config::Model::BFLOAT16:
      if (!roofline.has_bfloat16()) missing("bfloat16", why, origins);
      return;
    case config::Model::FLOAT16:
      if (!roofline.has_float16()) missing("float16", why, origins);
      return;
  }
}

Roofline convert_roofline(const config::Scenario& message, const Origins& origins) {
  const config::Roofline& from = message.cluster().device().roofline();
  check_peaks(from, message, origins);
  if (!from.has_memory_bandwidth()) {
    missing("memory_bandwidth", "; allowed: a bandwidth such as \"2039GB/s\", or a preset", origins);
  }
  Roofline roofline;
  if (from.has_float32()) roofline.float32 = parse_flop_rate(from.float32());
  if (from.has_float64()) roofline.float64 = parse_flop_rate(from.float64());
  if (from.has_bfloat16()) roofline.bfloat16 = parse_flop_rate(from.bfloat16());
  if (from.has_float16()) roofline.float16 = parse_flop_rate(from.float16());
  roofline.memory_bandwidth = parse_bandwidth(from.memory_bandwidth());
  if (from.has_launch_overhead()) roofline.launch_overhead = parse_duration(from.launch_overhead());
  if (from.has_efficiency()) {
    const std::optional<std::int64_t> billionths = to_billionths(from.efficiency());
    if (!billionths) {
      origins.fail("cluster.device.roofline.efficiency", "found more than 9 decimals; allowed: at most 9");
    }
    roofline.efficiency_billionths = *billionths;
  }
  if (from.has_multiprocessors()) roofline.multiprocessors = from.multiprocessors();
  if (from.has_tile_m()) roofline.tile_m = from.tile_m();
  if (from.has_tile_n()) roofline.tile_n = from.tile_n();
  if (from.has_fill()) roofline.fill = from.fill();
  return roofline;
}

void convert_speed(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const config::Device& device = message.cluster().device();
  if (device.has_roofline()) {
    scenario.device.roofline = convert_roofline(message, origins);
    scenario.device.rate = scenario.device.roofline->float32;
    scenario.device_name =
        device.roofline().has_preset() ? device.roofline().preset() + " with a roofline" : "roofline";
  } else if (device.has_flops()) {
    scenario.device.rate = parse_flop_rate(device.flops());
    scenario.device_name = device.flops();
  } else {
    const DevicePreset* preset = find_device_preset(device.preset());
    if (preset == nullptr) {
      origins.fail("cluster.device.preset",
                   "found \"" + device.preset() + "\"; " + suggestion(device.preset(), device_preset_names()));
    }
    scenario.device.rate = preset->rate;
    scenario.device_name = device.preset();
  }
}

}  // namespace

void convert_device(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  convert_speed(message, origins, scenario);
  const config::Device& device = message.cluster().device();
  std::set<std::int64_t> seen;
  for (int i = 0; i < device.slowdown_size(); ++i) {
    const config::Slowdown& slowdown = device.slowdown(i);
    const std::string path = "cluster.device.slowdown[" + std::to_string(i) + "]";
    if (slowdown.rank() >= scenario.known_ranks()) {
      origins.fail(path + ".rank",
                   "found " + std::to_string(slowdown.rank()) + "; allowed: " + scenario.allowed_ranks());
    }
    if (!seen.insert(slowdown.rank()).second) {
      origins.fail(path + ".rank", "found rank " + std::to_string(slowdown.rank()) +
                                       " a second time; allowed: one slowdown for each rank");
    }
    scenario.device.slowdowns.push_back(convert_slowdown(slowdown, path, origins));
  }
}

}  // namespace rehearse
