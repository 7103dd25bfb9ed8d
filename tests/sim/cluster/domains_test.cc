// Hosts of several ranks, and racks: they are lost as one, at one moment, in one failure and one recovery.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "tests/sim/cluster/tiny_training.h"

namespace rehearse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Four ranks on two hosts in one rack share twelve sequences.
Scenario two_hosts(const std::string& faults, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"cluster.ranks=4", "cluster.ranks_per_host=2", "train.batch=3", "checkpoint.keep=0"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return tiny_training(faults.empty() ? "" : "faults { " + faults + " }\n", all);
}

const std::string& whole_weights() {
  static const std::string weights = run_training(two_hosts("")).weights_sha256;
  return weights;
}

// The ranks that die, by time.
class Deaths : public EventListener {
 public:
  void on_record(const EventRecord& record) override {
    if (record.kind == EventKind::kCrash) ranks[record.time].push_back(record.rank);
  }
  std::map<TimePoint, std::vector<int>> ranks;
};

TrainingRecord run(const Scenario& scenario, Deaths* deaths = nullptr) {
  TrainingHooks hooks;
  if (deaths != nullptr) hooks.listeners = {deaths};
  return run_training(scenario, std::nullopt, hooks);
}

std::vector<std::string> told(const TrainingRecord& record) {
  std::vector<std::string> words;
  for (const FaultRecord& fault : record.faults) words.push_back(fault.what);
  return words;
}

TEST(Domains, AllRanksOfAHostDieInTheSameMoment) {
  for (const std::string place : {"at { step: 5 phase: BACKWARD }", "time: \"900us\""}) {
    SCOPED_TRACE(place);
    const Scenario scenario = two_hosts("crash { host: 1 " + place + " }", {"recovery.heartbeat_interval=0ps"});
    Deaths deaths;
    const TrainingRecord record = run(scenario, &deaths);
    ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
    EXPECT_EQ(record.weights_sha256, whole_weights());
    EXPECT_THAT(told(record), ElementsAre("host 1 (ranks 2, 3) is lost"));
    EXPECT_EQ(record.faults.at(0).failed, (RankRange{2, 2}));
    ASSERT_THAT(deaths.ranks, SizeIs(1));
    EXPECT_EQ(deaths.ranks.begin()->first, record.faults[0].time);
    EXPECT_THAT(deaths.ranks.begin()->second, ElementsAre(2, 3));
    ASSERT_THAT(record.recoveries, SizeIs(1));
    const RecoveryRecord& recovery = record.recoveries[0];
    EXPECT_EQ(recovery.cause, "host 1 (ranks 2, 3) was lost");
    EXPECT_EQ(recovery.failed, record.faults[0].time);
    EXPECT_EQ(recovery.detected - recovery.failed, Duration::microseconds(5 + 2000));  // of heartbeats
    EXPECT_EQ(record.event_digest, run(scenario).event_digest);
  }
}

TEST(Domains, AHostGoesWithTheOneRankThatIsNamed) {
  Deaths deaths;
  const TrainingRecord record = run(two_hosts("crash { rank: 3 kind: HOST at { step: 5 phase: REDUCE } }"), &deaths);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_THAT(told(record), ElementsAre("host 1 (ranks 2, 3) is lost"));
  EXPECT_EQ(record.faults.at(0).at.rank, 3);
  EXPECT_THAT(deaths.ranks.begin()->second, ElementsAre(2, 3));
  EXPECT_THAT(record.recoveries, SizeIs(1));
}

TEST(Domains, AProcessDiesAlone) {
  Deaths deaths;
  const TrainingRecord record = run(two_hosts("crash { rank: 3 at { step: 5 phase: REDUCE } }"), &deaths);
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_THAT(deaths.ranks.begin()->second, ElementsAre(3));
}

