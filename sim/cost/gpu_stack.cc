#include "sim/cost/gpu_stack.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/comm/process_group.h"
#include "sim/cost/rail_rings.h"
#include "sim/cost/stack_network.h"

namespace rehearse {
namespace {

constexpr std::int64_t kElement = 4;
constexpr int kMostRails = 8;
constexpr int kMostSegments = 64;
constexpr int kFewerSegments = 48;
// Rings and chains of more GPUs are not tried: their latencies alone are those of thousands of hops.
constexpr int kMostGpusInLine = 256;

std::size_t at(Protocol protocol) { return static_cast<std::size_t>(protocol); }

Bandwidth scaled(Bandwidth bandwidth, std::int64_t ppm) {
  const __int128 product = static_cast<__int128>(bandwidth.bits_per_second()) * ppm / 1'000'000;
  return Bandwidth::bits_per_second(std::max<std::int64_t>(1, static_cast<std::int64_t>(product)));
}
Bandwidth divided(Bandwidth bandwidth, std::int64_t parts) {
  return Bandwidth::bits_per_second(std::max<std::int64_t>(1, bandwidth.bits_per_second() / parts));
}
Duration scaled(Duration time, std::int64_t ppm) {
  return Duration::picoseconds(static_cast<std::int64_t>(static_cast<__int128>(time.ps()) * ppm / 1'000'000));
}

Bytes part_of(Bytes whole, std::int64_t parts) { return Bytes((whole.count() + parts - 1) / parts); }

// One plan of one call, with what its messages find.
class PlanRun {
 public:
  PlanRun(const StackConstants& constants, const StackSite& site, const StackPlan& plan, Operation operation,
          Bytes size)
      : constants_(constants),
        generation_(constants.generations[static_cast<std::size_t>(site.generation)]),
        link_(constants.links[static_cast<std::size_t>(site.link)]),
        site_(site),
        plan_(plan),
        operation_(operation),
        size_(size),
        rails_(site.hosts == 1 ? 1 : std::min(site.gpus_per_host, kMostRails)) {}

  Duration time() const {
    Duration time = generation_.launch + (site_.scripted ? constants_.script : Duration());
    switch (plan_.algorithm) {
      case StackAlgorithm::kRing:
        return time + constants_.ring_base[at(plan_.protocol)] + ring_messages();
      case StackAlgorithm::kTree:
        return time + constants_.tree_base[at(plan_.protocol)] + tree_messages();
      case StackAlgorithm::kInSwitch:
        return time + constants_.tree_base[at(plan_.protocol)] + in_switch_messages();
    }
    check_failed(__FILE__, __LINE__, "unknown algorithm");
  }

 private:
  // A port to other hosts, for the rails that share the GPUs' ports.
  Bandwidth port() const {
    const Bandwidth planned = scaled(scaled(site_.nic, constants_.nic_ppm), link_.bandwidth_ppm);
    return scaled(planned, std::int64_t{1'000'000} * site_.gpus_per_host / rails_);
  }
  // A port's link, over which messages of `message` bytes go.
  LinkSpec between_hosts(Duration hop, Bandwidth bandwidth, Bytes message) const {
    Duration latency = hop + link_.added_hop;
    if (size_ > constants_.eager) latency = latency + constants_.meeting;
    return LinkSpec(latency + scaled(transfer_time(message, bandwidth), constants_.copies_ppm), bandwidth);
  }
  Bandwidth largest_ll() const {
    return generation_.largest_ll[static_cast<std::size_t>(std::min(site_.hosts, 3) - 1)];
  }

  // The bus bandwidth of a ring is what goes through a GPU's link inside, and over all rails between hosts.
  StackLinks ring_links() const {
    Bandwidth inside = generation_.inside;
    Bandwidth outside = port();
    switch (plan_.protocol) {
      case Protocol::kLL:
        inside = std::min(divided(inside, 2), largest_ll());
        outside = std::min(divided(outside, 2), divided(largest_ll(), rails_));
        break;
      case Protocol::kLL128:
        inside = scaled(inside, constants_.ll128_ppm);
        outside = scaled(outside, constants_.ll128_ppm);
        break;
      case Protocol::kSimple:
        break;
    }
    Duration hop = constants_.ring_hop[at(plan_.protocol)];
    if (site_.hosts > 1) hop = std::max(hop, constants_.ring_net_floor[at(plan_.protocol)]);
    if (plan_.protocol == Protocol::kSimple) hop = hop + constants_.ring_step;
    StackLinks links;
    links.inside = LinkSpec(hop, inside);
    // A message of the ring goes in slices as large as a pipeline's.
    const Bytes message = std::min(part_of(size_, std::int64_t{site_.gpus()} * rails_),
                                   part_of(constants_.chunk[at(plan_.protocol)], std::int64_t{2} * rails_));
    if (site_.hosts > 1) {
      links.outside = between_hosts(constants_.ring_net[at(plan_.protocol)], outside, message);
    }
    return links;
  }

