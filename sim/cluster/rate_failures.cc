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

void RateFailures::start(TimePoint began) {
  began_ = began;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    for (int node = 0; node < sources_[i].draws.nodes(); ++node) schedule(i, node, 0, TimePoint());
  }
}

void RateFailures::schedule(std::size_t source, int node, std::int64_t number, TimePoint previous) {
  const FailureDraws& draws = sources_[source].draws;
  auto next = draws.draw(node, number, previous);
  while (next.has_value() && next->time < began_) next = draws.draw(node, next->number + 1, next->time);
  if (!next.has_value()) return;
  sources_[source].due[static_cast<std::size_t>(node)] = *next;
  const TimePoint here = TimePoint::at(next->time - began_);
  kernel_.schedule_background(here, this, source << 32 | static_cast<std::uint64_t>(node));
}

void RateFailures::on_event(std::uint64_t argument) {
  const std::size_t source = argument >> 32;
  const DrawnFailure failure = sources_[source].due[argument & 0xffffffff];
  if (kernel_.is_heard()) {
    EventRecord event(EventKind::kFaultDue);
    event.rank = failure.rank;
    kernel_.record(event);
  }
  schedule(source, failure.node, failure.number + 1, failure.time);
  strike_(rates_[source].causes[failure.cause], failure);
}

std::string words_of(const FailureCause& cause, const DomainLoss& loss) {
  std::string text = cause.kind == FailureKind::kProcess ? "the process crashes"
                     : cause.kind == FailureKind::kHost  ? event_words(loss)
                                                         : "the rank hangs";
  if (!cause.words.empty()) text += ": " + cause.words;
  return text;
}

}  // namespace rehearse
