#include "tools/validate_collectives/fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace rehearse {
namespace {

constexpr std::int64_t kMicrosecond = 1'000'000;  // picoseconds
constexpr std::int64_t kMebibyte = 1 << 20;

Knob time_knob(std::string name, std::int64_t most_us, Duration& (*field)(StackConstants&),
               std::function<bool(const PublishedRow&)> concerns) {
  const auto get = [field](const StackConstants& constants) {
    StackConstants copy = constants;
    return field(copy).ps();
  };
  const auto set = [field](StackConstants& constants, std::int64_t ps) {
    field(constants) = Duration::picoseconds(ps);
  };
  return Knob{std::move(name), kMicrosecond / 10, most_us * kMicrosecond, get, set, std::move(concerns)};
}
Knob bytes_knob(std::string name, std::int64_t most, Bytes& (*field)(StackConstants&),
                std::function<bool(const PublishedRow&)> concerns) {
  const auto get = [field](const StackConstants& constants) {
    StackConstants copy = constants;
    return field(copy).count();
  };
  const auto set = [field](StackConstants& constants, std::int64_t bytes) {
    field(constants) = Bytes(bytes / 4096 * 4096);
  };
  return Knob{std::move(name), 16 * 1024, most, get, set, std::move(concerns)};
}
Knob ppm_knob(std::string name, std::int64_t most, std::int64_t& (*field)(StackConstants&),
              std::function<bool(const PublishedRow&)> concerns) {
  const auto get = [field](const StackConstants& constants) {
    StackConstants copy = constants;
    return field(copy);
  };
  const auto set = [field](StackConstants& constants, std::int64_t ppm) { field(constants) = ppm; };
  return Knob{std::move(name), 50'000, most, get, set, std::move(concerns)};
}

template <GpuGeneration kGeneration>
GenerationConstants& of(StackConstants& constants) {
  return constants.generations[static_cast<std::size_t>(kGeneration)];
}
template <HostLink kLink>
HostLinkConstants& of(StackConstants& constants) {
  return constants.links[static_cast<std::size_t>(kLink)];
}
template <GpuGeneration kGeneration>
bool on(const PublishedRow& row) {
  return row.site->generation == kGeneration;
}
template <GpuGeneration kGeneration>
bool reduces_on(const PublishedRow& row) {
  return on<kGeneration>(row) && row.operation == Operation::kAllReduce;
}
template <HostLink kLink>
bool over(const PublishedRow& row) {
  return row.site->hosts > 1 && row.site->link == kLink;
}
bool between_hosts(const PublishedRow& row) { return row.site->hosts > 1; }
bool any(const PublishedRow&) { return true; }
bool one_host(const PublishedRow& row) { return row.site->hosts == 1 && row.operation == Operation::kAllReduce; }
bool scripted(const PublishedRow& row) { return row.site->scripted; }

// One for both: where only large calls were measured over TCPXO, a hop's latency cannot be seen, and both go through
// the hosts' software.
Knob efa2_knob() {
  Knob knob = time_knob(
      "EFA v2 and TCPXO added hop", 200,
      [](StackConstants& c) -> Duration& { return of<HostLink::kEfa2>(c).added_hop; },
      [](const PublishedRow& row) { return over<HostLink::kEfa2>(row) || over<HostLink::kTcpxo>(row); });
  knob.set = [](StackConstants& constants, std::int64_t ps) {
    of<HostLink::kEfa2>(constants).added_hop = Duration::picoseconds(ps);
    of<HostLink::kTcpxo>(constants).added_hop = Duration::picoseconds(ps);
  };
  return knob;
}

struct Table {
  std::size_t rows = 0;
  double sum = 0;
};

// The logarithmic errors of the rows for fitting; kept while a knob that does not concern them is turned.
class Fit {
 public:
  Fit(StackConstants start, const std::vector<PublishedRow>& rows) : best_(start) {
    for (const PublishedRow& row : rows) {
      if (row.split == Split::kFit && row.site.has_value()) rows_.push_back(&row);
    }
    look_again();
  }

  // Works out again which plans a row could come to: those that take at most twice as long as its fastest.
  void look_again() {
    plans_.assign(rows_.size(), {});
    errors_.clear();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const PublishedRow& row = *rows_[i];
      std::vector<std::pair<Duration, StackPlan>> timed;
      for (const StackPlan& plan : stack_plans(best_, *row.site, row.operation)) {
        timed.emplace_back(simulate_plan(best_, *row.site, plan, row.operation, row.size), plan);
      }
      Duration fastest = timed.front().first;
      for (const auto& [time, plan] : timed) fastest = std::min(fastest, time);
      for (const auto& [time, plan] : timed) {
        if (time <= 2 * fastest) plans_[i].push_back(plan);
      }
      errors_.push_back(error_of(fastest, row));
    }
  }

  double loss() const { return mean_over_tables(errors_); }
  const StackConstants& best() const { return best_; }

  // Turns a knob as far as it helps.
  void turn(const Knob& knob, double factor) {
    for (const double step : {factor, 1 / factor}) {
      while (try_value(knob, static_cast<std::int64_t>(static_cast<double>(knob.get(best_)) * step))) {
      }
    }
  }

 private:
  static double error_of(Duration time, const PublishedRow& row) {
    return std::fabs(std::log(time.to_seconds() * 1e6 / row.microseconds));
  }
  double error(const StackConstants& constants, std::size_t i) const {
    const PublishedRow& row = *rows_[i];
    Duration fastest;
    for (const StackPlan& plan : plans_[i]) {
      const Duration time = simulate_plan(constants, *row.site, plan, row.operation, row.size);
      if (fastest == Duration() || time < fastest) fastest = time;
    }
    return error_of(fastest, row);
  }

  double mean_over_tables(const std::vector<double>& errors) const {
    std::map<std::string, Table> tables;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Table& table = tables[rows_[i]->table];
      ++table.rows;
      table.sum += errors[i];
    }
    double sum = 0;
    for (const auto& [name, table] : tables) sum += table.sum / static_cast<double>(table.rows);
    return tables.empty() ? 0 : sum / static_cast<double>(tables.size());
  }

