// The job-level model and the full simulation have the same recoveries: the same crashes at random times, on 4 to 64
// ranks, in steps, saves, loads and restarts.
//
// What the model takes as one moment, the end of a step, a save or a load, is in the full simulation a little while in
// which one rank after the other is done. And its saves and loads differ by the digits of the numbers in their files.
// A plan with a crash within kMargin of such a moment proves nothing and is left out; the others must be equal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "sim/cluster/job_model.h"
#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

constexpr Duration kMargin = Duration::microseconds(200);
constexpr std::int64_t kSteps = 12;
constexpr std::int64_t kEvery = 3;

// Steps of about 10 ms, and saves and loads of the same order, beside which latencies are nothing.
Scenario full_scenario(int ranks) {
  const std::string text =
      "name: \"small\" cluster { ranks: " + std::to_string(ranks) +
      " network { latency: \"1us\" bandwidth: \"100Gbps\" } device { flops: \"20MFLOPS\" } "
      "storage { latency: \"1us\" bandwidth: \"8Mbps\" } } "
      "model { layers: 1 embed: 8 heads: 2 vocab: 16 context: 8 } data { synthetic { kind: MARKOV states: 8 } } "
      "train { steps: 12 batch: 2 adam { lr: 0.01 } } checkpoint { every_steps: 3 } "
      "recovery { max_restarts: 4 restart_delay: \"15ms\" heartbeat_timeout: \"20ms\" } expect { final_step: 12 }";
  return parse_scenario(text, "small.textproto", read_real_file);
}

// When the ranks came to the moments of a run.
class Moments : public TrainObserver, public EventListener {
 public:
  explicit Moments(int ranks) : ranks_(ranks) {}

  struct Moment {
    char what = ' ';  // s: step, c: checkpoint, l: trains on
    std::int64_t step = 0;
    TimePoint first;
    TimePoint last;
    int ranks = 0;
  };
  struct Save {
    std::map<int, TimePoint> written;  // by rank but 0: its last operation on the disk
    TimePoint published;
    TimePoint durable;  // its name, too: until then a lost host may take it away again
  };

  void on_record(const EventRecord& record) override {
    now_ = record.time;
    if (record.kind == EventKind::kRestart) moments.push_back(Moment());
    if (record.kind == EventKind::kPhase && record.phase == Phase::kCheckpoint && record.rank == 0)
      saves.emplace_back();
    if (saves.empty() || record.phase != Phase::kCheckpoint) return;
    const bool stored = record.kind == EventKind::kWrite || record.kind == EventKind::kFsync ||
                        record.kind == EventKind::kFsyncDirectory || record.kind == EventKind::kRename;
    if (stored && record.rank > 0) saves.back().written[record.rank] = record.time;
    if (record.rank != 0) return;
    if (record.kind == EventKind::kRename) saves.back().published = saves.back().durable = record.time;
    const bool synced = record.kind == EventKind::kFsyncDirectory && saves.back().published != TimePoint();
    if (synced && saves.back().durable == saves.back().published) saves.back().durable = record.time;
  }
  void on_start(int, std::int64_t step, const TensorsView&, Digest128) override { mark('l', step); }
  void on_step(int, const StepReport& report, const TensorsView&, std::span<const ConstShardPiece>) override {
    mark('s', report.step);
  }
  void on_checkpoint(int, const CheckpointReport& report, Digest128) override { mark('c', report.step); }

  // The last rank's end of the newest attempt at the step.
  TimePoint end_of(std::int64_t step) const {
    for (auto one = moments.rbegin(); one != moments.rend(); ++one) {
      if (one->what == 's' && one->step == step) return one->last;
    }
    ADD_FAILURE() << "no step " << step;
    return TimePoint();
  }

  // Whether the model can know what a crash at this time meets.
  bool decides(TimePoint time) const {
    const auto near = [time](TimePoint first, TimePoint last) {
      return time + kMargin >= first && last + kMargin >= time;
    };
    for (const Moment& one : moments) {
      if (one.ranks == 0) continue;
      if (one.what != 'c' && one.ranks < ranks_) return false;
      if (near(one.first, one.last)) return false;
    }
    for (const Save& save : saves) {
      if (near(save.published, save.durable)) return false;
      TimePoint first = save.written.empty() ? TimePoint() : save.written.begin()->second;
      TimePoint last = first;
      for (const auto& [rank, written] : save.written) {
        first = std::min(first, written);
        last = std::max(last, written);
      }
      if (!save.written.empty() && near(first, last)) return false;
    }
    return true;
  }

