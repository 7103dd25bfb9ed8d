#include "sim/net/make_fabric.h"

#include "core/base/check.h"
#include "sim/net/alpha_beta_fabric.h"
#include "sim/net/hop_fabric.h"
#include "sim/net/make_topology.h"
#include "sim/net/max_min_fabric.h"
#include "sim/net/overhead_fabric.h"

namespace rehearse {
namespace {

// Without what messages cost their ends.
std::unique_ptr<Fabric> make_links(Kernel& kernel, FabricListener& listener, const NetworkConfig& config, int ranks,
                                   const RandomStream& stream) {
  if (config.fabric == FabricKind::kIdeal) return std::make_unique<IdealFabric>(kernel, listener);
  std::shared_ptr<const Topology> topology = topology_of(config, ranks);
  CHECK_EQ(topology->ranks(), ranks);
  switch (config.fabric) {
    case FabricKind::kPorts:
      return std::make_unique<HopFabric>(kernel, listener, config, std::move(topology), stream);
    case FabricKind::kMaxMin:
      return std::make_unique<MaxMinFabric>(kernel, listener, config, std::move(topology), stream);
    case FabricKind::kAlphaBeta:
      return std::make_unique<AlphaBetaFabric>(kernel, listener, config, std::move(topology), stream);
    case FabricKind::kIdeal:
      break;
  }
  check_failed(__FILE__, __LINE__, "unknown fabric");
}

}  // namespace

std::unique_ptr<Fabric> make_fabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config, int ranks,
                                    const RandomStream& stream) {
  if (config.overhead == Duration() && config.gap == Duration()) {
    return make_links(kernel, listener, config, ranks, stream);
  }
  auto outer = std::make_unique<OverheadFabric>(kernel, listener, config, ranks);
  outer->set_fabric(make_links(kernel, *outer, config, ranks, stream));
  return outer;
}

}  // namespace rehearse
