#include "sim/cost/gpu_stack.h"

namespace rehearse {
namespace {

Bandwidth gigabytes(std::int64_t tenths) { return Bandwidth::bits_per_second(tenths * 800'000'000); }
Duration us(std::int64_t hundredths) { return Duration::nanoseconds(hundredths * 10); }
ByProtocol us(std::int64_t ll, std::int64_t ll128, std::int64_t simple) { return {us(ll), us(ll128), us(simple)}; }

// Read: NVIDIA NCCL at 5067397c26, src/graph/topo.h (bandwidth of a link times links of a GPU) and src/graph/tuning.cc
// (everything else that is marked so). Recalled: the same source, from memory. Fitted: to the rows of
// tests/data/published that are for fitting, by tools/validate --fit.
StackConstants make() {
  StackConstants c;
  // Read.
  c.ring_base = us(660, 1400, 840);
  c.tree_base = us(680, 1400, 840);
  c.ring_hop = us(60, 190, 340);
  c.tree_hop = us(60, 125, 400);
  c.ring_net = us(270, 400, 1400);
  c.tree_net = us(500, 850, 1400);
  c.ring_net_floor = us(100, 100, 300);  // on an Intel host
  c.nic_ppm = 960'000;                   // 12.0 GB/s of 100 Gb/s
  c.ll128_ppm = 920'000;
  c.tree_ppm = 920'000;
  // Recalled: LL in trees reaches a 3.8th; the eager limit is that of EFA's plugin; LL of Blackwell is twice Hopper's.
  c.ll_tree_ppm = 263'000;
  c.eager = Bytes(8192);

  auto& a100 = c.generations[static_cast<std::size_t>(GpuGeneration::kAmpere)];
  auto& h100 = c.generations[static_cast<std::size_t>(GpuGeneration::kHopper)];
  auto& b200 = c.generations[static_cast<std::size_t>(GpuGeneration::kBlackwell)];
  auto& rack = c.generations[static_cast<std::size_t>(GpuGeneration::kBlackwellRack)];
  a100.inside = gigabytes(2400);
  h100.inside = gigabytes(3708);
  b200.inside = gigabytes(7218);
  a100.largest_ll = {gigabytes(877), gigabytes(225), gigabytes(190)};
  h100.largest_ll = {gigabytes(1410), gigabytes(450), gigabytes(350)};
  b200.largest_ll = {gigabytes(2820), gigabytes(900), gigabytes(700)};

  // Fitted.
  c.chunk = {Bytes(258'048), Bytes(29'773'824), Bytes(28'954'624)};
  c.in_switch_chunk = Bytes(7'135'232);
  c.ring_step = us(1515);
  c.meeting = us(2400);
  c.copies_ppm = 1'899'000;
  c.script = us(2600);
  a100.launch = us(943);
  h100.launch = us(160);
  b200.launch = us(572);
  h100.in_switch_ppm = 777'000;
  b200.in_switch_ppm = 676'000;
  h100.in_switch_hop = us(671);
  b200.in_switch_hop = us(1346);
  rack = b200;
  rack.in_switch_ppm = 614'000;
  rack.in_switch_hop = us(13'709);
  c.links[static_cast<std::size_t>(HostLink::kEfa1)].added_hop = us(6418);
  c.links[static_cast<std::size_t>(HostLink::kEfa2)].added_hop = us(2257);
  c.links[static_cast<std::size_t>(HostLink::kTcpx)].added_hop = us(27'763);
  c.links[static_cast<std::size_t>(HostLink::kTcpx)].bandwidth_ppm = 537'000;
  c.links[static_cast<std::size_t>(HostLink::kTcpxo)].added_hop = us(2257);
  return c;
}

}  // namespace

const StackConstants& stack_presets() {
  static const StackConstants kPresets = make();
  return kPresets;
}

}  // namespace rehearse
