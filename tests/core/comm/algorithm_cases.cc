#include "tests/core/comm/algorithm_cases.h"

namespace rehearse {

std::vector<AllReduceCase> all_reduce_cases(int ranks) {
  std::vector<AllReduceCase> cases = {AllReduceAlgorithm::kRing, AllReduceAlgorithm::kHalvingDoubling,
                                      AllReduceAlgorithm::kRecursiveDoubling, AllReduceAlgorithm::kBinomialTree,
                                      AllReduceAlgorithm::kDoubleBinaryTree};
  for (const std::int64_t segment : {0, 1, 1000}) {
    cases.emplace_back(AllReduceAlgorithm::kDoubleBinaryTree, AlgorithmOptions(Bytes(segment), 1));
  }
  for (int per_host = 1; per_host <= ranks; ++per_host) {
    if (ranks % per_host != 0) continue;
    cases.emplace_back(AllReduceAlgorithm::kHierarchical, AlgorithmOptions(Bytes(), per_host));
  }
  return cases;
}

std::vector<NetworkConfig> networks_with_latency() {
  std::vector<NetworkConfig> all;
  for (const NetworkConfig& network : networks()) {
    if (network.latency > Duration()) all.push_back(network);
  }
  return all;
}

Task<> on_world_buffer(RankContext& context, const OnBuffer& collective, BufferView buffer) {
  ProcessGroup world = ProcessGroup::world(context);
  co_await collective(world, buffer);
}

bool expect_schedule(const std::string& what, int ranks, const NetworkConfig& network, Operation operation,
                     const MessageGraph& graph,
                     const std::function<Task<>(RankContext&, bool with_elements)>& program) {
  SCOPED_TRACE(what + ", " + std::to_string(ranks) + " ranks, latency " + to_string(network.latency));
  std::vector<Duration> finished = graph.finished(network);
  const bool settled = finished == graph.finished(network, MessageGraph::Ties::kLaterFirst);
  const std::vector<MessageGraph::Traffic> traffic = graph.traffic();
  std::uint64_t events = 0;
  for (const bool with_elements : {true, false}) {
    Ranks world(ranks, network, with_elements ? Storing::kElements : Storing::kShapeOnly);
    world.run([&](RankContext& context) { return program(context, with_elements); });
    if (with_elements) events = world.world().kernel().events();
    EXPECT_EQ(world.world().kernel().events(), events);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      if (with_elements && !settled) finished[r] = world.finished(rank);
      EXPECT_EQ(world.finished(rank).ps(), finished[r].ps()) << "rank " << rank;
      world.expect_traffic(rank, operation, traffic[r].messages_sent, traffic[r].bytes_sent,
                           traffic[r].messages_received, traffic[r].bytes_received);
      const MemoryAccount& memory = world.world().memory(rank);
      EXPECT_EQ(memory.current(MemoryKind::kCommunication), Bytes());
      if (!with_elements) {
        EXPECT_EQ(memory.peak(MemoryKind::kCommunication), Bytes());
      }
    }
  }
  return settled;
}

}  // namespace rehearse
