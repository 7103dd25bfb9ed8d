#pragma once

#include <functional>
#include <vector>

#include "sim/net/link_conditions.h"

namespace rehearse {

// Links that a test decides packet by packet. `index` counts what goes over the link, messages and acknowledgements
// each by themselves, from 1.
class ScriptedLinks : public LinkConditions {
 public:
  using Script = std::function<void(const LinkPacket& packet, int index, TimePoint now, PacketFate& fate)>;
  explicit ScriptedLinks(Script script) : script_(std::move(script)) {}

  PacketFate fate_of(const LinkPacket& packet, TimePoint now) override {
    PacketFate fate;
    int& count = counts_[packet.is_ack ? 1 : 0][packet.source][packet.destination];
    script_(packet, ++count, now, fate);
    return fate;
  }

 private:
  Script script_;
  int counts_[2][8][8] = {};
};

}  // namespace rehearse
