#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "sim/kernel/kernel.h"
#include "sim/net/config.h"
#include "sim/net/fabric.h"

namespace rehearse {

// What the messages of a link took that came over it, from the first byte's departure to the last one's arrival at an
// idle port, and what they would have taken on a whole link.
struct LinkTimes {
  std::int64_t slow_messages = 0;
  double seconds = 0;
  double seconds_on_whole_link = 0;
};

// A switch whose ranks have one full-duplex port each. A message of S bytes holds its sender's port for t(S), from when
// the port is free; its first byte reaches the receiver's port alpha later, waits there for messages that came before,
// and holds it for t(S) (cut-through: the two overlap). So an idle network takes alpha + t(S), a ring of exchanges on
// the switch is not slowed, and an incast of k senders takes alpha + k t(S). Receivers serve messages in the order of
// their first bytes, ties in the order they were sent.
//
// Jitter adds a seeded uniform draw from [0, jitter] to alpha, one a message, from a stream of its source; it
// belongs to the sender's path: messages of one sender do not overtake each other.
//
// A disturbed link (PathEffect) is that of one sender and one receiver, and keeps its order: what is added to a message
// those behind it on the link wait for, on an undisturbed way too; only what is set aside is overtaken. At a lower
// bandwidth a message holds both ports longer. What is lost holds its sender's port and never reaches the receiver's; a
// copy made under way holds the receiver's alone.
class PortFabric : public Fabric, private EventSink {
 public:
  PortFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config, int ranks,
             const RandomStream& stream);

  Duration latency() const override { return config_.latency; }

  // Of links, by source and destination, whose conditions were asked for.
  const std::map<std::pair<int, int>, LinkTimes>& link_times() const { return link_times_; }

 protected:
  TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) override;

 private:
  Bandwidth bandwidth_of(const PathEffect& effect) const;
  // When a message's first byte is at the receiver's port that would be there at `arrival` if the link were whole.
  TimePoint over_link(int source, int destination, TimePoint arrival, const PathEffect* effect);
  void count(int source, int destination, Bytes bytes, Duration transfer, const PathEffect& effect);
  // Has the message's first byte be at the receiver's port at `arrival`.
  void launch(TimePoint arrival, int destination, Duration transfer, std::uint64_t message);
  // Reserves the receiver's port for a message whose first byte is there at `arrival`, and schedules its delivery.
  void reserve(int destination, TimePoint arrival, Duration transfer, std::uint64_t message);
  void on_event(std::uint64_t argument) override;
  void expect(std::uint64_t argument) const override;

  struct Port {
    TimePoint send_free;
    TimePoint receive_free;
    TimePoint last_arrival;       // of this rank's own messages, anywhere
    std::int64_t unreserved = 0;  // messages on their way here that have not reached the port
  };
  struct Underway {
    int destination;
    Duration transfer;
    std::uint64_t message;
  };

  Kernel& kernel_;
  FabricListener& listener_;
  NetworkConfig config_;
  std::vector<RandomStream> jitter_;  // by source
  std::vector<Port> ports_;
  std::vector<Underway> underway_;  // slots
  std::vector<std::uint32_t> free_underway_;
  std::map<std::pair<int, int>, TimePoint> last_on_link_;  // arrivals on links that were ever slowed
  std::map<std::pair<int, int>, LinkTimes> link_times_;
};

}  // namespace rehearse
