#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/cluster/world.h"
#include "sim/net/config.h"

namespace rehearse {

struct Scenario;

// Where a collective is timed: ranks and their network, whole and without faults.
struct BenchCluster {
  int ranks = 1;
  int most_ranks = 0;  // that the network is made for, if more
  NetworkConfig network;
  std::uint64_t seed = 1;  // of jitter and of the choice among ways of the same cost
};
// The scenario's, without its faults.
BenchCluster bench_cluster(const Scenario& scenario);

// What a link has had to carry.
struct LinkUse {
  std::string name;  // "rank 3 -> switch"
  std::int64_t messages = 0;
  Bytes bytes;
  Duration busy;  // what its bytes take at its bandwidth, however many messages shared it
  // `busy` in billionths of the whole time.
  std::int64_t utilisation_ppb = 0;
};

struct BenchRun {
  Duration time;  // until the last rank was done
  std::int64_t messages = 0;
  Bytes bytes;            // of all messages
  Bytes bytes_of_a_rank;  // sent by the one that sent most
  // The link that was busy longest, the first of several; without messages, and with `fabric: IDEAL`, it has no name.
  LinkUse bottleneck;
};

// Runs the program on every rank of a world of its own, without payload, all starting at time 0. `program` is called
// once a rank and must not be a coroutine with captures itself. Throws what a rank's program threw. Requires that it
// ends.
BenchRun run_bench(const BenchCluster& cluster, const std::function<Task<>(RankContext&)>& program);

}  // namespace rehearse
