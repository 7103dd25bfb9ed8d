#include "sim/cluster/job_model.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "sim/cluster/job_checkpoints.h"
#include "sim/cluster/placement.h"
#include "sim/cluster/rate_failures.h"
#include "sim/fault/supervisor_links.h"
#include "sim/kernel/kernel.h"

namespace rehearse {
namespace {

// A failure at a time that the scenario names.
struct TimedFailure {
  TimePoint time;
  int rank = 0;
  FailureDomain domain;
  FailureKind kind = FailureKind::kProcess;
};

std::vector<TimedFailure> timed_failures(const FaultPlan& plan) {
  std::vector<TimedFailure> all;
  for (const Fault& fault : plan.faults) {
    TimedFailure one;
    CHECK(fault.when.time.has_value());
    one.time = *fault.when.time;
    one.rank = fault.when.at.rank;
    if (const auto* crash = std::get_if<CrashFault>(&fault.kind)) {
      one.kind = crash->kind == CrashKind::kHost ? FailureKind::kHost : FailureKind::kProcess;
      one.domain = crash->domain;
    } else {
      CHECK(std::holds_alternative<HangFault>(fault.kind));
      one.kind = FailureKind::kHang;
    }
    all.push_back(one);
  }
  return all;
}

// What has become of whom, in words.
std::string fate_of(const DomainLoss& loss, FailureKind kind) {
  switch (kind) {
    case FailureKind::kProcess:
      return words_of(loss.ranks) + " crashed";
    case FailureKind::kHost:
      return cause_words(loss);
    case FailureKind::kHang:
      return words_of(loss.ranks) + " hung";
  }
  check_failed(__FILE__, __LINE__, "unknown kind of a failure");
}

// Events between two looks at whether the run is interrupted.
constexpr std::uint64_t kEventsPerSlice = 4096;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

class JobModel : private EventSink {
 public:
  JobModel(const Scenario& scenario, const RecoveryPolicy& policy)
      : job_(*scenario.job),
        ranks_(scenario.ranks),
        hosts_(scenario.hosts),
        recovery_(scenario.recovery),
        latency_(scenario.network.latency),
        links_({}, latency_, scenario.recovery.heartbeat_interval, scenario.recovery.heartbeat_timeout),
        policy_(policy),
        checkpoints_(policy, job_.keep),
        timed_(timed_failures(scenario.faults)),
        rate_failures_(kernel_, scenario.faults.rates, scenario.ranks, scenario.seed,
                       [this](const FailureCause& cause, const DrawnFailure& failure) {
                         strike(FailureDomain(), failure.rank, cause.kind, cause.words);
                       }),
        spares_(scenario.recovery.spares) {}

  JobRecord run(const std::function<bool()>& interrupted) {
    kernel_.process_started();
    if (job_.time.has_value()) schedule(TimePoint::at(*job_.time), Event::kTimeUp, 0);
    for (std::size_t i = 0; i < timed_.size(); ++i) {
      kernel_.schedule_background(timed_[i].time, this, argument_of(Event::kFailure, i));
    }
    rate_failures_.start();
    begin_training(job_.start);
    RunEnd end = RunEnd::kBudget;
    while (end == RunEnd::kBudget) {
      if (interrupted && interrupted()) {
        record_.outcome = Outcome::kInterrupted;
        record_.failure = "interrupted";
        interrupt();
        break;
      }
      end = kernel_.run(kEventsPerSlice);
    }
    CHECK(end == RunEnd::kDone || record_.outcome == Outcome::kInterrupted);
    record_.simulated = kernel_.now();
    record_.steps = standing_;
    record_.useful = job_.step * standing_;
    record_.events = kernel_.events();
    record_.event_digest = digest_.finish_hex();
    return std::move(record_);
  }

 private:
  // What the ranks are at, and what the supervisor is at.
  enum class Doing : std::uint8_t { kStarting, kTraining, kSaving, kNothing };
  enum class Supervision : std::uint8_t { kRunning, kFailing, kStopping, kWaiting };
  enum class Event : std::uint64_t {
    kStarted,
    kTrained,
    kPublished,
    kSaved,
    kHeard,
    kStop,
    kRestart,
    kFailure,
    kTimeUp
  };

