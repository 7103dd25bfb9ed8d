// A program of one's own on simulated ranks: rank 0 is a parameter server, the others are workers. In every round a
// worker computes for a while and sends its gradient; the server adds what has come and sends the sum back. Worker 2
// dies in the middle: the server hears of it as a real one would, and goes on with the rest.

#include <cstdio>
#include <set>
#include <vector>

#include "core/comm/process_group.h"
#include "sim/cluster/world.h"

using namespace rehearse;

namespace {

constexpr int kRounds = 10;
constexpr Bytes kGradient(4 << 20);

struct Result {
  int rounds = 0;
  std::set<int> lost;
};

Task<> serve(RankContext& context, ProcessGroup& group, Result& result) {
  for (int round = 0; round < kRounds; ++round) {
    const Call call = group.next_call(Operation::kPointToPoint);
    for (int worker = 1; worker < group.size(); ++worker) {
      if (result.lost.contains(worker)) continue;
      bool here = true;
      try {
        co_await context.comm().recv(call, worker);
        Payload sum = Payload::shape_only(kGradient);
        co_await context.comm().send(call, worker, std::move(sum));
      } catch (const CommError& error) {
        here = error.kind() != CommError::Kind::kPeerLost;
      }
      if (!here) result.lost.insert(worker);
    }
    ++result.rounds;
  }
}

Task<> work(RankContext& context, ProcessGroup& group) {
  for (int round = 0; round < kRounds; ++round) {
    const Call call = group.next_call(Operation::kPointToPoint);
    co_await context.clock().sleep_for(Duration::microseconds(200));
    Payload gradient = Payload::shape_only(kGradient);
    co_await context.comm().send(call, 0, std::move(gradient));
    co_await context.comm().recv(call, 0);
  }
}

}  // namespace

int main() {
  WorldConfig config;
  config.ranks = 4;
  config.network.latency = Duration::microseconds(5);
  config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
  config.device.rate = FlopRate::per_second(19'500'000'000'000);
  config.storing = Storing::kShapeOnly;
  Result result;
  World world(config);
  world.start_all([&result](RankContext& context) -> Task<> {
    ProcessGroup group = ProcessGroup::world(context);
    if (context.rank() == 0) {
      co_await serve(context, group, result);
    } else {
      co_await work(context, group);
    }
  });
  world.run(60);
  world.crash(2);
  const RunEnd end = world.run();
  std::printf("%d rounds, %zu worker lost, %s of simulated time\n", result.rounds, result.lost.size(),
              to_string(world.now().since_start()).c_str());
  return end == RunEnd::kDone && result.rounds == kRounds && result.lost == std::set<int>{2} ? 0 : 1;
}