  bool try_value(const Knob& knob, std::int64_t value) {
    if (value < knob.least || value > knob.most) return false;
    StackConstants turned = best_;
    knob.set(turned, value);
    std::vector<double> errors = errors_;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (knob.concerns(*rows_[i])) errors[i] = error(turned, i);
    }
    if (mean_over_tables(errors) >= loss() * 0.99999) return false;
    best_ = turned;
    errors_ = std::move(errors);
    return true;
  }

  StackConstants best_;
  std::vector<const PublishedRow*> rows_;
  std::vector<std::vector<StackPlan>> plans_;
  std::vector<double> errors_;
};

}  // namespace

std::vector<Knob> stack_knobs() {
  using G = GpuGeneration;
  using L = HostLink;
  using C = StackConstants;
  return {
      time_knob(
          "A100 launch", 20, [](C& c) -> Duration& { return of<G::kAmpere>(c).launch; }, on<G::kAmpere>),
      time_knob(
          "H100 launch", 20, [](C& c) -> Duration& { return of<G::kHopper>(c).launch; }, on<G::kHopper>),
      time_knob(
          "B200 launch", 20, [](C& c) -> Duration& { return of<G::kBlackwell>(c).launch; }, on<G::kBlackwell>),
      time_knob(
          "script", 50, [](C& c) -> Duration& { return c.script; }, scripted),
      time_knob(
          "EFA v1 added hop", 200, [](C& c) -> Duration& { return of<L::kEfa1>(c).added_hop; }, over<L::kEfa1>),
      efa2_knob(),
      time_knob(
          "TCPX added hop", 500, [](C& c) -> Duration& { return of<L::kTcpx>(c).added_hop; }, over<L::kTcpx>),
      ppm_knob(
          "TCPX bandwidth", 1'000'000, [](C& c) -> std::int64_t& { return of<L::kTcpx>(c).bandwidth_ppm; },
          over<L::kTcpx>),
      time_knob(
          "meeting", 100, [](C& c) -> Duration& { return c.meeting; }, between_hosts),
      ppm_knob(
          "copies", 6'000'000, [](C& c) -> std::int64_t& { return c.copies_ppm; }, between_hosts),
      bytes_knob(
          "LL chunk", 4 * kMebibyte, [](C& c) -> Bytes& { return c.chunk[0]; }, between_hosts),
      bytes_knob(
          "LL128 chunk", 32 * kMebibyte, [](C& c) -> Bytes& { return c.chunk[1]; }, between_hosts),
      bytes_knob(
          "Simple chunk", 64 * kMebibyte, [](C& c) -> Bytes& { return c.chunk[2]; }, between_hosts),
      bytes_knob(
          "in-switch chunk", 64 * kMebibyte, [](C& c) -> Bytes& { return c.in_switch_chunk; }, one_host),
      time_knob(
          "ring step", 20, [](C& c) -> Duration& { return c.ring_step; }, any),
      ppm_knob(
          "H100 in-switch bandwidth", 1'000'000, [](C& c) -> std::int64_t& { return of<G::kHopper>(c).in_switch_ppm; },
          reduces_on<G::kHopper>),
      time_knob(
          "H100 in-switch hop", 40, [](C& c) -> Duration& { return of<G::kHopper>(c).in_switch_hop; },
          reduces_on<G::kHopper>),
      ppm_knob(
          "B200 in-switch bandwidth", 1'000'000,
          [](C& c) -> std::int64_t& { return of<G::kBlackwell>(c).in_switch_ppm; }, reduces_on<G::kBlackwell>),
      time_knob(
          "B200 in-switch hop", 40, [](C& c) -> Duration& { return of<G::kBlackwell>(c).in_switch_hop; },
          reduces_on<G::kBlackwell>),
      ppm_knob(
          "GB200 rack in-switch bandwidth", 1'000'000,
          [](C& c) -> std::int64_t& { return of<G::kBlackwellRack>(c).in_switch_ppm; }, reduces_on<G::kBlackwellRack>),
      time_knob(
          "GB200 rack in-switch hop", 200, [](C& c) -> Duration& { return of<G::kBlackwellRack>(c).in_switch_hop; },
          reduces_on<G::kBlackwellRack>),
  };
}

double fit_loss(const StackConstants& constants, const std::vector<PublishedRow>& rows) {
  return Fit(constants, rows).loss();
}

StackConstants fit_stack(StackConstants start, const std::vector<PublishedRow>& rows, int rounds,
                         const std::function<void(const std::string&)>& progress) {
  Fit fit(start, rows);
  const std::vector<Knob> knobs = stack_knobs();
  double factor = 1.3;
  for (int round = 1; round <= rounds; ++round) {
    if (round > 1) fit.look_again();
    for (const Knob& knob : knobs) fit.turn(knob, factor);
    factor = std::sqrt(factor);
    progress("round " + std::to_string(round) + ": mean |ln(predicted / measured)| " + std::to_string(fit.loss()));
    for (const Knob& knob : knobs) progress("  " + knob.name + ": " + std::to_string(knob.get(fit.best())));
  }
  return fit.best();
}

}  // namespace rehearse
