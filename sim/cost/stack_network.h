#pragma once

#include <memory>

#include "sim/cost/bench_world.h"
#include "sim/cost/gpu_stack.h"
#include "sim/cost/reduction_flow.h"
#include "sim/net/topology.h"

namespace rehearse {

// The networks and graphs that simulate_plan() runs.

// Of hosts whose GPUs have a port each at a switch inside and at one outside.
struct StackLinks {
  LinkSpec inside;
  LinkSpec outside;
};

// GPUs alone; one host has no network outside.
BenchCluster hosts_cluster(const StackSite& site, const StackLinks& links);
// GPUs, then an adder a host that is joined to its GPUs, then, where the network adds, an adder a GPU of a host, joined
// to the GPUs of that place in every host; all are ranks.
BenchCluster adders_cluster(const StackSite& site, const StackLinks& links);

// Chains inside hosts that end at a GPU which is in two binary trees over hosts (core/comm/double_tree.h). One chain
// and two trees a rail, each from another GPU; a segment of `segment` bytes is spread over them.
ReductionFlow tree_flow(const StackSite& site, int rails, Bytes segment);
// Every GPU sends its share of a segment to its host's adder; the adder sends each GPU its part of the sum, which that
// GPU adds over hosts by two binary trees, or by the network's adder, and sends back; the adder sends all parts to all.
ReductionFlow in_switch_flow(const StackSite& site, Bytes segment);

}  // namespace rehearse
