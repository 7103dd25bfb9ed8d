// Hosts and racks: what a scenario says of them, and what it cannot say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

// Four ranks, in line 3; faults are in line 9.
std::string with(const std::string& hosts, const std::string& faults) {
  return good_with("ranks: 4 ", "ranks: 4 " + hosts + " ") + "faults { " + faults + " }\n";
}

struct BadDomain {
  const char* name;
  const char* hosts;
  const char* faults;
  const char* error;  // after the file's name
};

void PrintTo(const BadDomain& test, std::ostream* out) { *out << test.name; }

class BadDomainTest : public ::testing::TestWithParam<BadDomain> {};

TEST_P(BadDomainTest, IsRefusedWhereItStands) {
  EXPECT_EQ(error_of(with(GetParam().hosts, GetParam().faults)), std::string("dir/s.textproto:") + GetParam().error);
}

const char* const kTwo = "ranks_per_host: 2";

INSTANTIATE_TEST_SUITE_P(
    Domains, BadDomainTest,
    ::testing::Values(
        BadDomain{"HostBeyondTheLast", kTwo, "crash { host: 2 time: \"1ms\" }",
                  "9:24: faults.crash[0].host: found 2; allowed: 0 to 1, as 4 ranks make 2 hosts"},
        BadDomain{"HostBeyondTheLastOfOneRankEach", "", "crash { host: 4 time: \"1ms\" }",
                  "9:24: faults.crash[0].host: found 4; allowed: 0 to 3, as 4 ranks make 4 hosts"},
        BadDomain{"HostBeyond32Bits", kTwo, "crash { host: 4294967296 time: \"1ms\" }",
                  "9:24: faults.crash[0].host: found 4294967296; allowed: 0 to 1, as 4 ranks make 2 hosts"},
        BadDomain{"HostBelowTheFirst", kTwo, "crash { host: -1 time: \"1ms\" }",
                  "9:24: faults.crash[0].host: found '-1'; allowed: whole numbers from 0"},
        BadDomain{"RackBeyondTheLast", "ranks_per_host: 2 hosts_per_rack: 4", "crash { rack: 1 time: \"1ms\" }",
                  "9:24: faults.crash[0].rack: found 1; allowed: 0 to 0, as 4 ranks make 1 rack"},
        BadDomain{"RackWithoutRacks", kTwo, "crash { rack: 0 time: \"1ms\" }",
                  "9:24: faults.crash[0].rack: found 0, but there are no racks; allowed: only with "
                  "cluster.hosts_per_rack"},
        BadDomain{"RankAndHost", kTwo, "crash { rank: 1 host: 0 time: \"1ms\" }",
                  "9:26: faults.crash[0].host: contradicts rank at dir/s.textproto:9:24; allowed: one of rank, host, "
                  "rack"},
        BadDomain{"NobodyAtAll", kTwo, "crash { time: \"1ms\" }",
                  "9:10: faults.crash[0]: says not what dies; allowed: rank, host, or rack"},
        BadDomain{"ProcessOfAHost", kTwo, "crash { host: 1 time: \"1ms\" kind: PROCESS }",
                  "9:44: faults.crash[0].kind: found PROCESS, but a host or a rack is lost as a whole; allowed: HOST"},
        BadDomain{"HostWithoutWhen", kTwo, "crash { host: 1 }",
                  "9:10: faults.crash[0]: says not when; allowed: at { step phase }, or time"},
        BadDomain{"HostAfterTheLastStep", kTwo, "crash { host: 1 at { step: 21 phase: DATA } }",
                  "9:37: faults.crash[0].at.step: found 21; allowed: a step of the run, 1 to train.steps, which is 20"},
        BadDomain{"OneHostTwice", kTwo, "crash { host: 1 time: \"1ms\" } crash { host: 1 time: \"1ms\" }",
                  "9:40: faults.crash[1]: found a second end of ranks 2, 3 at the same place; allowed: one crash or "
                  "hang"},
        BadDomain{"NodesThatAreNoHosts", kTwo, "rate { failures_per_node_day: 1 ranks_per_node: 4 }",
                  "9:58: faults.rate[0].ranks_per_node: found 4; allowed: as many as cluster.ranks_per_host, which is "
                  "2, as nodes are hosts"},
        BadDomain{"NoRanksOnAHost", "ranks_per_host: 0", "crash { rank: 1 time: \"1ms\" }",
                  "3:36: cluster.ranks_per_host: found '0'; allowed: whole numbers from 1 to 65536"},
        BadDomain{"NoHostsInARack", "hosts_per_rack: 0", "crash { rank: 1 time: \"1ms\" }",
                  "3:36: cluster.hosts_per_rack: found '0'; allowed: whole numbers from 1 to 65536"}),
    [](const auto& test) { return test.param.name; });

