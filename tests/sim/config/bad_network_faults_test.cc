// Faults of the network that make no sense as they are written, and how good ones read.

#include <gtest/gtest.h>

#include <string>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

// In line 9: column 10 is the first of the fault.
std::string with(const std::string& fault) { return kGoodScenario + "faults { " + fault + " }\n"; }

struct BadNetworkFault {
  const char* name;
  std::string fault;
  std::string error;  // after the line
};
void PrintTo(const BadNetworkFault& test, std::ostream* out) { *out << test.name; }

class BadNetworkFaultTest : public ::testing::TestWithParam<BadNetworkFault> {};

TEST_P(BadNetworkFaultTest, IsRefusedWhereItStands) {
  EXPECT_EQ(error_of(with(GetParam().fault)), "dir/s.textproto:9:" + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Links, BadNetworkFaultTest,
    ::testing::Values(
        BadNetworkFault{"NoSuchRank", "link_down { from: 4 }",
                        "28: faults.link_down[0].from: found 4; allowed: 0 to cluster.ranks - 1 = 3"},
        BadNetworkFault{"RankBeyond32Bits", "loss { to: 4294967296 }",
                        "21: faults.loss[0].to: found 4294967296; allowed: 0 to cluster.ranks - 1 = 3"},
        BadNetworkFault{"ToItself", "delay { from: 2 to: 2 by: \"1us\" }",
                        "30: faults.delay[0].to: found 2, the rank that the link comes from; allowed: another, as no "
                        "rank has a link to itself"},
        BadNetworkFault{"PartitionOfNobody", "partition { }",
                        "10: faults.partition[0]: says no rank on the one side; allowed: a: RANK, once or more"},
        BadNetworkFault{"PartitionOfAll", "partition { a: [0, 1, 2, 3] }",
                        "10: faults.partition[0]: has every rank in a; allowed: at least one on the other side"},
        BadNetworkFault{"PartitionTwice", "partition { a: 1 a: 1 }",
                        "30: faults.partition[0].a[1]: found rank 1 a second time; allowed: once"},
        BadNetworkFault{"PartitionOnBothSides", "partition { a: 1 b: 2 b: 1 }",
                        "35: faults.partition[0].b[1]: found rank 1, which is in a; allowed: a rank on one side"},
        BadNetworkFault{"PartitionNoSuchRank", "partition { a: 1 b: 7 }",
                        "30: faults.partition[0].b[0]: found 7; allowed: 0 to cluster.ranks - 1 = 3"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Windows, BadNetworkFaultTest,
    ::testing::Values(
        BadNetworkFault{"EndsBeforeItBegins", "link_down { from_time: \"2s\" until_time: \"2s\" }",
                        "50: faults.link_down[0].until_time: found \"2s\"; allowed: a time after from_time, which is "
                        "\"2s\""},
        BadNetworkFault{"EndsAtTheStart", "link_down { until_time: \"0ps\" }",
                        "34: faults.link_down[0].until_time: found \"0ps\"; allowed: a time after the start"},
        BadNetworkFault{"EndsInTheStepItBegins", "loss { from_step: 5 until_step: 5 }",
                        "42: faults.loss[0].until_step: found 5; allowed: a step after from_step, which is 5"},
        BadNetworkFault{"StepBeyondTheRun", "loss { from_step: 21 }",
                        "28: faults.loss[0].from_step: found 21; allowed: a step of the run, 1 to train.steps, which "
                        "is 20"},
        BadNetworkFault{"LastStepBeyondTheRun", "loss { until_step: 21 }",
                        "29: faults.loss[0].until_step: found 21; allowed: a step of the run, 1 to train.steps, which "
                        "is 20"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Values, BadNetworkFaultTest,
    ::testing::Values(
        BadNetworkFault{"ProbabilityZero", "loss { probability: 0 }",
                        "30: faults.loss[0].probability: found '0'; allowed: numbers above 0 up to 1"},
        BadNetworkFault{"ProbabilityBeyondOne", "corrupt { probability: 1.5 }",
                        "33: faults.corrupt[0].probability: found '1.5'; allowed: numbers above 0 up to 1"},
        BadNetworkFault{"ProbabilityTooFine", "loss { probability: 0.00000000001 }",
                        "30: faults.loss[0].probability: found more than 9 decimals; allowed: at most 9"},
        BadNetworkFault{"CountZero", "duplicate { count: 0 }",
                        "29: faults.duplicate[0].count: found '0'; allowed: whole numbers from 1 to 1000000000000"},
        BadNetworkFault{"MessageZero", "reorder { message: 0 }",
                        "29: faults.reorder[0].message: found '0'; allowed: whole numbers from 1 to 1000000000000"},
        BadNetworkFault{
            "DelayOfNothing", "delay { by: \"0ps\" }",
            "22: faults.delay[0].by: found \"0ps\"; allowed: a duration above 0 such as \"5us\", in quotes"},
        BadNetworkFault{"DelayWithoutTime", "delay { }",
                        "10: faults.delay[0].by: missing; allowed: a duration above 0 "
                        "such as \"5us\", in quotes"},
        BadNetworkFault{"FactorZero", "link_bandwidth { factor: 0 }",
                        "35: faults.link_bandwidth[0].factor: found '0'; allowed: numbers from 1e-06 to 1"},
        BadNetworkFault{"LatencyOfNothing", "link_latency { from: 1 }",
                        "10: faults.link_latency[0]: adds nothing; allowed: added, jitter or both"},
        BadNetworkFault{"NoSuchPackets", "loss { of: EVERYTHING }",
                        "21: faults.loss[0].of: found 'EVERYTHING'; allowed: MESSAGES, ACKS, ALL"}),
    [](const auto& test) { return test.param.name; });

TEST(BadTransport, IsRefusedWhereItStands) {
  const auto transport = [](const std::string& fields) {
    return good_with("network { latency: \"5us\" }", "network { transport { " + fields + " } }");
  };
  EXPECT_EQ(error_of(transport("backoff: 0.5")),
            "dir/s.textproto:3:51: cluster.network.transport.backoff: found '0.5'; allowed: numbers from 1 to 1000");
  EXPECT_EQ(error_of(transport("backoff: 1.00000000001")),
            "dir/s.textproto:3:51: cluster.network.transport.backoff: found more than 9 decimals; allowed: at most 9");
  EXPECT_EQ(error_of(transport("max_retries: -1")),
            "dir/s.textproto:3:55: cluster.network.transport.max_retries: found '-1'; allowed: whole numbers from 0 "
            "to 1000000");
}

TEST(NetworkFaults, AreReadAsTheyAreWritten) {
  const Scenario scenario = load_text(
      with("link_down { from: 0 to: 2 both_ways: true from_time: \"1ms\" until_step: 9 } "
           "partition { a: 3 one_way: true from_step: 5 } "
           "link_bandwidth { to: 1 factor: 0.25 } "
           "link_latency { added: \"3us\" jitter: \"7ns\" } "
           "loss { probability: 0.01 } loss { from: 1 message: 4 count: 2 of: ACKS } "
           "duplicate { after: \"2us\" } reorder { } delay { by: \"4us\" } corrupt { probability: 1 count: 3 }"));
  const std::vector<NetworkFault>& faults = scenario.faults.network.faults;
  ASSERT_EQ(faults.size(), 10U);
  EXPECT_EQ(faults[0].kind, NetworkFaultKind::kLinkDown);
  EXPECT_EQ(text_of(faults[0].links), "link 0 <-> 2");
  EXPECT_EQ(faults[0].window.from_time, TimePoint::at(Duration::milliseconds(1)));
  EXPECT_EQ(faults[0].window.until_step, 9);
  EXPECT_EQ(text_of(faults[1].links), "the links from rank 3 to ranks 0, 1, 2");
  EXPECT_EQ(faults[1].window.from_step, 5);
  EXPECT_EQ(faults[2].bandwidth_ppb, 250'000'000);
  EXPECT_EQ(text_of(faults[2].links), "every link to rank 1");
  EXPECT_EQ(faults[3].by, Duration::microseconds(3));
  EXPECT_EQ(faults[3].jitter, Duration::nanoseconds(7));
  // With a probability any number, of any packets; without, one message.
  EXPECT_EQ(faults[4].strikes.probability_ppb, 10'000'000);
  EXPECT_FALSE(faults[4].strikes.count.has_value());
  EXPECT_EQ(faults[4].strikes.of, PacketChoice::kAll);
  EXPECT_EQ(faults[5].index, 1);
  EXPECT_EQ(faults[5].strikes.first, 4);
  EXPECT_EQ(faults[5].strikes.count, 2);
  EXPECT_EQ(faults[5].strikes.of, PacketChoice::kAcks);
  EXPECT_EQ(faults[6].by, Duration::microseconds(2));
  EXPECT_EQ(faults[6].strikes.count, 1);
  EXPECT_EQ(faults[6].strikes.of, PacketChoice::kMessages);
  EXPECT_EQ(faults[7].by, Duration::microseconds(20));
  EXPECT_EQ(faults[8].by, Duration::microseconds(4));
  EXPECT_EQ(faults[9].strikes.probability_ppb, 1'000'000'000);
  EXPECT_EQ(faults[9].strikes.count, 3);
  ASSERT_TRUE(scenario.transport.has_value());
  EXPECT_EQ(scenario.transport->max_retries, 100);
  // The canonical form reads back to the same.
  EXPECT_EQ(load_text(scenario.text).text, scenario.text);
}

// Where there is no transport, the text says nothing of one: it is in every checkpoint, whose size takes time.
TEST(NetworkFaults, ATransportIsThereWhereItIsNeededOrWritten) {
  EXPECT_FALSE(load_text(kGoodScenario).transport.has_value());
  EXPECT_EQ(load_text(kGoodScenario).text.find("transport"), std::string::npos);
  EXPECT_FALSE(load_text(with("link_latency { added: \"1us\" }")).transport.has_value());
  EXPECT_TRUE(load_text(with("loss { }")).transport.has_value());
  const Scenario asked = load_text(good_with(
      "network { latency: \"5us\" }",
      "network { transport { retransmission_timeout: \"7us\" backoff: 1.5 max_timeout: \"1ms\" max_retries: 3 "
      "checksums: false } }"));
  ASSERT_TRUE(asked.transport.has_value());
  EXPECT_EQ(asked.transport->retransmission_timeout, Duration::microseconds(7));
  EXPECT_EQ(asked.transport->backoff_ppb, 1'500'000'000);
  EXPECT_EQ(asked.transport->max_timeout, Duration::milliseconds(1));
  EXPECT_EQ(asked.transport->max_retries, 3);
  EXPECT_FALSE(asked.transport->checksums);
  EXPECT_NE(asked.text.find("checksums: false"), std::string::npos);
}

TEST(NetworkFaults, AreFaultsToLeaveOut) {
  std::string text =
      good_with("expect { loss: FALLS resume_from: 10 final_step: 20 }", "expect { same_weights_as: \"fault-free\" }");
  const Scenario scenario = load_text(text + "faults { loss { } }\n");
  ASSERT_TRUE(scenario.expect.same_weights_as.has_value());
  EXPECT_TRUE(scenario.expect.same_weights_as->scenario->faults.empty());
  EXPECT_FALSE(scenario.expect.same_weights_as->scenario->transport.has_value());
}

}  // namespace
}  // namespace rehearse
