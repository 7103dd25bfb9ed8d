#include "sim/fault/failure_rates.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/base/math.h"

namespace rehearse {
namespace {

constexpr double kSecondsPerDay = 86'400;
constexpr double kPicosecondsPerDay = kSecondsPerDay * 1e12;

double factor_of(const FailureRate& rate, int node) {
  double factor = 1;
  for (const LemonNode& lemon : rate.lemons) {
    if (lemon.node == node) factor *= lemon.factor;
  }
  return factor;
}

}  // namespace

const char* name_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::kProcess:
      return "process crash";
    case FailureKind::kHost:
      return "host loss";
    case FailureKind::kHang:
      return "hang";
  }
  check_failed(__FILE__, __LINE__, "unknown kind of a failure");
}

int nodes_of(const FailureRate& rate, int ranks) { return (ranks + rate.ranks_per_node - 1) / rate.ranks_per_node; }

FailureDraws::FailureDraws(const FailureRate& rate, int ranks, const RandomStream& stream)
    : rate_(rate), ranks_(ranks), nodes_(nodes_of(rate, ranks)), stream_(stream) {
  CHECK_GT(ranks, 0);
  CHECK(rate.per_node_day > 0 && !rate.causes.empty());
  for (const FailureCause& cause : rate_.causes) {
    CHECK_GT(cause.weight, 0);
    weights_ += cause.weight;
  }
}

double FailureDraws::mean_gap_ps(int node) const {
  return kPicosecondsPerDay / (rate_.per_node_day * factor_of(rate_, node));
}

std::optional<DrawnFailure> FailureDraws::draw(int node, std::int64_t number, TimePoint previous) const {
  CHECK(node >= 0 && node < nodes_ && number >= 0);
  RandomStream own = stream_.fork(static_cast<std::uint64_t>(node)).fork(static_cast<std::uint64_t>(number));
  // -log of a number in (0, 1] is exponential with mean 1.
  const double gap = -deterministic_log(1.0 - own.uniform()) * mean_gap_ps(node) + 0.5;
  const TimePoint since = number == 0 ? rate_.from : previous;
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  if (!(gap < 0x1p63) || static_cast<std::int64_t>(gap) > kEnd - since.ps()) return std::nullopt;
  DrawnFailure failure;
  failure.time = since + Duration::picoseconds(static_cast<std::int64_t>(gap));
  if (rate_.until.has_value() && failure.time >= *rate_.until) return std::nullopt;
  failure.node = node;
  failure.number = number;
  const int first = node * rate_.ranks_per_node;
  const int of_node = std::min(rate_.ranks_per_node, ranks_ - first);
  failure.rank = first + static_cast<int>(own.below(static_cast<std::uint64_t>(of_node)));
  auto share = static_cast<std::int64_t>(own.below(static_cast<std::uint64_t>(weights_)));
  while (share >= rate_.causes[failure.cause].weight) share -= rate_.causes[failure.cause++].weight;
  return failure;
}

std::optional<double> mean_seconds_between_failures(const std::vector<FailureRate>& rates, int ranks) {
  double per_day = 0;
  for (const FailureRate& rate : rates) {
    if (rate.has_window()) return std::nullopt;
    double nodes = nodes_of(rate, ranks);
    for (const LemonNode& lemon : rate.lemons) nodes += lemon.node < nodes_of(rate, ranks) ? lemon.factor - 1 : 0;
    per_day += nodes * rate.per_node_day;
  }
  if (per_day == 0) return std::nullopt;
  return kSecondsPerDay / per_day;
}

}  // namespace rehearse
