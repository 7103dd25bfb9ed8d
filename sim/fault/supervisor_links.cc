#include "sim/fault/supervisor_links.h"

#include <algorithm>
#include <set>

#include "core/base/check.h"

namespace rehearse {
namespace {

bool goes(const SupervisorLinkFault& fault, ControlWay way) {
  return way == ControlWay::kToSupervisor ? fault.to_supervisor : fault.from_supervisor;
}

// What an agent says of itself comes at a fixed interval from a first time on.
class Beats {
 public:
  Beats(TimePoint first, Duration interval) : first_(first), interval_(interval) {}
  // The first at `time` or after it.
  TimePoint from(TimePoint time) const {
    if (time <= first_) return first_;
    if (interval_ == Duration()) return time;
    const Duration since = time - first_;
    return first_ + interval_ * ((since.ps() + interval_.ps() - 1) / interval_.ps());
  }
  // The last at `time` or before it, which is not before the first.
  TimePoint until(TimePoint time) const {
    CHECK(time >= first_);
    if (interval_ == Duration()) return time;
    return first_ + interval_ * ((time - first_).ps() / interval_.ps());
  }

 private:
  TimePoint first_;
  Duration interval_;
};

}  // namespace

std::string text_of(const SupervisorLinkFault& fault) {
  const std::string who = fault.rank == kAnyRank ? "every rank" : "rank " + std::to_string(fault.rank);
  if (fault.to_supervisor && fault.from_supervisor) return "the supervisor's link with " + who;
  return fault.to_supervisor ? "the link of " + who + " to the supervisor" : "the supervisor's link to " + who;
}

ControlLinks::ControlLinks(std::vector<SupervisorLinkFault> faults, Duration latency, Duration interval,
                           Duration timeout)
    : faults_(std::move(faults)),
      gone_(faults_.size()),
      gone_before_(faults_.size()),
      latency_(latency),
      interval_(interval),
      timeout_(timeout) {
  CHECK(interval_ <= timeout_);
}

bool ControlLinks::is_of(std::size_t fault, int rank) const {
  const int named = faults_[fault].rank;
  return !gone_[fault] && (named == kAnyRank || named / ranks_per_host_ == rank / ranks_per_host_);
}

void ControlLinks::replace_host_of(int rank) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].rank != kAnyRank && is_of(i, rank)) gone_[i] = true;
  }
}

std::vector<std::int64_t> ControlLinks::gone() const { return {gone_.begin(), gone_.end()}; }

void ControlLinks::set_gone(const std::vector<std::int64_t>& gone) {
  CHECK_EQ(gone.size(), gone_.size());
  for (std::size_t i = 0; i < gone.size(); ++i) gone_[i] = gone[i] != 0;
  gone_before_ = gone_;
}

std::vector<SupervisorLinkFault> ControlLinks::faults_of_run() const {
  std::vector<SupervisorLinkFault> all;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    SupervisorLinkFault fault = faults_[i];
    if (gone_before_[i] || (fault.until.has_value() && *fault.until <= began_)) continue;
    fault.from = shifted(fault.from);
    if (fault.until.has_value()) fault.until = shifted(*fault.until);
    all.push_back(fault);
  }
  return all;
}

TimePoint ControlLinks::shifted(TimePoint time) const {
  return time <= began_ ? TimePoint() : TimePoint::at(time - began_);
}

std::vector<ControlLinks::Stretch> ControlLinks::stretches(int rank, ControlWay way, TimePoint start) const {
  std::set<TimePoint> bounds = {start};
  const auto add = [&](TimePoint time) {
    if (shifted(time) > start) bounds.insert(shifted(time));
  };
  for (const SupervisorLinkFault& fault : faults_) {
    add(fault.from);
    if (fault.until.has_value()) add(*fault.until);
  }
  std::vector<Stretch> all;
  for (const TimePoint bound : bounds) {
    Stretch stretch;
    stretch.from = bound;
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const SupervisorLinkFault& fault = faults_[i];
      if (!is_of(i, rank) || !goes(fault, way)) continue;
      if (bound < shifted(fault.from) || (fault.until.has_value() && bound >= shifted(*fault.until))) continue;
      stretch.lost = stretch.lost || !fault.delay.has_value();
      stretch.delay = stretch.delay + fault.delay.value_or(Duration());
    }
    all.push_back(stretch);
  }
  return all;
}

std::optional<TimePoint> ControlLinks::arrival(int rank, ControlWay way, TimePoint said) const {
  if (faults_.empty()) return said + latency_;
  const std::vector<Stretch> all = stretches(rank, way, said);
  const Beats beats(said, interval_);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].lost) continue;
    const TimePoint again = beats.from(all[i].from);
    if (i + 1 < all.size() && again >= all[i + 1].from) continue;
    return again + latency_ + all[i].delay;
  }
  return std::nullopt;
}

std::optional<TimePoint> ControlLinks::missed(int rank, TimePoint started, std::optional<TimePoint> silent) const {
  const std::vector<Stretch> all = stretches(rank, ControlWay::kToSupervisor, started);
  const Beats beats(started, interval_);
  // What is heard without a gap, in the order in which it begins; the last may have no end.
  struct Heard {
    TimePoint first;
    std::optional<TimePoint> last;
  };
  std::vector<Heard> heard;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const TimePoint first = beats.from(all[i].from);
    std::optional<TimePoint> last;  // said in this stretch
    if (i + 1 < all.size()) last = all[i + 1].from + Duration::picoseconds(-1);
    if (silent.has_value() && (!last.has_value() || *silent < *last)) last = silent;
    if (all[i].lost || (last.has_value() && *last < first)) continue;
    const Duration later = latency_ + all[i].delay;
    Heard one;
    one.first = first + later;
    if (last.has_value()) one.last = beats.until(*last) + later;
    heard.push_back(one);
  }
  std::stable_sort(heard.begin(), heard.end(), [](const Heard& a, const Heard& b) { return a.first < b.first; });
  TimePoint latest = started;  // the supervisor knows that it has started
  for (const Heard& one : heard) {
    if (one.first > latest + timeout_) break;
    if (!one.last.has_value()) return std::nullopt;
    latest = std::max(latest, *one.last);
  }
  return latest + timeout_;
}

}  // namespace rehearse
