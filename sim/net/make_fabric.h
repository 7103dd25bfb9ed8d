#pragma once

#include <memory>

#include "core/base/random.h"
#include "sim/kernel/kernel.h"
#include "sim/net/config.h"
#include "sim/net/fabric.h"

namespace rehearse {

// The fabric that a network has, for so many ranks: those of the topology where there is one. `stream` is the
// network's. Not for one that is_plain(), whose PortFabric also knows faulty links.
std::unique_ptr<Fabric> make_fabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config, int ranks,
                                    const RandomStream& stream);

}  // namespace rehearse
