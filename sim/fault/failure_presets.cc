#include "sim/fault/failure_presets.h"

#include <array>

namespace rehearse {
namespace {

// "The Llama 3 Herd of Models", 2024, section 3.3.4 and table 5: pre-training of the 405B model on 16,384 H100 GPUs was
// interrupted unexpectedly 419 times in 54 days. With 8 GPUs a node that is 419 / (54 * 2,048) = 0.00379 failures a
// node and day, or one of the job in 54 * 24 h / 419 = 3.09 h. Weights are the table's counts. The kind is ours, the
// table does not say it: what ends the process that uses the part is a crash, what takes the machine or its network
// away a lost host, and the collective watchdog's a rank that hung.
FailureRate llama3() {
  FailureRate rate;
  rate.per_node_day = 419.0 / (54.0 * 2048.0);
  rate.causes = {
      {"GPU", FailureKind::kProcess, 148},
      {"GPU HBM3 memory", FailureKind::kProcess, 72},
      {"software", FailureKind::kProcess, 54},
      {"network switch or cable", FailureKind::kHost, 35},
      {"host maintenance", FailureKind::kHost, 32},
      {"GPU SRAM memory", FailureKind::kProcess, 19},
      {"GPU system processor", FailureKind::kProcess, 17},
      {"network card", FailureKind::kHost, 7},
      {"collective watchdog", FailureKind::kHang, 7},
      {"silent data corruption", FailureKind::kProcess, 6},
      {"GPU thermal interface or sensor", FailureKind::kProcess, 6},
      {"SSD", FailureKind::kHost, 3},
      {"power supply", FailureKind::kHost, 3},
      {"server chassis", FailureKind::kHost, 2},
      {"IO expansion board", FailureKind::kHost, 2},
      {"dependency", FailureKind::kProcess, 2},
      {"CPU", FailureKind::kHost, 2},
      {"system memory", FailureKind::kHost, 2},
  };
  return rate;
}

// "Revisiting Reliability in Large-Scale Machine Learning Research Clusters", 2024: on RSC-1, 6.5 failures per 1,000
// node-days, nodes of 8 A100 GPUs. That is one in 28.8 h for 1,024 GPUs and one in 1.8 h for 16,384. (For jobs of 1,024
// GPUs the paper also measures 7.9 h; the preset keeps to the rate.)
FailureRate rsc1() {
  FailureRate rate;
  rate.per_node_day = 6.5 / 1000.0;
  rate.causes = {{"node", FailureKind::kHost, 1}};
  return rate;
}

// "OPT: Open Pre-trained Transformer Language Models", 2022, section 2.5, and its logbook: 992 A100 GPUs, 124 nodes of
// 8, lost about two machines a day.
FailureRate opt175b() {
  FailureRate rate;
  rate.per_node_day = 2.0 / 124.0;
  rate.causes = {{"machine", FailureKind::kHost, 1}};
  return rate;
}

struct Preset {
  std::string_view name;
  FailureRate (*make)();
};
constexpr std::array<Preset, 3> kPresets = {Preset{"llama3", llama3}, Preset{"rsc1", rsc1}, Preset{"opt175b", opt175b}};

}  // namespace

bool find_failure_preset(std::string_view name, FailureRate& rate) {
  for (const Preset& preset : kPresets) {
    if (preset.name != name) continue;
    rate = preset.make();
    return true;
  }
  return false;
}

std::vector<std::string> failure_preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

}  // namespace rehearse