  Duration ring_messages() const {
    RailRings rings;
    rings.ranks_per_host = site_.gpus_per_host;
    rings.rails = rails_;
    const std::int64_t elements = size_.count() / kElement;
    const auto program = [&](RankContext& context) { return run_rail_rings(context, rings, operation_, elements); };
    return run_bench(hosts_cluster(site_, ring_links()), program).time;
  }

  Duration tree_messages() const {
    Bandwidth inside = generation_.inside;
    Bandwidth outside = port();
    if (plan_.protocol == Protocol::kLL) {
      inside = std::min(scaled(inside, constants_.ll_tree_ppm), largest_ll());
      outside = divided(outside, 2);
    } else {
      inside = scaled(inside, constants_.tree_ppm);
      outside = scaled(outside, constants_.tree_ppm);
    }
    StackLinks links;
    links.inside = LinkSpec(constants_.tree_hop[at(plan_.protocol)], inside);
    const Bytes chunk = constants_.chunk[at(plan_.protocol)];
    links.outside = between_hosts(constants_.tree_net[at(plan_.protocol)], outside,
                                  part_of(segment_of(chunk), std::int64_t{2} * rails_));
    return pipeline(hosts_cluster(site_, links), tree_flow(site_, rails_, segment_of(chunk)), segments_of(chunk));
  }

  Duration in_switch_messages() const {
    const Bytes chunk = site_.hosts > 1 ? constants_.chunk[at(plan_.protocol)] : constants_.in_switch_chunk;
    StackLinks links;
    links.inside = LinkSpec(generation_.in_switch_hop, scaled(generation_.inside, generation_.in_switch_ppm));
    if (site_.hosts > 1) {
      const Bandwidth each = scaled(scaled(site_.nic, constants_.nic_ppm), link_.bandwidth_ppm);
      links.outside = between_hosts(constants_.tree_net[at(plan_.protocol)], each,
                                    part_of(segment_of(chunk), std::int64_t{2} * site_.gpus_per_host));
    }
    return pipeline(adders_cluster(site_, links), in_switch_flow(site_, segment_of(chunk)), segments_of(chunk));
  }

  // All of size_ is cut into equal segments of at most `chunk`.
  std::int64_t segments_of(Bytes chunk) const {
    return std::max<std::int64_t>(1, (size_.count() + chunk.count() - 1) / chunk.count());
  }
  Bytes segment_of(Bytes chunk) const { return part_of(size_, segments_of(chunk)); }

  static Duration pipeline(const BenchCluster& cluster, const ReductionFlow& flow, std::int64_t segments) {
    const auto run = [&](std::int64_t count) {
      return run_bench(cluster, [&](RankContext& context) { return flow.run(context, static_cast<int>(count)); }).time;
    };
    if (segments <= kMostSegments) return run(segments);
    const Duration whole = run(kMostSegments);
    const Duration before = run(kFewerSegments);
    const __int128 step = static_cast<__int128>((whole - before).ps()) * (segments - kMostSegments);
    return whole + Duration::picoseconds(static_cast<std::int64_t>(step / (kMostSegments - kFewerSegments)));
  }

