#include "sim/fault/failure_domains.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/fault/rank_memory.h"

namespace rehearse {
namespace {

HostLayout layout(int ranks_per_host, int hosts_per_rack = 0) {
  HostLayout hosts;
  hosts.ranks_per_host = ranks_per_host;
  hosts.hosts_per_rack = hosts_per_rack;
  return hosts;
}

FailureDomain domain(DomainKind kind, int index) {
  FailureDomain one;
  one.kind = kind;
  one.index = index;
  return one;
}

TEST(HostLayout, EachRankIsAHostOfItsOwnWhereNothingIsSaid) {
  const HostLayout hosts;
  EXPECT_EQ(hosts.hosts_of(4), 4);
  EXPECT_EQ(hosts.ranks_of_host(3, 4), (RankRange{3, 1}));
}

TEST(HostLayout, TheLastHostAndTheLastRackMayHaveFewer) {
  const HostLayout hosts = layout(2, 3);
  EXPECT_EQ(hosts.hosts_of(7), 4);
  EXPECT_EQ(hosts.racks_of(7), 2);
  EXPECT_EQ(hosts.host_of(5), 2);
  EXPECT_EQ(hosts.ranks_of_host(1, 7), (RankRange{2, 2}));
  EXPECT_EQ(hosts.ranks_of_host(3, 7), (RankRange{6, 1}));
  EXPECT_EQ(hosts.ranks_of_rack(0, 7), (RankRange{0, 6}));
  EXPECT_EQ(hosts.ranks_of_rack(1, 7), (RankRange{6, 1}));
}

TEST(HostLayout, AJobWithFewerRanksHasNobodyOnTheOthers) {
  const HostLayout hosts = layout(2, 2);
  EXPECT_EQ(hosts.ranks_of_host(1, 3), (RankRange{2, 1}));
  EXPECT_EQ(hosts.ranks_of_host(2, 3).count, 0);
  EXPECT_EQ(hosts.ranks_of_rack(1, 3).count, 0);
}

TEST(DomainLoss, IsToldInPlainWords) {
  const FailureDomain rank;
  EXPECT_EQ(event_words(loss_of(rank, 2, layout(1), 4)), "the host is lost");
  EXPECT_EQ(cause_words(loss_of(rank, 2, layout(1), 4)), "rank 2 was lost with its host");
  EXPECT_EQ(event_words(loss_of(rank, 2, layout(2), 4)), "host 1 (ranks 2, 3) is lost");
  EXPECT_EQ(cause_words(loss_of(rank, 3, layout(2), 4)), "host 1 (ranks 2, 3) was lost");
  EXPECT_EQ(cause_words(loss_of(domain(DomainKind::kHost, 1), 0, layout(1), 4)), "host 1 (rank 1) was lost");
  EXPECT_EQ(cause_words(loss_of(domain(DomainKind::kHost, 1), 0, layout(8), 20)), "host 1 (ranks 8 to 15) was lost");
  EXPECT_EQ(event_words(loss_of(domain(DomainKind::kRack, 0), 0, layout(2, 2), 6)),
            "rack 0 (hosts 0, 1 with ranks 0 to 3) is lost");
  EXPECT_EQ(event_words(loss_of(domain(DomainKind::kRack, 1), 0, layout(2, 2), 5)),
            "rack 1 (host 2 with rank 4) is lost");
}

// The plan's loss of host 1 of two ranks, and who was lost with it: "0.5: host 1 (ranks 2, 3) is lost".
struct Bench {
  explicit Bench(const FaultWhen& when, DomainKind kind = DomainKind::kHost) {
    CrashFault crash;
    crash.kind = CrashKind::kHost;
    crash.domain = domain(kind, 1);
    plan.faults.push_back(fault_of(crash, when));
    FaultInjector::Hooks hooks = hooks_of([this](const FaultRecord& record) {
      told.push_back("rank " + std::to_string(record.at.rank) + ": " + record.what);
    });
    hooks.is_up = [this](int rank) { return up.at(static_cast<std::size_t>(rank)); };
    hooks.lose = [this](const DomainLoss& loss, const PowerLoss&) {
      for (int rank = loss.ranks.first; rank < loss.ranks.end(); ++rank) up.at(static_cast<std::size_t>(rank)) = false;
    };
    injector = std::make_unique<FaultInjector>(plan, 4, RandomStream(1), std::move(hooks), layout(2));
  }
  void arrive(int rank, std::int64_t step, std::uint64_t attempt = 0) {
    injector->strike(moment_of(rank, step, Phase::kReduce, attempt), memory.memory());
  }

