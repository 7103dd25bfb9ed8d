#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/communicator.h"

namespace rehearse {

// How long NVIDIA's collective library takes on hosts of GPUs: which algorithm and protocol it runs, with what
// latencies and bandwidths, as a simulation of that algorithm's messages. What is known of the library (its source,
// src/graph/tuning.cc and topo.h) and what is fitted to measurements is told apart in stack_presets.cc.

enum class GpuGeneration : std::uint8_t { kAmpere, kHopper, kBlackwell, kBlackwellRack };
inline constexpr int kGpuGenerations = 4;
enum class HostLink : std::uint8_t { kInfiniBand, kRoce, kEfa1, kEfa2, kTcpx, kTcpxo };
inline constexpr int kHostLinks = 6;
// How the library moves data: words with flags in them, lines of 128 bytes with flags, or buffers with counters.
enum class Protocol : std::uint8_t { kLL, kLL128, kSimple };
inline constexpr int kProtocols = 3;
enum class StackAlgorithm : std::uint8_t { kRing, kTree, kInSwitch };

const char* name_of(GpuGeneration generation);
const char* name_of(HostLink link);
const char* name_of(Protocol protocol);
const char* name_of(StackAlgorithm algorithm);

// A cluster as a measurement names it.
struct StackSite {
  GpuGeneration generation = GpuGeneration::kHopper;
  int hosts = 1;
  int gpus_per_host = 8;
  HostLink link = HostLink::kInfiniBand;  // between hosts
  Bandwidth nic;                          // a GPU's share of its host's line rate; means nothing with one host
  bool in_switch = true;                  // where the generation's switches add
  bool network_adds = false;              // switches between hosts add, too
  bool scripted = false;                  // timed from a Python script

  int gpus() const { return hosts * gpus_per_host; }
};

using ByProtocol = std::array<Duration, kProtocols>;

struct GenerationConstants {
  Bandwidth inside;                     // of a GPU's links to its host's switch, in one direction
  std::array<Bandwidth, 3> largest_ll;  // bus bandwidth of LL: one host, two, more
  Duration launch;                      // a call, beyond the algorithm's own base latency
  std::int64_t in_switch_ppm = 0;       // of `inside` that reaches the adding switch; 0: it does not add
  Duration in_switch_hop;               // from a GPU to the switch's adder or back
};

struct HostLinkConstants {
  std::int64_t bandwidth_ppm = 1'000'000;  // of the line rate, after nic_ppm
  Duration added_hop;                      // of a message, beyond what the library plans with
};

struct StackConstants {
  std::array<GenerationConstants, kGpuGenerations> generations;
  std::array<HostLinkConstants, kHostLinks> links;
  ByProtocol ring_base, tree_base;      // of a call
  ByProtocol ring_hop, tree_hop;        // inside a host
  ByProtocol ring_net, tree_net;        // between hosts
  ByProtocol ring_net_floor;            // of a hop inside, where rings cross between hosts: what their proxies take
  std::array<Bytes, kProtocols> chunk;  // of a pipeline's segment, over all channels
  Bytes in_switch_chunk;                // of a pipeline through one host's switch
  std::int64_t nic_ppm = 0;             // of a port's line rate that the library plans with
  std::int64_t ll128_ppm = 0;           // of a link with LL128
  std::int64_t tree_ppm = 0;            // of a link with trees
  std::int64_t ll_tree_ppm = 0;         // of a link with LL in trees
  Duration ring_step;                   // of each message of a ring with Simple, beyond its hop
  Bytes eager;                          // calls of more bytes meet before they send
  Duration meeting;                     // what that adds to a hop between hosts
  std::int64_t copies_ppm = 0;          // how often a message between hosts is stored whole on its way, beside once
  Duration script;                      // what a Python script's calls take more
};
const StackConstants& stack_presets();

struct StackPlan {
  StackAlgorithm algorithm = StackAlgorithm::kRing;
  Protocol protocol = Protocol::kSimple;
};
// Those that the stack could run.
std::vector<StackPlan> stack_plans(const StackConstants& constants, const StackSite& site, Operation operation);

// One plan's time: launch and base latency, and the simulated messages. all_reduce, reduce_scatter, all_gather, or
// point-to-point, by which every GPU sends to the next one. Requires whole float32 elements.
//
// Pipelines of more than 64 segments are simulated with 48 and with 64 of them and continued: each further one takes a
// 16th of the difference. A test holds that against a whole simulation.
Duration simulate_plan(const StackConstants& constants, const StackSite& site, const StackPlan& plan,
                       Operation operation, Bytes size);

struct StackPrediction {
  StackPlan plan;
  Duration time;
};
// The fastest plan, as the library's tuner would have it if its model were this one.
StackPrediction predict_stack(const StackConstants& constants, const StackSite& site, Operation operation, Bytes size);

}  // namespace rehearse
