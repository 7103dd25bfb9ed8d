// Networks that make no sense as they are written, and how good ones read.

#include <gtest/gtest.h>

#include <string>

#include "sim/net/topology.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

// In line 3: column 20 is the first of what stands in the network.
std::string with(const std::string& network, const std::string& cluster = "") {
  return good_with("cluster { ranks: 4 network { latency: \"5us\" } }",
                   "cluster { network { " + network + " } ranks: 4 " + cluster + " }");
}

struct BadTopology {
  const char* name;
  std::string network;
  std::string error;  // after the line
  std::string cluster = "";
};
void PrintTo(const BadTopology& test, std::ostream* out) { *out << test.name; }

class BadTopologyTest : public ::testing::TestWithParam<BadTopology> {};

TEST_P(BadTopologyTest, IsRefusedWhereItStands) {
  EXPECT_EQ(error_of(with(GetParam().network, GetParam().cluster)), "dir/s.textproto:3:" + GetParam().error);
}

const char* kGraph =
    "topology { graph { node { name: \"a\" } link { from: \"rank 0\" to: \"a\" latency: \"1us\" bandwidth: \"1Gbps\" "
    "} ";

INSTANTIATE_TEST_SUITE_P(
    Shapes, BadTopologyTest,
    ::testing::Values(
        BadTopology{"TorusOfOthers", "topology { torus { x: 3 } }",
                    "32: cluster.network.topology.torus: found x 3, y 1, z 1; allowed: with the product 4, the number "
                    "of ranks"},
        BadTopology{"TorusBeyond64Bits", "topology { torus { x: 65536 y: 65536 z: 65536 } }",
                    "32: cluster.network.topology.torus: found x 65536, y 65536, z 65536; allowed: with the product 4, "
                    "the number of ranks"},
        BadTopology{"TorusOfNothing", "topology { torus { x: 0 } }",
                    "43: cluster.network.topology.torus.x: found '0'; allowed: whole numbers from 1 to 65536"},
        BadTopology{"NoSuchShape", "topology { tors { x: 4 } }",
                    "32: cluster.network.topology.tors: unknown field; did you mean 'torus'?"},
        BadTopology{"HostsOfDirectlyJoinedRanks",
                    "topology { ring { } hosts { ranks: 2 latency: \"1us\" bandwidth: \"1Tbps\" } }",
                    "41: cluster.network.topology.hosts: found with ranks that are joined directly or by a graph; "
                    "allowed: alone, or with leaf_spine"},
        BadTopology{
            "HostsWithoutASize", "topology { hosts { latency: \"1us\" bandwidth: \"1Tbps\" } }",
            "32: cluster.network.topology.hosts.ranks: missing; allowed: whole numbers from 1 to 65536, here or "
            "as cluster.ranks_per_host"},
        BadTopology{"HostsOfTwoSizes", "topology { hosts { ranks: 4 latency: \"1us\" bandwidth: \"1Tbps\" } }",
                    "47: cluster.network.topology.hosts.ranks: found 4; allowed: cluster.ranks_per_host, which is 2",
                    "ranks_per_host: 2"},
        BadTopology{"AbsurdBandwidth", "topology { hosts { ranks: 2 latency: \"1us\" bandwidth: \"1001Tbps\" } }",
                    "75: cluster.network.topology.hosts.bandwidth: found \"1001Tbps\"; allowed: up to \"1000Tbps\""},
        BadTopology{"AbsurdPorts", "bandwidth: \"1001Tbps\" topology { ring { } }",
                    "32: cluster.network.bandwidth: found \"1001Tbps\" with a topology or a fabric; allowed: up to "
                    "\"1000Tbps\""},
        BadTopology{"RailsThatHostsDoNotHave",
                    "topology { leaf_spine { ports_per_leaf: 2 spines: 1 rails: 3 } hosts { ranks: 4 latency: \"1us\" "
                    "bandwidth: \"1Tbps\" } }",
                    "80: cluster.network.topology.leaf_spine.rails: found 3; allowed: a divisor of the ranks of a "
                    "host, which are 4"},
        BadTopology{"MoreRailsThanPorts", "topology { leaf_spine { ports_per_leaf: 2 spines: 1 rails: 5 } }",
                    "80: cluster.network.topology.leaf_spine.rails: found 5; allowed: at most one for each of the 4 "
                    "ports"},
        BadTopology{"UplinkOfNoWholeBits",
                    "topology { leaf_spine { ports_per_leaf: 2 spines: 3 oversubscription: 7 } }",
                    "91: cluster.network.topology.leaf_spine.oversubscription: makes an uplink of no whole number of "
                    "bits a second from 1 to 10^15; allowed: ports_per_leaf x network.bandwidth / (spines x "
                    "oversubscription) that is one, or uplink_bandwidth instead"},
        BadTopology{"StoreAndForwardWithoutHops", "fabric: MAX_MIN topology { ring { } store_and_forward: true }",
                    "76: cluster.network.topology.store_and_forward: found true with the fabric MAX_MIN, which knows "
                    "no single hop; allowed: only with PORTS"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Graphs, BadTopologyTest,
    ::testing::Values(
        BadTopology{
            "Disconnected", std::string(kGraph) + "} }",
            "32: cluster.network.topology.graph: has no way from rank 1 to rank 0; allowed: one from every rank "
            "to every other one"},
        BadTopology{
            "NoSuchNode",
            std::string(kGraph) + "link { from: \"rank 1\" to: \"b\" latency: \"1us\" "
                                  "bandwidth: \"1Gbps\" } } }",
            "151: cluster.network.topology.graph.link[1].to: found \"b\", which is no node; allowed: \"rank 0\" "
            "to \"rank 3\", or the name of a node"},
        BadTopology{"NoSuchRank",
                    std::string(kGraph) + "link { from: \"rank 4\" to: \"a\" latency: \"1us\" "
                                          "bandwidth: \"1Gbps\" } } }",
                    "138: cluster.network.topology.graph.link[1].from: found \"rank 4\", which is no node; allowed: "
                    "\"rank 0\" to \"rank 3\", or the name of a node"},
        BadTopology{"ToItself",
                    std::string(kGraph) + "link { from: \"a\" to: \"a\" latency: \"1us\" bandwidth: "
                                          "\"1Gbps\" } } }",
                    "146: cluster.network.topology.graph.link[1].to: found \"a\", where the link comes from; allowed: "
                    "another node"},
        BadTopology{"TwoOfOneName", std::string(kGraph) + "node { name: \"a\" } } }",
                    "138: cluster.network.topology.graph.node[1].name: found \"a\" a second time; allowed: once"},
        BadTopology{"ANodeThatReadsLikeARank", std::string(kGraph) + "node { name: \"rank x\" } } }",
                    "138: cluster.network.topology.graph.node[1].name: found \"rank x\"; allowed: names that do not "
                    "begin with \"rank\""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Combinations, BadTopologyTest,
    ::testing::Values(
        BadTopology{"IdealWithATopology", "fabric: IDEAL topology { ring { } }",
                    "35: cluster.network.topology: found with the fabric IDEAL, over which messages take no time; "
                    "allowed: another fabric, or no topology"},
        BadTopology{"IdealWithJitter", "fabric: IDEAL jitter: \"1us\"",
                    "43: cluster.network.jitter: found \"1us\" with the fabric IDEAL, over which messages take no "
                    "time; allowed: \"0ps\""},
        BadTopology{"UnknownFabric", "fabric: FAIR",
                    "29: cluster.network.fabric: found 'FAIR'; allowed: PORTS, MAX_MIN, ALPHA_BETA, IDEAL"},
        BadTopology{"UnknownPreset", "preset: \"infiniband\"",
                    "29: cluster.network.preset: found \"infiniband\"; allowed: ethernet-100g, infiniband-hdr, "
                    "infiniband-ndr, nvlink3, nvlink4, nvlink5, nvlink3-effective, nvlink4-effective, "
                    "nvlink5-effective, tcp-lan"},
        BadTopology{"ATransport", "fabric: MAX_MIN transport { }",
                    "37: cluster.network.transport: found with a topology, a fabric, an overhead or a gap of its own; "
                    "allowed: only with the fabric PORTS on a switch"},
        BadTopology{"IdealWithAnOverhead", "fabric: IDEAL overhead: \"1us\"",
                    "45: cluster.network.overhead: found with the fabric IDEAL, over which messages take no time; "
                    "allowed: another fabric"}),
    [](const auto& test) { return test.param.name; });

TEST(BadTopology, FaultsOfLinksNeedLinksThatCanFail) {
  const std::string faults = "faults { link_latency { from: 1 added: \"1us\" } }\n";
  EXPECT_EQ(
      error_of(with("topology { ring { } }") + faults),
      "dir/s.textproto:9:10: faults.link_latency[0]: found with a topology, a fabric, an overhead or a gap of its "
      "own; allowed: only with the fabric PORTS on a switch");
  EXPECT_EQ(error_of(with("") + faults), "no error");
}

TEST(BadTopology, AJobThatIsCountedSendsNoMessages) {
  EXPECT_EQ(error_of("name: \"job\"\ncluster { network { fabric: MAX_MIN } }\njob { step: \"1s\" steps: 3 }\n"),
            "dir/s.textproto:2:29: cluster.network.fabric: found in a scenario with a job, which sends no messages; "
            "allowed: latency, bandwidth, jitter");
}

TEST(Topologies, TheDefaultIsASwitchAndSaysNothingOfTopologies) {
  const Scenario plain = load_text(kGoodScenario);
  EXPECT_TRUE(plain.network.is_plain());
  EXPECT_EQ(plain.text.find("topology"), std::string::npos);
  EXPECT_EQ(plain.text.find("fabric"), std::string::npos);
}

TEST(Topologies, OfALeafSpineHaveTheUplinksOfTheirOversubscription) {
  const Scenario s =
      load_text(with("bandwidth: \"100Gbps\" topology { leaf_spine { ports_per_leaf: 2 spines: 2 "
                     "oversubscription: 4 hop_latency: \"300ns\" } }"));
  const Topology& topology = *s.network.topology;
  EXPECT_EQ(topology.nodes(), 4 + 2 + 2);
  EXPECT_EQ(topology.links(), 2 * 4 + 2 * 4);
  EXPECT_EQ(topology.link(8).bandwidth, Bandwidth::bits_per_second(25'000'000'000));
  EXPECT_EQ(topology.link(8).latency, Duration::nanoseconds(300));
  EXPECT_EQ(topology.link(0).latency, Duration::microseconds(5));
  EXPECT_EQ(topology.link_name(8), "leaf 0 -> spine 0");
}

TEST(Topologies, OfAGraphHaveItsNodesAndLinks) {
  std::string links;
  for (const char* rank : {"rank 0", "rank 1", "rank 2", "rank 3"}) {
    links += "link { from: \"" + std::string(rank) + "\" to: \"hub\" latency: \"1us\" bandwidth: \"1Gbps\" cost: 2 } ";
  }
  const Scenario s = load_text(with("topology { graph { node { name: \"hub\" } " + links + "} }"));
  EXPECT_EQ(s.network.topology->links(), 8);
  EXPECT_EQ(s.network.topology->link_name(7), "hub -> rank 3");
  EXPECT_EQ(s.network.topology->link(7).cost, 2);
}

TEST(Topologies, APresetIsItsNumbersWrittenOut) {
  const Scenario s = load_text(with("preset: \"nvlink4\" latency: \"3us\""));
  EXPECT_EQ(s.network.latency, Duration::microseconds(3));
  EXPECT_EQ(s.network.bandwidth, Bandwidth::bits_per_second(400'000'000'000));
  ASSERT_NE(s.network.topology, nullptr);
  EXPECT_EQ(s.network.topology->node_name(4), "host 0");
  EXPECT_NE(s.text.find("ranks: 8"), std::string::npos);
  const Scenario flat = load_text(with("preset: \"tcp-lan\""));
  EXPECT_TRUE(flat.network.is_plain());
  EXPECT_EQ(flat.network.bandwidth, Bandwidth::bits_per_second(1'000'000'000));
}

TEST(BadTopology, RanksThatAreNumberedAnewHaveNoPlacesOfTheirOwn) {
  const std::string elastic = "recovery { mode: ELASTIC }";
  for (const char* shape : {"ring { }", "torus { x: 2 y: 2 }", "leaf_spine { ports_per_leaf: 2 spines: 2 }"}) {
    EXPECT_NE(error_of(with("topology { " + std::string(shape) + " }") + elastic)
                  .find("recovery.mode: found ELASTIC with a topology in which ranks have places"),
              std::string::npos)
        << shape;
  }
  // The expectations of the file are of one number of ranks.
  for (const char* alike : {"topology { full_mesh { } }", "fabric: MAX_MIN"}) {
    EXPECT_NE(error_of(with(alike) + elastic).find("expect.resume_from: found with recovery.mode"), std::string::npos);
  }
}

// A scenario that was written out has all numbers of its preset.
TEST(BadTopology, AnOptionWithAPresetOfWhichNothingWouldCountIsRefused) {
  const std::string written = load_text(with("preset: \"nvlink4\"")).text;
  for (const char* preset : {"tcp-lan", "nvlink3"}) {
    EXPECT_NE(error_of(written, {"cluster.network.preset=" + std::string(preset)}).find("nothing of it would count"),
              std::string::npos)
        << preset;
  }
}

TEST(Topologies, HostsOfTheNetworkAreTheHostsThatAreLost) {
  const Scenario s = load_text(with("topology { hosts { ranks: 2 latency: \"1us\" bandwidth: \"1Tbps\" } }"));
  EXPECT_EQ(s.hosts.ranks_per_host, 2);
  EXPECT_EQ(load_text(s.text).hosts.ranks_per_host, 2);
}

// What was read and written out reads as the same again.
TEST(Topologies, AreWrittenOutAndReadAgain) {
  for (const std::string& network :
       {std::string("preset: \"nvlink3\""), std::string("fabric: MAX_MIN topology { full_mesh { } }"),
        std::string("fabric: ALPHA_BETA topology { torus { x: 2 y: 2 } }"),
        std::string("topology { ring { } store_and_forward: true }"), std::string("overhead: \"2us\" gap: \"3us\""),
        std::string("fabric: IDEAL"),
        std::string("topology { leaf_spine { ports_per_leaf: 2 spines: 2 } hosts { ranks: 1 latency: \"1us\" "
                    "bandwidth: \"1Tbps\" nic: PER_HOST } }")}) {
    const Scenario once = load_text(with(network));
    const Scenario again = load_text(once.text);
    EXPECT_EQ(once.text, again.text);
    EXPECT_EQ(once.scenario_sha256, again.scenario_sha256);
    EXPECT_EQ(once.arithmetic_sha256, load_text(kGoodScenario).arithmetic_sha256) << network;
  }
}

}  // namespace
}  // namespace rehearse
