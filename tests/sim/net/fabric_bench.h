#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/kernel/kernel.h"
#include "sim/net/fabric.h"

namespace rehearse {

// A transfer that a test has a fabric do; times in ps.
struct Transfer {
  std::int64_t at = 0;
  int source = 0;
  int destination = 0;
  std::int64_t bytes = 0;
};

// Sends a list of transfers through a fabric and notes when each has left and when it is there.
class FabricBench : public FabricListener, private EventSink {
 public:
  using Maker = std::function<std::unique_ptr<Fabric>(Kernel&, FabricListener&)>;
  FabricBench(const Maker& make, std::vector<Transfer> transfers)
      : transfers_(std::move(transfers)), fabric_(make(kernel_, *this)) {
    left.resize(transfers_.size(), -1);
    there.resize(transfers_.size(), -1);
    kernel_.process_started();  // nothing ever ends it: the run goes on until no event is left
    for (std::size_t i = 0; i < transfers_.size(); ++i) {
      kernel_.schedule(TimePoint::at(Duration::picoseconds(transfers_[i].at)), this, i);
    }
    kernel_.run();
  }

  std::vector<std::int64_t> left;
  std::vector<std::int64_t> there;
  std::vector<std::uint64_t> order;  // of arrivals
  std::uint64_t events() const { return kernel_.events(); }
  const Fabric& fabric() const { return *fabric_; }

 private:
  void on_event(std::uint64_t i) override {
    const Transfer& t = transfers_[i];
    const TimePoint leaves = fabric_->send(t.source, t.destination, Bytes(t.bytes), i);
    if (leaves != kLeavesLater) left[i] = leaves.ps();
  }
  EventRecord record_of(std::uint64_t) const override { return EventRecord(); }
  void on_left(std::uint64_t message) override { left[message] = kernel_.now().ps(); }
  void on_delivered(std::uint64_t message) override {
    there[message] = kernel_.now().ps();
    order.push_back(message);
  }

  Kernel kernel_;
  std::vector<Transfer> transfers_;
  std::unique_ptr<Fabric> fabric_;
};

}  // namespace rehearse
