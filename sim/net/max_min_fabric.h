#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "sim/kernel/kernel.h"
#include "sim/net/config.h"
#include "sim/net/fabric.h"
#include "sim/net/fair_share.h"
#include "sim/net/pair_order.h"
#include "sim/net/routes.h"

namespace rehearse {

// Messages share links fairly, as the connections of a network with congestion control do when they have settled: each
// (source, destination) that has something to send is one flow over the links of its route, with its max-min fair rate
// (fair_share.h), and carries its messages one after the other, in order. A message is there when its last byte has
// left the source and the latencies of its route have passed (cut-through). So an idle network takes alpha + t(S), and
// k messages that begin at one moment over one link alpha + k t(S), all of them.
//
// Rates are exact fractions, and so is what is left of a message wherever fewer than 17 share a link (work is counted
// in 1/720,720 of what one bit a second does in a picosecond); else each change of a flow's rate rounds by less than
// one such unit, below a picosecond at any rate from 1 bit/s. The end of a message is rounded up to a picosecond. What
// begins or ends at one moment is solved once. Ends of one moment are in the order in which the flows began.
class MaxMinFabric : public Fabric, private EventSink {
 public:
  // `stream` is the network's.
  MaxMinFabric(Kernel& kernel, FabricListener& listener, const NetworkConfig& config,
               std::shared_ptr<const Topology> topology, const RandomStream& stream);

  Duration latency() const override { return config_.latency; }
  std::span<const LinkLoad> link_loads() const override { return loads_; }
  // How often rates were worked out.
  std::int64_t solutions() const { return solutions_; }

 protected:
  TimePoint start(int source, int destination, Bytes bytes, std::uint64_t message, const PathEffect* effect) override;

 private:
  using Work = unsigned __int128;
  struct Sending {
    std::uint64_t message = 0;
    Bytes bytes;
  };
  // A flow; it has the number that it has in shares_.
  struct Flow {
    int source = 0;
    int destination = 0;
    std::uint64_t order = 0;  // in which flows began
    Duration latency;
    Rate rate;
    Sending sending;  // its first message
    Work left = 0;    // of that, at `since`
    TimePoint since;
    std::vector<Sending> waiting;  // in order, from `first` on
    std::size_t first = 0;
  };
  // Of the heap of flows: earlier ends first, then earlier begun ones.
  struct End {
    TimePoint at;
    std::uint64_t order = 0;
    int flow = 0;
    bool operator<(const End& other) const { return at != other.at ? at < other.at : order < other.order; }
  };
  // By destination, in order: the flows of a source.
  using Flows = std::vector<std::pair<int, int>>;

  int begin_flow(int source, int destination);
  void end_flow(int number);
  // Has the rates be worked out after everything that is to happen at this moment anyway.
  void solve_soon();
  void solve();
  void finish_due();
  // The first message of the flow has left; begins with the next.
  void leave(int number);
  void set_end(int number);
  void collect_due();
  void arm();
  void deliver(const Flow& flow, std::uint64_t message, Duration latency);
  Duration latency_of(std::span<const int> route) const;
  void on_event(std::uint64_t argument) override;

  void put(std::size_t place, const End& end);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);

  Kernel& kernel_;
  FabricListener& listener_;
  NetworkConfig config_;
  std::shared_ptr<const Topology> topology_;
  Routes routes_;
  FairShare shares_;
  PairOrder arrivals_;
  std::vector<Flow> flows_;
  std::vector<Flows> by_source_;
  std::vector<End> heap_;    // four children each
  std::vector<int> places_;  // in it, by flow; -1: not there
  std::vector<End> due_;
  std::vector<std::size_t> due_places_;
  std::vector<int> route_;
  std::vector<LinkLoad> loads_;
  std::vector<TimePoint> busy_since_;  // by link
  std::uint64_t next_order_ = 0;
  std::int64_t solutions_ = 0;
  bool solving_soon_ = false;
  bool armed_ = false;
  TimePoint wakes_;
};

}  // namespace rehearse