  // An event's argument: what it is in the low byte, above it a number: of the activity that it ends, so that one that
  // was cut short ends nothing; or the index of a failure.
  static std::uint64_t argument_of(Event event, std::uint64_t number) {
    return static_cast<std::uint64_t>(event) | number << 8;
  }
  void schedule(TimePoint time, Event event, std::uint64_t number) {
    kernel_.schedule(time, this, argument_of(event, number));
  }

  void on_event(std::uint64_t argument) override {
    const auto event = static_cast<Event>(argument & 0xff);
    const std::uint64_t number = argument >> 8;
    switch (event) {
      case Event::kStarted:
        if (number == activity_) on_started();
        return;
      case Event::kTrained:
        if (number == activity_) on_trained();
        return;
      case Event::kPublished:
        if (number == publication_) on_published();
        return;
      case Event::kSaved:
        if (number == activity_) on_saved();
        return;
      case Event::kHeard:
        return on_heard();
      case Event::kStop:
        return on_stop();
      case Event::kRestart:
        return on_restart();
      case Event::kFailure:
        return strike(timed_[number].domain, timed_[number].rank, timed_[number].kind, "");
      case Event::kTimeUp:
        interrupt();
        note("time is up", standing_);
        return end();
    }
    check_failed(__FILE__, __LINE__, "unknown event of a job");
  }

  // The ranks have started, and train on after a delay.
  void begin_training(Duration delay) {
    doing_ = Doing::kStarting;
    began_ = kernel_.now();
    started_ = began_;
    schedule(began_ + delay, Event::kStarted, ++activity_);
  }

  void on_started() {
    if (!record_.recoveries.empty()) {
      RecoveryRecord& recovery = record_.recoveries.back();
      recovery.resumed = kernel_.now();
      recovery.resumed_step = resume_at_.value_or(0);
      recovery.from_checkpoint = resume_at_.has_value();
      record_.lost_steps += recovery.last_step - recovery.resumed_step;
      record_.down = record_.down + (kernel_.now() - down_since_);
      standing_ = recovery.resumed_step;
    }
    note("trains on after step", standing_);
    train();
  }

  // Trains up to the next save, or to the end.
  void train() {
    if (job_.steps == standing_) return end();
    std::int64_t count = std::numeric_limits<std::int64_t>::max();
    if (job_.steps.has_value()) count = *job_.steps - standing_;
    if (job_.every_steps.has_value()) count = std::min(count, *job_.every_steps - standing_ % *job_.every_steps);
    if (job_.every.has_value()) count = std::min(count, divide_up(job_.every->ps(), job_.step.ps()));
    if (job_.time.has_value()) {
      // One more than there is time for: time is up before it ends.
      const Duration left = TimePoint::at(*job_.time) - kernel_.now();
      count = std::min(count, divide_up(left.ps(), job_.step.ps()) + 1);
    }
    doing_ = Doing::kTraining;
    began_ = kernel_.now();
    training_ = count;
    ++activity_;
    if (job_.time.has_value()) {
      const auto end = static_cast<__int128>(began_.ps()) + static_cast<__int128>(job_.step.ps()) * count;
      if (end >= job_.time->ps()) return;
    }
    schedule(began_ + job_.step * count, Event::kTrained, activity_);
  }

  void on_trained() {
    count_steps(training_);
    const bool due = job_.every_steps.has_value() ? standing_ % *job_.every_steps == 0
                     // The last step's state is the job's result, and not saved for the time that it took.
                     : job_.every.has_value() ? job_.step * training_ >= *job_.every && job_.steps != standing_
                                              : false;
    if (!due) return train();
    doing_ = Doing::kSaving;
    began_ = kernel_.now();
    schedule(began_ + job_.published, Event::kPublished, ++publication_);
    schedule(began_ + job_.save, Event::kSaved, ++activity_);
  }

  void count_steps(std::int64_t count) {
    standing_ += count;
    record_.trained += count;
  }