  std::vector<Moment> moments;
  std::vector<Save> saves;

 private:
  void mark(char what, std::int64_t step) {
    if (moments.empty() || moments.back().what != what || moments.back().step != step) {
      Moment moment;
      moment.what = what;
      moment.step = step;
      moment.first = now_;
      moments.push_back(moment);
    }
    moments.back().last = now_;
    ++moments.back().ranks;
  }

  int ranks_;
  TimePoint now_;
};

TrainingRecord run_full(const Scenario& scenario, Moments& moments) {
  TrainingHooks hooks;
  hooks.observer = &moments;
  hooks.listeners = {&moments};
  return run_training(scenario, std::nullopt, hooks);
}

void add_crash(Scenario& scenario, int rank, TimePoint time, CrashKind kind) {
  Fault fault;
  fault.when.at.rank = rank;
  fault.when.time = time;
  CrashFault crash;
  crash.kind = kind;
  fault.kind = crash;
  scenario.faults.faults.push_back(fault);
}

// A checkpoint says how far each fault of the plan has come, so that its size goes by their number.
Scenario with_faults_that_never_come(Scenario scenario, std::uint64_t faults) {
  for (std::uint64_t i = 0; i < faults; ++i) {
    add_crash(scenario, 0, TimePoint::at(Duration::seconds(1000)), CrashKind::kProcess);
  }
  return scenario;
}

Duration half(Duration time) { return Duration::picoseconds(time.ps() / 2); }

// From the start of the ranks to where step 1, or the first after the checkpoint, begins: of a run whose rank 0 crashes
// in the middle of the step after `step`.
Duration time_to_train_on(Scenario scenario, Duration step_time, TimePoint crash_after, std::int64_t resumed) {
  add_crash(scenario, 0, crash_after + half(step_time), CrashKind::kProcess);
  Moments moments(scenario.ranks);
  const TrainingRecord record = run_full(scenario, moments);
  EXPECT_EQ(record.recoveries.size(), 1U);
  EXPECT_EQ(record.recoveries[0].resumed_step, resumed);
  return moments.end_of(resumed + 1) - record.recoveries[0].restarted - step_time;
}

// The job with the times of the full simulation, of a plan of so many faults.
JobConfig measure(const Scenario& base, std::uint64_t faults) {
  Moments moments(base.ranks);
  const TrainingRecord record = run_full(with_faults_that_never_come(base, faults), moments);
  EXPECT_EQ(record.outcome, Outcome::kDone);
  JobConfig job;
  job.steps = kSteps;
  job.every_steps = kEvery;
  job.step = moments.end_of(3) - moments.end_of(2);
  job.start = moments.end_of(1).since_start() - job.step;
  job.save = moments.end_of(4) - moments.end_of(3) - job.step;
  const Moments::Save& save = moments.saves.at(0);
  job.published = save.published - moments.end_of(3);
  for (const auto& [rank, written] : save.written) job.written = std::max(job.written, written - moments.end_of(3));
  const Scenario scenario = with_faults_that_never_come(base, faults == 0 ? 0 : faults - 1);
  job.load = time_to_train_on(scenario, job.step, moments.end_of(4), 3);
  job.start_again = time_to_train_on(scenario, job.step, moments.end_of(1), 0);
  return job;
}

struct Tally {
  int plans = 0;
  int left_out = 0;
  int recoveries = 0;
  int failed_again = 0;  // before training went on
  int given_up = 0;
};

void expect_same(const TrainingRecord& full, const JobRecord& model) {
  EXPECT_EQ(model.outcome, full.outcome);
  EXPECT_EQ(model.failure, full.failure);
  EXPECT_EQ(model.steps, full.steps.empty() ? 0 : full.steps.back().report.step);
  EXPECT_EQ(model.lost_steps, lost_steps_of(full.recoveries));
  ASSERT_EQ(model.recoveries.size(), full.recoveries.size());
  for (std::size_t i = 0; i < full.recoveries.size(); ++i) {
    const RecoveryRecord& a = full.recoveries[i];
    const RecoveryRecord& b = model.recoveries[i];
    SCOPED_TRACE("recovery " + std::to_string(i));
    EXPECT_EQ(b.cause, a.cause);
    EXPECT_EQ(b.generation, a.generation);
    EXPECT_EQ(b.failed, a.failed);
    EXPECT_EQ(b.detected, a.detected);
    EXPECT_EQ(b.restarted, a.restarted);
    EXPECT_EQ(b.on_spares, a.on_spares);
    EXPECT_EQ(b.spares_left, a.spares_left);
    EXPECT_EQ(b.last_step, a.last_step);
    EXPECT_EQ(b.resumed_step, a.resumed_step);
    EXPECT_EQ(b.from_checkpoint, a.from_checkpoint);
    EXPECT_EQ(b.resumed == TimePoint(), a.resumed == TimePoint());
    EXPECT_LE(std::max(b.resumed, a.resumed) - std::min(b.resumed, a.resumed), kMargin);
  }
}