TEST(Domains, AHostIsLostWhenAnyOfItsRanksIsThere) {
  const Scenario s = load_text(with(kTwo, "crash { host: 1 at { step: 3 phase: FORWARD } }"));
  EXPECT_EQ(s.hosts.ranks_per_host, 2);
  ASSERT_EQ(s.faults.faults.size(), 1U);
  const Fault& fault = s.faults.faults[0];
  EXPECT_EQ(fault.when.at.rank, 2);
  EXPECT_EQ(fault.when.ranks, 2);
  const auto& crash = std::get<CrashFault>(fault.kind);
  EXPECT_EQ(crash.kind, CrashKind::kHost);
  EXPECT_EQ(crash.domain.kind, DomainKind::kHost);
  EXPECT_EQ(crash.domain.index, 1);
}

TEST(Domains, ARackHasTheRanksOfAllItsHosts) {
  const Scenario s = load_text(with("ranks_per_host: 1 hosts_per_rack: 3", "crash { rack: 0 time: \"1ms\" }"));
  const Fault& fault = s.faults.faults.at(0);
  EXPECT_EQ(fault.when.at.rank, 0);
  EXPECT_EQ(fault.when.ranks, 3);
  EXPECT_EQ(std::get<CrashFault>(fault.kind).domain.kind, DomainKind::kRack);
}

TEST(Domains, ARankIsStillARank) {
  const Fault fault = load_text(with(kTwo, "crash { rank: 2 kind: HOST time: \"1ms\" }")).faults.faults.at(0);
  EXPECT_EQ(fault.when.at.rank, 2);
  EXPECT_EQ(fault.when.ranks, 1);
  EXPECT_EQ(std::get<CrashFault>(fault.kind).domain, FailureDomain());
}

TEST(Domains, HostsAreTheNodesOfFailureRates) {
  EXPECT_EQ(load_text(with(kTwo, "rate { preset: \"rsc1\" }")).faults.rates.at(0).ranks_per_node, 2);
  EXPECT_EQ(load_text(with(kTwo, "rate { preset: \"rsc1\" ranks_per_node: 2 }")).faults.rates.at(0).ranks_per_node, 2);
  EXPECT_EQ(load_text(with("", "rate { preset: \"rsc1\" }")).faults.rates.at(0).ranks_per_node, 8);
}

TEST(Domains, TheCanonicalTextLoadsToTheSame) {
  const Scenario s = load_text(with("ranks_per_host: 2 hosts_per_rack: 1",
                                    "crash { rack: 1 at { step: 3 phase: FORWARD } } rate { preset: \"rsc1\" }"));
  EXPECT_THAT(s.text, HasSubstr("kind: HOST\n"));
  EXPECT_THAT(s.text, HasSubstr("rack: 1\n"));
  EXPECT_THAT(s.text, HasSubstr("ranks_per_node: 2\n"));
  const Scenario again = load_text(s.text);
  EXPECT_EQ(again.text, s.text);
  EXPECT_EQ(again.scenario_sha256, s.scenario_sha256);
}

// Where ranks live decides no bit; what does not say it says nothing of it.
TEST(Domains, LeaveTheArithmeticAsItIs) {
  const Scenario plain = load_text(kGoodScenario);
  const Scenario hosts = load_text(kGoodScenario, {"cluster.ranks_per_host=2", "cluster.hosts_per_rack=2"});
  EXPECT_EQ(hosts.arithmetic_sha256, plain.arithmetic_sha256);
  EXPECT_NE(hosts.scenario_sha256, plain.scenario_sha256);
  EXPECT_EQ(plain.text.find("ranks_per_host"), std::string::npos);
  EXPECT_EQ(plain.text.find("hosts_per_rack"), std::string::npos);
}

}  // namespace
}  // namespace rehearse
