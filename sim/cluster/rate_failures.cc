#include "sim/cluster/rate_failures.h"

#include <utility>

#include "core/base/check.h"

namespace rehearse {

RateFailures::RateFailures(Kernel& kernel, const std::vector<FailureRate>& rates, int ranks, std::uint64_t seed,
                           Strike strike)
    : kernel_(kernel), rates_(rates), strike_(std::move(strike)) {
  const RandomStream stream = RandomStream(seed).fork("faults").fork("rate");
  for (std::size_t i = 0; i < rates.size(); ++i) {
    sources_.push_back(Source{FailureDraws(rates[i], ranks, stream.fork(i)), {}});
    sources_.back().due.resize(static_cast<std::size_t>(sources_.back().draws.nodes()));
  }
}

void RateFailures::start() {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    for (int node = 0; node < sources_[i].draws.nodes(); ++node) schedule(i, node, 0);
  }
}

void RateFailures::schedule(std::size_t source, int node, std::int64_t number) {
  const auto next = sources_[source].draws.draw(node, number, kernel_.now());
  if (!next.has_value()) return;
  sources_[source].due[static_cast<std::size_t>(node)] = *next;
  kernel_.schedule_background(next->time, this, source << 32 | static_cast<std::uint64_t>(node));
}

void RateFailures::on_event(std::uint64_t argument) {
  const std::size_t source = argument >> 32;
  const DrawnFailure failure = sources_[source].due[argument & 0xffffffff];
  if (kernel_.is_heard()) {
    EventRecord event(EventKind::kFaultDue);
    event.rank = failure.rank;
    kernel_.record(event);
  }
  schedule(source, failure.node, failure.number + 1);
  strike_(rates_[source].causes[failure.cause], failure);
}

std::string words_of(const FailureCause& cause) {
  std::string text = cause.kind == FailureKind::kProcess ? "the process crashes"
                     : cause.kind == FailureKind::kHost  ? "the host is lost"
                                                         : "the rank hangs";
  if (!cause.words.empty()) text += ": " + cause.words;
  return text;
}

CrashKind crash_kind_of(FailureKind kind) {
  return kind == FailureKind::kProcess ? CrashKind::kProcess : CrashKind::kHost;
}

}  // namespace rehearse
