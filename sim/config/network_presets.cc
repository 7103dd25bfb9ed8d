#include "sim/config/network_presets.h"

#include <array>

#include "sim/config/origins.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

// Line rates of the links; what protocols above reach of them is less. Latencies where a source has them are those that
// NCCL plans with for one hop of a ring with its LL protocol (NVIDIA NCCL, src/graph/tuning.cc: NVLink 0.6 us, network
// 2.7 us); the others are nominal.
constexpr std::array<NetworkPreset, 10> kPresets = {
    NetworkPreset{"ethernet-100g", "5us", "100Gbps", "", "",
                  "IEEE 802.3 100 Gbit/s; latency nominal for RDMA over one switch"},
    NetworkPreset{"infiniband-hdr", "2.7us", "200Gbps", "", "", "InfiniBand HDR, 4 lanes of 50 Gbit/s; NCCL's latency"},
    NetworkPreset{"infiniband-ndr", "2.7us", "400Gbps", "", "",
                  "InfiniBand NDR, 4 lanes of 100 Gbit/s; NCCL's latency"},
    NetworkPreset{"nvlink3", "2.7us", "200Gbps", "600ns", "2400Gbps",
                  "NVIDIA A100 data sheet: 12 links of 25 GB/s a direction; an HDR port each, as in DGX A100"},
    NetworkPreset{"nvlink4", "2.7us", "400Gbps", "600ns", "3600Gbps",
                  "NVIDIA H100 data sheet: 18 links of 25 GB/s a direction; an NDR port each, as in DGX H100"},
    NetworkPreset{"nvlink5", "2.7us", "400Gbps", "600ns", "7200Gbps",
                  "NVIDIA B200 data sheet: 18 links of 50 GB/s a direction; an NDR port each, as in DGX B200"},
    // What collectives reach on them, as plateaus of nccl-tests show (tests/data/published): a port's 12.0 GB/s of
    // 100 Gbit/s, and of each link what stands in NVIDIA NCCL, src/graph/topo.h.
    NetworkPreset{"nvlink3-effective", "2.7us", "192Gbps", "600ns", "1920Gbps",
                  "NVIDIA NCCL, src/graph/topo.h: 12 links of 20.0 GB/s, 12.0 GB/s of 100 Gbit/s"},
    NetworkPreset{"nvlink4-effective", "2.7us", "384Gbps", "600ns", "2966400Mbps",
                  "NVIDIA NCCL, src/graph/topo.h: 18 links of 20.6 GB/s, 12.0 GB/s of 100 Gbit/s"},
    NetworkPreset{"nvlink5-effective", "2.7us", "384Gbps", "600ns", "5774400Mbps",
                  "NVIDIA NCCL, src/graph/topo.h: 18 links of 40.1 GB/s, 12.0 GB/s of 100 Gbit/s"},
    NetworkPreset{"tcp-lan", "50us", "1Gbps", "", "", "IEEE 802.3ab 1 Gbit/s; latency nominal for TCP over one switch"},
};

}  // namespace

const NetworkPreset* find_network_preset(std::string_view name) {
  for (const NetworkPreset& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::vector<std::string> network_preset_names() {
  std::vector<std::string> names;
  for (const NetworkPreset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

void fill_network_preset(config::Scenario& message, const Origins& origins) {
  if (!message.cluster().network().has_preset()) return;
  config::Network& network = *message.mutable_cluster()->mutable_network();
  const NetworkPreset* preset = find_network_preset(network.preset());
  if (preset == nullptr) {
    origins.fail("cluster.network.preset",
                 "found \"" + network.preset() + "\"; " + suggestion(network.preset(), network_preset_names()));
  }
  const bool may_set_topology = !preset->inside_bandwidth.empty() && !network.has_topology();
  const bool says_something = !network.has_latency() || !network.has_bandwidth() || may_set_topology;
  if (!says_something && origins.where("cluster.network.preset").starts_with("--set ")) {
    origins.fail("cluster.network.preset", "found \"" + network.preset() +
                                               "\" for a network whose numbers are all written, so that nothing of it "
                                               "would count; allowed: to set those numbers");
  }
  if (!network.has_latency()) network.set_latency(canonical_text(parse_duration(preset->latency)));
  if (!network.has_bandwidth()) network.set_bandwidth(canonical_text(parse_bandwidth(preset->bandwidth)));
  if (!may_set_topology) return;
  config::HostNetwork& hosts = *network.mutable_topology()->mutable_hosts();
  const bool known = message.cluster().has_ranks_per_host();
  hosts.set_ranks(known ? message.cluster().ranks_per_host() : kPresetHostRanks);
  hosts.set_latency(canonical_text(parse_duration(preset->inside_latency)));
  hosts.set_bandwidth(canonical_text(parse_bandwidth(preset->inside_bandwidth)));
}

}  // namespace rehearse