  void on_published() {
    note("has a checkpoint of step", standing_);
    ++record_.saves;
    checkpoints_.publish(standing_);
  }

  void on_saved() {
    record_.saving = record_.saving + job_.save;
    checkpoints_.saved(standing_);
    train();
  }

  // A failure finds nobody where the rank, or all of a host, is down.
  void strike(const FailureDomain& domain, int rank, FailureKind kind, const std::string& words) {
    DomainLoss loss = loss_of_rank(rank);
    if (kind == FailureKind::kHost) loss = loss_of(domain, rank, hosts_, ranks_);
    bool any = false;
    for (int one = loss.ranks.first; one < loss.ranks.end(); ++one) any = any || !dead_.contains(one);
    if (supervision_ == Supervision::kWaiting || !any) return;
    RankFailure failure;
    failure.time = kernel_.now();
    failure.ranks = loss.ranks;
    failure.kind = kind;
    failure.cause = words;
    record_.failures.push_back(failure);
    for (int one = loss.ranks.first; one < loss.ranks.end(); ++one) {
      note("loses rank", one);
      dead_.insert(one);
      if (kind == FailureKind::kHost) lost_.insert(hosts_.host_of(one));
    }
    interrupt();
    // Rank 0 goes on alone with what all have written.
    if (loss.ranks.contains(0) || !written_) ++publication_;
    fail(fate_of(loss, kind), time_until_heard(kind));
  }

  Duration time_until_heard(FailureKind kind) const {
    switch (kind) {
      case FailureKind::kProcess:
        return latency_;
      case FailureKind::kHost:
        return std::max(*links_.missed(0, started_, kernel_.now()) - kernel_.now(), Duration());
      case FailureKind::kHang:
        return recovery_.collective_timeout + latency_;
    }
    check_failed(__FILE__, __LINE__, "unknown kind of a failure");
  }

  // What the ranks are at ends here: steps that are whole count.
  void interrupt() {
    const Duration since = kernel_.now() - began_;
    if (doing_ == Doing::kTraining) count_steps(std::min(training_, since.ps() / job_.step.ps()));
    if (doing_ == Doing::kSaving) record_.saving = record_.saving + since;
    if (doing_ != Doing::kNothing) written_ = doing_ == Doing::kSaving && since >= job_.written;
    // Time is lost from the first failure on.
    if (doing_ == Doing::kTraining || doing_ == Doing::kSaving || record_.recoveries.empty()) {
      if (doing_ != Doing::kNothing) down_since_ = kernel_.now();
    }
    doing_ = Doing::kNothing;
    ++activity_;
  }

  // Of several failures the supervisor acts on the one that it hears of first.
  void fail(const std::string& cause, Duration until_heard) {
    if (supervision_ != Supervision::kRunning && supervision_ != Supervision::kFailing) return;
    const TimePoint heard = kernel_.now() + until_heard;
    if (supervision_ == Supervision::kFailing) {
      if (heard >= heard_at_) return;
    } else {
      supervision_ = Supervision::kFailing;
      open_ = RecoveryRecord();
      open_.failed = kernel_.now();
    }
    open_.cause = cause;
    heard_at_ = heard;
    schedule(heard, Event::kHeard, 0);
  }

  void on_heard() {
    if (supervision_ != Supervision::kFailing || kernel_.now() != heard_at_) return;
    open_.detected = kernel_.now();
    supervision_ = Supervision::kStopping;
    schedule(kernel_.now() + latency_, Event::kStop, 0);
  }