// Then it is saved once more over itself, which takes another time than a save.
bool blames_a_checkpoint(const TrainingRecord& record) {
  for (std::size_t i = 1; i < record.recoveries.size(); ++i) {
    if (blamed_checkpoint(record.recoveries[i - 1], record.recoveries[i])) return true;
  }
  return false;
}

void compare(int ranks, int plans, Tally& tally, int ranks_per_host = 1, int spares = 0) {
  Scenario base = full_scenario(ranks);
  base.hosts.ranks_per_host = ranks_per_host;
  base.recovery.spares = spares;
  std::map<std::uint64_t, JobConfig> jobs;  // by the number of faults
  for (std::uint64_t faults = 1; faults <= 6; ++faults) jobs.emplace(faults, measure(base, faults));
  JobConfig job = jobs.at(1);
  std::printf("%d ranks: step %s, start %s, load %s, save %s (written %s, published %s)\n", ranks,
              to_string(job.step).c_str(), to_string(job.start).c_str(), to_string(job.load).c_str(),
              to_string(job.save).c_str(), to_string(job.written).c_str(), to_string(job.published).c_str());
  const Duration whole = job.start + job.step * kSteps + job.save * (kSteps / kEvery);
  for (int plan = 0; plan < plans; ++plan) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks, plan " + std::to_string(plan));
    RandomStream draw =
        RandomStream(static_cast<std::uint64_t>(ranks)).fork("plan").fork(static_cast<std::uint64_t>(plan));
    Scenario scenario = base;
    const std::uint64_t crashes = 1 + draw.below(6);
    job = jobs.at(crashes);
    for (std::uint64_t i = 0; i < crashes; ++i) {
      const auto rank = static_cast<int>(draw.below(static_cast<std::uint64_t>(ranks)));
      const auto time = static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(2 * whole.ps())));
      const CrashKind kind = draw.chance(1, 3) ? CrashKind::kHost : CrashKind::kProcess;
      add_crash(scenario, rank, TimePoint::at(Duration::picoseconds(time)), kind);
    }
    Moments moments(ranks);
    const TrainingRecord full = run_full(scenario, moments);
    ++tally.plans;
    const bool decided = std::all_of(full.faults.begin(), full.faults.end(),
                                     [&](const FaultRecord& fault) { return moments.decides(fault.time); });
    if (!decided || blames_a_checkpoint(full)) {
      ++tally.left_out;
      continue;
    }
    scenario.job = job;
    expect_same(full, run_job(scenario));
    tally.recoveries += static_cast<int>(full.recoveries.size());
    for (const RecoveryRecord& one : full.recoveries) tally.failed_again += one.resumed == TimePoint() ? 1 : 0;
    tally.given_up += full.outcome == Outcome::kFailed ? 1 : 0;
  }
}

TEST(JobEquality, OfTheRecoveriesOfRandomPlans) {
  Tally tally;
  compare(4, 150, tally);
  compare(1, 30, tally);
  compare(7, 30, tally);
  compare(16, 20, tally);
  compare(64, 3, tally);
  std::printf("%d plans, %d left out; %d recoveries equal, %d of them cut short by another failure; %d given up\n",
              tally.plans, tally.left_out, tally.recoveries, tally.failed_again, tally.given_up);
  EXPECT_LT(tally.left_out, tally.plans / 3);
  EXPECT_GT(tally.recoveries, 200);
  EXPECT_GT(tally.failed_again, 10);
  EXPECT_GT(tally.given_up, 2);
}

// Losses take whole hosts, of which spares stand by.
TEST(JobEquality, OfHostsOfSeveralRanks) {
  Tally tally;
  compare(6, 40, tally, 2, 1);
  compare(7, 20, tally, 3);
  std::printf("%d plans, %d left out; %d recoveries equal\n", tally.plans, tally.left_out, tally.recoveries);
  EXPECT_LT(tally.left_out, tally.plans / 3);
  EXPECT_GT(tally.recoveries, 50);
}