  const StackConstants& constants_;
  const GenerationConstants& generation_;
  const HostLinkConstants& link_;
  const StackSite& site_;
  StackPlan plan_;
  Operation operation_;
  Bytes size_;
  int rails_;
};

// Every GPU sends `size` to the next one of its host, and hears from the one before.
Task<> send_on(RankContext& context, Bytes size) {
  ProcessGroup world = ProcessGroup::world(context);
  const int ranks = world.size();
  const Call call(world.group(), 0, Operation::kPointToPoint);
  Payload payload = Payload::shape_only(size);
  co_await context.comm().exchange(call, (world.rank() + 1) % ranks, std::move(payload),
                                   (world.rank() + ranks - 1) % ranks);
}

}  // namespace

const char* name_of(GpuGeneration generation) {
  switch (generation) {
    case GpuGeneration::kAmpere:
      return "A100";
    case GpuGeneration::kHopper:
      return "H100";
    case GpuGeneration::kBlackwell:
      return "B200";
    case GpuGeneration::kBlackwellRack:
      return "GB200 rack";
  }
  check_failed(__FILE__, __LINE__, "unknown generation");
}

const char* name_of(HostLink link) {
  switch (link) {
    case HostLink::kInfiniBand:
      return "InfiniBand";
    case HostLink::kRoce:
      return "RoCE";
    case HostLink::kEfa1:
      return "EFA v1";
    case HostLink::kEfa2:
      return "EFA v2";
    case HostLink::kTcpx:
      return "TCPX";
    case HostLink::kTcpxo:
      return "TCPXO";
  }
  check_failed(__FILE__, __LINE__, "unknown link");
}

const char* name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLL:
      return "LL";
    case Protocol::kLL128:
      return "LL128";
    case Protocol::kSimple:
      return "Simple";
  }
  check_failed(__FILE__, __LINE__, "unknown protocol");
}

const char* name_of(StackAlgorithm algorithm) {
  switch (algorithm) {
    case StackAlgorithm::kRing:
      return "ring";
    case StackAlgorithm::kTree:
      return "tree";
    case StackAlgorithm::kInSwitch:
      return "in-switch";
  }
  check_failed(__FILE__, __LINE__, "unknown algorithm");
}

std::vector<StackPlan> stack_plans(const StackConstants& constants, const StackSite& site, Operation operation) {
  std::vector<StackPlan> plans;
  const bool in_line = site.gpus() <= kMostGpusInLine;
  for (const Protocol protocol : {Protocol::kLL, Protocol::kLL128, Protocol::kSimple}) {
    if (operation == Operation::kPointToPoint) continue;
    if (in_line) plans.push_back(StackPlan{StackAlgorithm::kRing, protocol});
    if (in_line && operation == Operation::kAllReduce && site.hosts > 1) {
      plans.push_back(StackPlan{StackAlgorithm::kTree, protocol});
    }
  }
  const GenerationConstants& generation = constants.generations[static_cast<std::size_t>(site.generation)];
  if (operation == Operation::kAllReduce && site.in_switch && generation.in_switch_ppm > 0) {
    plans.push_back(StackPlan{StackAlgorithm::kInSwitch, Protocol::kSimple});
  }
  if (operation == Operation::kPointToPoint) plans.push_back(StackPlan{StackAlgorithm::kRing, Protocol::kSimple});
  return plans;
}

Duration simulate_plan(const StackConstants& constants, const StackSite& site, const StackPlan& plan,
                       Operation operation, Bytes size) {
  CHECK_EQ(size.count() % kElement, 0);
  CHECK_GE(site.hosts, 1);
  CHECK_GE(site.gpus_per_host, 1);
  if (operation != Operation::kPointToPoint) return PlanRun(constants, site, plan, operation, size).time();
  const GenerationConstants& generation = constants.generations[static_cast<std::size_t>(site.generation)];
  StackSite host = site;
  host.hosts = 1;
  StackLinks links;
  links.inside = LinkSpec(constants.ring_hop[at(Protocol::kSimple)], generation.inside);
  const BenchRun run =
      run_bench(hosts_cluster(host, links), [size](RankContext& context) { return send_on(context, size); });
  return generation.launch + constants.ring_base[at(Protocol::kSimple)] + run.time;
}

StackPrediction predict_stack(const StackConstants& constants, const StackSite& site, Operation operation, Bytes size) {
  const std::vector<StackPlan> plans = stack_plans(constants, site, operation);
  CHECK(!plans.empty());
  StackPrediction best;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Duration time = simulate_plan(constants, site, plans[i], operation, size);
    if (i == 0 || time < best.time) best = StackPrediction{plans[i], time};
  }
  return best;
}

}  // namespace rehearse