  void on_stop() {
    ++publication_;
    JobFailure failure;
    failure.cause = open_.cause;
    failure.restarts = std::ssize(record_.recoveries);
    const RestartDecision decision = policy_.on_failure(failure);
    if (!decision.restart) {
      record_.outcome = Outcome::kFailed;
      record_.failure =
          open_.cause + ", and the " + std::to_string(failure.restarts) + " restarts that recovery allows are used";
      note("is given up after step", standing_);
      return end();
    }
    const std::vector<int> lost(lost_.begin(), lost_.end());
    // A job has as many ranks as ever: those without a spare wait for their hosts.
    const auto placement = place_ranks(recovery_, hosts_, ranks_, spares_, lost, [](int) { return true; });
    spares_ = placement->spares;
    open_.ranks = placement->ranks;
    open_.on_spares = placement->on_spares;
    open_.hosts_on_spares = placement->hosts_on_spares;
    open_.spares_left = placement->spares;
    supervision_ = Supervision::kWaiting;
    // As the supervisor does: the agents say that they are there, and hear that they shall start.
    const Duration delay = placement->at_once ? Duration() : decision.delay;
    schedule(kernel_.now() + std::max(delay, latency_ * 2), Event::kRestart, 0);
  }

  void on_restart() {
    open_.generation = ++generation_;
    open_.restarted = kernel_.now();
    open_.last_step = standing_;
    if (!record_.recoveries.empty()) {
      const auto blamed = blamed_checkpoint(record_.recoveries.back(), open_);
      if (blamed.has_value()) checkpoints_.avoid(*blamed);
    }
    supervision_ = Supervision::kRunning;
    dead_.clear();
    lost_.clear();
    note("starts generation", generation_);
    resume_at_ = checkpoints_.go_back();
    record_.recoveries.push_back(open_);
    begin_training(resume_at_.has_value() ? job_.load : job_.start_again);
  }

  void end() {
    if (doing_ == Doing::kNothing) record_.down = record_.down + (kernel_.now() - down_since_);
    doing_ = Doing::kNothing;
    ++activity_;
    kernel_.process_ended();
  }

  void note(const char* what, std::int64_t number) {
    digest_.update(std::to_string(kernel_.now().ps()) + " " + what + " " + std::to_string(number) + "\n");
  }

  const JobConfig& job_;
  int ranks_;
  HostLayout hosts_;
  const RecoveryConfig& recovery_;
  Duration latency_;
  ControlLinks links_;
  const RecoveryPolicy& policy_;
  JobCheckpoints checkpoints_;
  Kernel kernel_;
  std::vector<TimedFailure> timed_;
  RateFailures rate_failures_;

  Doing doing_ = Doing::kStarting;
  TimePoint began_;                        // what the ranks are at
  std::int64_t training_ = 0;              // steps until the next save or the end
  std::uint64_t activity_ = 0;             // what the ranks are at, counted
  std::uint64_t publication_ = 0;          // the newest save, counted
  bool written_ = false;                   // the save that was cut short has every rank's part
  std::int64_t standing_ = 0;              // the last step that is done
  std::optional<std::int64_t> resume_at_;  // the checkpoint that the ranks load
  std::set<int> dead_;                     // ranks, since they were started
  std::set<int> lost_;                     // hosts, since then
  int spares_;

  Supervision supervision_ = Supervision::kRunning;
  TimePoint started_;  // the ranks of this generation
  TimePoint heard_at_;
  TimePoint down_since_;
  std::uint32_t generation_ = 0;
  RecoveryRecord open_;
  JobRecord record_;
  Sha256 digest_;
};

}  // namespace

double goodput_of(const JobRecord& record) {
  const Duration all = record.simulated.since_start();
  return all.ps() == 0 ? 0 : static_cast<double>(record.useful.ps()) / static_cast<double>(all.ps());
}

std::optional<double> mean_restart_seconds(const std::vector<RecoveryRecord>& recoveries) {
  double sum = 0;
  int count = 0;
  for (const RecoveryRecord& recovery : recoveries) {
    if (recovery.kind != RecoveryRecord::Kind::kRestart || recovery.resumed <= recovery.failed) continue;
    sum += (recovery.resumed - recovery.failed).to_seconds();
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

JobRecord run_job(const Scenario& scenario, const RecoveryPolicy* policy, const std::function<bool()>& interrupted) {
  CHECK(scenario.job.has_value());
  const StandardPolicy standard(GuardConfig(), scenario.recovery.max_restarts, scenario.recovery.restart_delay);
  JobModel model(scenario, policy != nullptr ? *policy : standard);
  return model.run(interrupted);
}

}  // namespace rehearse
