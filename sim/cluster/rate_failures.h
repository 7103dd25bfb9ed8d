#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/fault/config.h"
#include "sim/fault/failure_domains.h"
#include "sim/fault/failure_rates.h"
#include "sim/kernel/kernel.h"

namespace rehearse {

// The failures of a run's rates as background events of a kernel: a node's next failure is drawn when its previous one
// is due, so that an endless list is never built, and those after the end of the run do not happen.
class RateFailures : private EventSink {
 public:
  // Called when a failure is due, whether it finds anybody or not.
  using Strike = std::function<void(const FailureCause& cause, const DrawnFailure& failure)>;

  // `rates` outlives this.
  RateFailures(Kernel& kernel, const std::vector<FailureRate>& rates, int ranks, std::uint64_t seed, Strike strike);

  // Schedules the first failure of every node. A run that continues another's, which had come to `began` on its own
  // clock, has that one's failures from there on.
  void start(TimePoint began = TimePoint());

 private:
  struct Source {
    FailureDraws draws;
    std::vector<DrawnFailure> due;  // by node: its next failure, where one is scheduled
  };

  // The node's failure `number` or the first after it that is still to come; `previous` is the one before, on the clock
  // of the first run.
  void schedule(std::size_t source, int node, std::int64_t number, TimePoint previous);
  void on_event(std::uint64_t argument) override;

  Kernel& kernel_;
  const std::vector<FailureRate>& rates_;
  Strike strike_;
  std::vector<Source> sources_;  // by rate
  TimePoint began_;
};

// "the process crashes: GPU HBM3 memory". `loss`: of a host.
std::string words_of(const FailureCause& cause, const DomainLoss& loss);

}  // namespace rehearse