// The same rank crashes in the same step twice: the checkpoint that the job went back to is left alone.
TEST(JobEquality, OfCheckpointsThatAreBlamed) {
  Scenario scenario = full_scenario(4);
  const JobConfig job = measure(scenario, 2);
  for (int crash = 0; crash < 2; ++crash) {
    Moments moments(scenario.ranks);
    run_full(scenario, moments);
    add_crash(scenario, 2, moments.end_of(7) + half(job.step), CrashKind::kProcess);
  }
  const TrainingRecord full = run_training(scenario);
  ASSERT_EQ(full.recoveries.size(), 2U);
  EXPECT_EQ(full.recoveries[0].resumed_step, 6);
  EXPECT_EQ(full.recoveries[1].resumed_step, 3);
  scenario.job = job;
  expect_same(full, run_job(scenario));
}

// The watchdog of the full simulation starts when a peer waits for the rank: up to a step later.
TEST(JobEquality, OfAHangButForTheWatchdog) {
  Scenario scenario = full_scenario(4);
  const JobConfig job = measure(scenario, 1);
  Moments quiet(scenario.ranks);
  run_full(scenario, quiet);
  Fault fault;
  fault.when.at.rank = 1;
  fault.when.time = quiet.end_of(7) + half(job.step);
  fault.kind = HangFault();
  scenario.faults.faults.push_back(fault);
  scenario.recovery.collective_timeout = Duration::milliseconds(500);
  const TrainingRecord full = run_training(scenario);
  scenario.job = job;
  const JobRecord model = run_job(scenario);
  ASSERT_EQ(full.recoveries.size(), 1U);
  ASSERT_EQ(model.recoveries.size(), 1U);
  const RecoveryRecord& a = full.recoveries[0];
  const RecoveryRecord& b = model.recoveries[0];
  EXPECT_EQ(b.failed, a.failed);
  EXPECT_EQ(b.last_step, a.last_step);
  EXPECT_EQ(b.resumed_step, a.resumed_step);
  EXPECT_GE(a.detected, b.detected);
  EXPECT_LE(a.detected - b.detected, job.step);
}

// scenarios/failure_rate_job.textproto has the times of scenarios/failure_rate.textproto, near enough.
TEST(JobEquality, OfTheShippedPair) {
  const std::string folder = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/";
  const Scenario full = load_scenario(folder + "failure_rate.textproto");
  const Scenario counted = load_scenario(folder + "failure_rate_job.textproto");
  Scenario quiet = full;
  quiet.faults = FaultPlan();
  const JobConfig measured = measure(quiet, 0);
  const JobConfig& written = *counted.job;
  const auto expect_near = [](const char* what, Duration a, Duration b) {
    EXPECT_LE(std::max(a, b) - std::min(a, b), kMargin)
        << what << ": measured " << a.ps() << " ps, written " << b.ps() << " ps";
  };
  expect_near("step", measured.step, written.step);
  expect_near("start", measured.start, written.start);
  expect_near("start_again", measured.start_again, written.start_again);
  expect_near("load", measured.load, written.load);
  expect_near("save", measured.save, written.save);
  expect_near("written", measured.written, written.written);
  expect_near("published", measured.published, written.published);
  const TrainingRecord record = run_training(full);
  expect_same(record, run_job(counted));
  EXPECT_GT(record.recoveries.size(), 1U);
}

// Nodes are hosts: both draw the same failures, and a host that is lost is lost with both of its ranks.
TEST(JobEquality, OfHostsThatFailAtARate) {
  const std::string path = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/failure_rate.textproto";
  std::optional<JobConfig> job;
  int compared = 0;
  int hosts = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    LoadOptions options;
    options.overrides = {"cluster.ranks_per_host=2", "faults.rate[0].host_share=0.5"};
    options.seed = seed;
    Scenario scenario = load_scenario(path, options);
    if (!job.has_value()) {
      Scenario quiet = scenario;
      quiet.faults = FaultPlan();
      job = measure(quiet, 0);
    }
    Moments moments(scenario.ranks);
    const TrainingRecord full = run_full(scenario, moments);
    const bool decided = std::all_of(full.faults.begin(), full.faults.end(),
                                     [&](const FaultRecord& fault) { return moments.decides(fault.time); });
    if (!decided || blames_a_checkpoint(full)) continue;
    scenario.job = job;
    const JobRecord model = run_job(scenario);
    expect_same(full, model);
    EXPECT_EQ(failures_of(model), failures_of(full));
    for (const RankRange& ranks : failures_of(full)) hosts += ranks.count == 2 ? 1 : 0;
    ++compared;
  }
  EXPECT_GT(compared, 10);
  EXPECT_GT(hosts, 10);
}

}  // namespace
}  // namespace rehearse