TEST(Domains, ARackTakesAllItsHosts) {
  Deaths deaths;
  const TrainingRecord record = run(two_hosts("crash { rack: 0 at { step: 5 phase: REDUCE } }",
                                              {"cluster.ranks_per_host=1", "cluster.hosts_per_rack=3"}),
                                    &deaths);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_THAT(told(record), ElementsAre("rack 0 (hosts 0 to 2 with ranks 0 to 2) is lost"));
  EXPECT_THAT(deaths.ranks.begin()->second, ElementsAre(0, 1, 2));
  EXPECT_THAT(record.recoveries, SizeIs(1));
}

// With the last host partly filled.
TEST(Domains, TheLastHostMayHaveFewerRanks) {
  Deaths deaths;
  const TrainingRecord record =
      run(two_hosts("crash { host: 1 at { step: 5 phase: REDUCE } }", {"cluster.ranks_per_host=3"}), &deaths);
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_THAT(told(record), ElementsAre("host 1 (rank 3) is lost"));
  EXPECT_THAT(deaths.ranks.begin()->second, ElementsAre(3));
}

TEST(Domains, EveryRankOnOneHostIsALossOfAll) {
  const TrainingRecord record =
      run(two_hosts("crash { host: 0 at { step: 5 phase: REDUCE } }", {"cluster.ranks_per_host=4"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  EXPECT_EQ(record.recoveries.at(0).cause, "host 0 (ranks 0 to 3) was lost");
}

// Of two failures the supervisor acts on the one that it hears of first; the host that went with the other is gone,
// too.
TEST(Domains, AHostLostWhileAnotherFailureIsHeardOfIsOneRecoveryWithIt) {
  const TrainingRecord record =
      run(two_hosts("crash { rank: 0 at { step: 5 phase: REDUCE } } crash { host: 1 at { step: 5 phase: REDUCE } }",
                    {"recovery.spares=1"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  ASSERT_THAT(record.recoveries, SizeIs(1));
  EXPECT_EQ(record.recoveries[0].cause, "rank 0 crashed");
  EXPECT_THAT(record.recoveries[0].on_spares, ElementsAre(2, 3));
  EXPECT_EQ(record.recoveries[0].hosts_on_spares, 1);
}

TEST(Domains, AHostOnWhichAProcessDiedBeforeIsLostWithTheOther) {
  const TrainingRecord process = run(two_hosts("crash { rank: 3 at { step: 5 phase: REDUCE } }"));
  const Duration later = process.faults.at(0).time.since_start() + Duration::microseconds(1);
  const Scenario scenario = two_hosts("crash { rank: 3 at { step: 5 phase: REDUCE } } crash { host: 1 time: \"" +
                                      std::to_string(later.ps()) + "ps\" }");
  Deaths deaths;
  const TrainingRecord record = run(scenario, &deaths);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  ASSERT_THAT(record.recoveries, SizeIs(1));
  EXPECT_EQ(record.recoveries[0].cause, "rank 3 crashed");
  EXPECT_THAT(told(record), ElementsAre("the process crashes", "host 1 (ranks 2, 3) is lost"));
}

// In the middle of the load that the first loss led to, and while the ranks are down, when it finds nobody.
TEST(Domains, AHostIsLostDuringRecovery) {
  const std::string first = "crash { host: 1 at { step: 5 phase: BACKWARD } } ";
  const TrainingRecord loading = run(two_hosts(first + "crash { host: 0 at { step: 1 phase: LOAD } }"));
  ASSERT_EQ(loading.outcome, Outcome::kDone) << loading.failure;
  EXPECT_EQ(loading.weights_sha256, whole_weights());
  ASSERT_THAT(loading.recoveries, SizeIs(2));
  EXPECT_EQ(loading.recoveries[1].cause, "host 0 (ranks 0, 1) was lost");
  EXPECT_EQ(loading.recoveries[1].resumed_step, 4);

  const TrainingRecord once = run(two_hosts(first));
  const RecoveryRecord& recovery = once.recoveries.at(0);
  const Duration down = recovery.detected.since_start() + Duration::microseconds(500);
  ASSERT_LT(down, recovery.restarted.since_start());
  const TrainingRecord waiting =
      run(two_hosts(first + "crash { host: 0 time: \"" + std::to_string(down.ps()) + "ps\" }"));
  EXPECT_EQ(waiting.weights_sha256, whole_weights());
  EXPECT_THAT(waiting.recoveries, SizeIs(1));
  EXPECT_THAT(waiting.faults_not_struck,
              ElementsAre(HasSubstr("the crash of ranks 0, 1 at " + to_string(down) + ": the run was over, or")));
}

// At every phase of a save, of a rank that writes its shard and of the one that publishes; the unsynced bytes of both
// ranks of the host are lost with it.
TEST(Domains, AHostIsLostDuringASave) {
  const TrainingRecord calm = run(two_hosts(""));
  const auto ended = [&](std::int64_t step) { return calm.steps.at(static_cast<std::size_t>(step - 1)).report.ended; };
  const Duration save = calm.save_cost.value();
  int before = 0;
  int after = 0;
  for (const int host : {0, 1}) {
    for (int part = 0; part <= 20; ++part) {
      const Duration time = ended(4).since_start() + Duration::picoseconds(save.ps() * part / 20);
      const Scenario scenario =
          two_hosts("crash { host: " + std::to_string(host) + " time: \"" + std::to_string(time.ps()) + "ps\" }");
      SCOPED_TRACE(std::to_string(host) + " at " + to_string(time));
      const TrainingRecord record = run(scenario);
      ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
      EXPECT_EQ(record.weights_sha256, whole_weights());
      ASSERT_THAT(record.recoveries, SizeIs(1));
      EXPECT_THAT(record.recoveries[0].rejected, IsEmpty());
      const std::int64_t resumed = record.recoveries[0].resumed_step;
      EXPECT_TRUE(resumed == 2 || resumed == 4) << resumed;
      (resumed == 2 ? before : after) += 1;
    }
  }
  EXPECT_GT(before, 5);
  EXPECT_GT(after, 1);
}

TEST(Domains, ASpareTakesOverAllRanksOfAHostAtOnce) {
  const std::string lost = "crash { host: 0 at { step: 5 phase: BACKWARD } }";
  const TrainingRecord waits = run(two_hosts(lost));
  const TrainingRecord record = run(two_hosts(lost, {"recovery.spares=1"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  const RecoveryRecord& recovery = record.recoveries.at(0);
  EXPECT_THAT(recovery.on_spares, ElementsAre(0, 1));
  EXPECT_EQ(recovery.spares_left, 0);
  // The agents meet in two latencies.
  EXPECT_EQ(waits.recoveries.at(0).restarted - recovery.restarted, Duration::microseconds(1000 - 10));
}

TEST(Domains, AnElasticJobGoesOnWithTheHostsThatAreLeft) {
  const std::string lost =
      "crash { host: 0 at { step: 3 phase: BACKWARD } } crash { host: 0 at { step: 5 phase: BACKWARD } }";
  const TrainingRecord record = run(two_hosts(lost, {"cluster.ranks=6", "train.batch=2", "recovery.mode=ELASTIC"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_THAT(record.violations, IsEmpty());
  ASSERT_THAT(record.recoveries, SizeIs(2));
  EXPECT_THAT(record.recoveries[0].gone, ElementsAre(0, 1));
  EXPECT_EQ(record.recoveries[0].hosts_gone, 1);
  EXPECT_EQ(record.recoveries[0].ranks, 4);
  // The host that is now number 0, with ranks numbered anew.
  EXPECT_EQ(record.recoveries[1].cause, "host 0 (ranks 0, 1) was lost");
  EXPECT_EQ(record.recoveries[1].ranks, 2);
  EXPECT_EQ(record.steps.size(), 6U);
}

// Twelve sequences on eight ranks: of the six that are left all divide them; of four hosts' five, four.
TEST(Domains, WholeHostsStandByWhereTheirRanksAreTooMany) {
  const std::string lost =
      "crash { host: 3 at { step: 3 phase: BACKWARD } } crash { host: 1 at { step: 5 phase: BACKWARD } }";
  const TrainingRecord record = run(two_hosts(lost, {"cluster.ranks=8", "train.batch=1", "recovery.mode=ELASTIC"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_THAT(record.recoveries, SizeIs(2));
  EXPECT_EQ(record.recoveries[0].ranks, 4);  // six do not divide eight sequences
  EXPECT_EQ(record.recoveries[0].spares_left, 1);
  EXPECT_THAT(record.recoveries[1].on_spares, ElementsAre(2, 3));
  EXPECT_EQ(record.recoveries[1].ranks, 4);
  EXPECT_EQ(record.recoveries[1].spares_left, 0);
}

// Host 2 is there until the job has two hosts left.
TEST(Domains, AHostThatTheJobDoesNotHaveAnyMoreIsNobodys) {
  const std::string lost = "crash { host: 0 at { step: 3 phase: BACKWARD } } crash { host: 2 time: \"9ms\" }";
  const TrainingRecord record =
      run(two_hosts(lost, {"cluster.ranks=6", "train.batch=2", "train.steps=60", "recovery.mode=ELASTIC"}));
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_GT(record.simulated, TimePoint::at(Duration::milliseconds(9)));
  ASSERT_THAT(record.recoveries, SizeIs(1));
  EXPECT_LT(record.recoveries[0].restarted, TimePoint::at(Duration::milliseconds(9)));
  EXPECT_THAT(record.faults_not_struck, ElementsAre(HasSubstr("the crash of ranks 4, 5 at 9 ms")));
}

TEST(Domains, AtARateWholeHostsAreLost) {
  const Scenario scenario = two_hosts("rate { failures_per_node_day: 15000000 host_share: 1 until: \"12ms\" }",
                                      {"recovery.max_restarts=1000"});
  EXPECT_EQ(scenario.faults.rates.at(0).ranks_per_node, 2);
  Deaths deaths;
  const TrainingRecord record = run(scenario, &deaths);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  EXPECT_EQ(record.weights_sha256, whole_weights());
  ASSERT_THAT(record.faults, testing::Not(IsEmpty()));
  for (const FaultRecord& fault : record.faults) {
    EXPECT_THAT(fault.what, testing::AnyOf("host 0 (ranks 0, 1) is lost", "host 1 (ranks 2, 3) is lost"));
  }
  for (const auto& [time, ranks] : deaths.ranks) {
    const TimePoint when = time;
    if (std::none_of(record.faults.begin(), record.faults.end(), [when](const auto& one) { return one.time == when; }))
      continue;
    EXPECT_THAT(ranks, testing::AnyOf(ElementsAre(0, 1), ElementsAre(2, 3)));
  }
}

// The plan's lemon is a host that the job does not have after the loss.
TEST(Domains, AnElasticJobOutlivesItsLemon) {
  const Scenario scenario =
      two_hosts("rate { failures_per_node_day: 1 host_share: 1 lemon { node: 1 factor: 100000000 } until: \"6ms\" }",
                {"recovery.mode=ELASTIC", "recovery.max_restarts=1000"});
  const TrainingRecord record = run(scenario);
  ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
  ASSERT_THAT(record.recoveries, SizeIs(1));
  EXPECT_THAT(record.recoveries[0].gone, ElementsAre(2, 3));
}

// Without a word of hosts everything is as it was; one rank each, said or not, is the same.
TEST(Domains, OneRankEachIsTheDefault) {
  const std::string lost = "crash { rank: 1 kind: HOST at { step: 5 phase: REDUCE } }";
  const TrainingRecord plain = run(two_hosts(lost, {"cluster.ranks_per_host=1", "checkpoint.every_steps=0"}));
  Scenario unsaid = two_hosts(lost, {"checkpoint.every_steps=0"});
  unsaid.hosts = HostLayout();
  EXPECT_EQ(run(unsaid).event_digest, plain.event_digest);
  EXPECT_THAT(told(plain), ElementsAre("the host is lost"));
  EXPECT_EQ(plain.recoveries.at(0).cause, "rank 1 was lost with its host");
}

}  // namespace
}  // namespace rehearse