  FaultPlan plan;
  RankMemory<float> memory;
  std::vector<bool> up = std::vector<bool>(4, true);
  std::vector<std::string> told;
  std::unique_ptr<FaultInjector> injector;
};

FaultWhen of_host_1() {
  FaultWhen when = some_time();
  when.at.rank = 2;
  when.ranks = 2;
  return when;
}

using Told = std::vector<std::string>;

TEST(Injector, AHostIsLostWhenTheFirstOfItsRanksIsThere) {
  Bench bench(of_host_1());
  bench.arrive(0, 5);
  bench.arrive(3, 4);
  EXPECT_EQ(bench.told, Told());
  bench.arrive(3, 5);
  bench.arrive(2, 5);
  EXPECT_EQ(bench.told, Told{"rank 3: host 1 (ranks 2, 3) is lost"});
  EXPECT_EQ(bench.up, (std::vector<bool>{true, true, false, false}));
  // Done again: neither of its ranks is struck a second time.
  bench.up = std::vector<bool>(4, true);
  bench.arrive(2, 5, 1);
  bench.arrive(3, 5, 1);
  EXPECT_EQ(bench.told.size(), 1U);
}

TEST(Injector, AHostOfOneAddressedRankIsLostWithItsNeighbours) {
  FaultWhen when = some_time();
  when.at.rank = 3;
  Bench bench(when, DomainKind::kRank);
  bench.arrive(2, 5);
  EXPECT_EQ(bench.told, Told());
  bench.arrive(3, 5);
  EXPECT_EQ(bench.told, Told{"rank 3: host 1 (ranks 2, 3) is lost"});
  EXPECT_EQ(bench.up, (std::vector<bool>{true, true, false, false}));
}

TEST(Injector, AHostWithOneRankUpIsLostAtItsTimeAndOneWithNoneIsNot) {
  FaultWhen when = of_host_1();
  when.time = TimePoint::at(Duration::seconds(1));
  Bench bench(when);
  bench.up = {true, true, false, true};
  bench.injector->strike_in_time(0);
  EXPECT_EQ(bench.told, Told{"rank -1: host 1 (ranks 2, 3) is lost"});
  Bench nobody(when);
  nobody.up = {true, true, false, false};
  nobody.injector->strike_in_time(0);
  EXPECT_EQ(nobody.told, Told());
  EXPECT_EQ(nobody.injector->not_struck(),
            Told{"the crash of ranks 2, 3 at 1 s: the run was over, or the rank was down"});
}

// Two ranks at the same place are one chance of it, not two.
TEST(Injector, AHostDrawsOnceAtAPlace) {
  FaultWhen when = of_host_1();
  when.at.step = 1;
  when.until_step = 4000;
  when.count = 0;
  when.probability = 250'000'000;
  Bench both(when);
  Bench one(when);
  for (std::int64_t step = 1; step <= 4000; ++step) {
    both.arrive(3, step);
    both.arrive(2, step);
    one.arrive(2, step);
    both.up = one.up = std::vector<bool>(4, true);
  }
  EXPECT_EQ(both.told.size(), one.told.size());
  // 1000 expected, standard deviation 27.4: five of them.
  EXPECT_NEAR(static_cast<double>(one.told.size()), 1000, 137);
}

}  // namespace
}  // namespace rehearse
