#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/units.h"
#include "sim/kernel/kernel.h"
#include "sim/net/fabric.h"

namespace rehearse {

// What is about to leave over a link.
struct LinkPacket {
  LinkPacket(int packet_source, int packet_destination, Bytes packet_size, bool acknowledgement)
      : source(packet_source), destination(packet_destination), size(packet_size), is_ack(acknowledgement) {}
  int source;
  int destination;
  Bytes size;   // of the payload
  bool is_ack;  // of the reliable transport; takes no bandwidth
};

struct PacketFate {
  PathEffect path;
  bool delayed = false;    // by a fault of its own, not by what its link is like
  bool corrupted = false;  // one bit of it is inverted
  std::uint64_t bit = 0;   // which of the payload
};

// What the links are like, for a fabric or a transport to ask. It is asked once for each packet, when the packet is
// handed to its sender's port: that is what counts, not what the link is like when it arrives.
class LinkConditions {
 public:
  virtual ~LinkConditions() = default;
  virtual PacketFate fate_of(const LinkPacket& packet, TimePoint now) = 0;
};

// Links that are slow and lose nothing, before a fabric of whole ones. What can be lost, copied, overtaken or corrupted
// needs a Transport instead.
class SlowLinks : public Fabric {
 public:
  SlowLinks(Kernel& kernel, std::unique_ptr<Fabric> fabric, LinkConditions& conditions)
      : kernel_(kernel), fabric_(std::move(fabric)), conditions_(conditions) {}
  Duration latency() const override { return fabric_->latency(); }

 protected:
  TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) override {
    CHECK(effect == nullptr);
    const PacketFate fate = conditions_.fate_of(LinkPacket(source, destination, bytes, false), kernel_.now());
    CHECK(!fate.path.lost && !fate.path.copied && fate.path.aside == Duration() && !fate.corrupted);
    return fabric_->send(source, destination, bytes, message, fate.path);
  }

 private:
  Kernel& kernel_;
  std::unique_ptr<Fabric> fabric_;
  LinkConditions& conditions_;
};

}  // namespace rehearse
