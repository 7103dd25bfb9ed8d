#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/collectives.h"
#include "sim/cluster/world.h"
#include "tests/core/comm/oracle.h"

namespace rehearse {

inline NetworkConfig a_switch(Duration latency, Bandwidth bandwidth) {
  NetworkConfig network;
  network.latency = latency;
  network.bandwidth = bandwidth;
  return network;
}

// Latencies and bandwidths that a closed form must hold for: usual ones, whole picoseconds per byte and not, latency
// far below and far above the transfer times, none at all.
inline std::vector<NetworkConfig> networks() {
  return {a_switch(Duration::microseconds(5), Bandwidth::bits_per_second(100'000'000'000)),
          a_switch(Duration::microseconds(1), Bandwidth::bits_per_second(10'000'000'000)),
          a_switch(Duration::nanoseconds(700), Bandwidth::bits_per_second(3'000'000'000)),
          a_switch(Duration::picoseconds(1), Bandwidth::bits_per_second(7'777'777)),
          a_switch(Duration(), Bandwidth::bits_per_second(1'000'000'000)),
          a_switch(Duration::milliseconds(3), Bandwidth::bits_per_second(400'000'000'000))};
}
inline NetworkConfig default_network() { return networks()[0]; }

// N ranks behind a switch that run one program to its end.
class Ranks {
 public:
  explicit Ranks(int size, const NetworkConfig& network = default_network(), Storing storing = Storing::kElements)
      : world_(config(size, network, storing)), finished_(static_cast<std::size_t>(size)) {}

  World& world() { return world_; }

  // `program` is called once a rank, and must not be a coroutine with captures itself. Fails the test unless every rank
  // ends well.
  void run(const std::function<Task<>(RankContext&)>& program) {
    world_.start_all([this, program](RankContext& context) { return timed(*this, context, program(context)); });
    ASSERT_EQ(world_.run(), RunEnd::kDone) << describe_waiting(world_.kernel().waiting());
    for (int rank = 0; rank < world_.ranks(); ++rank) {
      ASSERT_EQ(world_.state(rank), World::RankState::kEnded) << what(world_.error(rank));
    }
  }

  // When the program of a rank, or of the last one, was done.
  Duration finished(int rank) const { return finished_[static_cast<std::size_t>(rank)]; }
  Duration elapsed() const { return *std::max_element(finished_.begin(), finished_.end()); }

  // Checks the messages and bytes of one rank, all of them in `operation`.
  void expect_traffic(int rank, Operation operation, std::int64_t messages_sent, std::int64_t bytes_sent,
                      std::int64_t messages_received, std::int64_t bytes_received) {
    for (int k = 0; k < kOperations; ++k) {
      const auto other = static_cast<Operation>(k);
      const TrafficCounters& found = world_.network().counters(rank, other);
      const int here = other == operation ? 1 : 0;
      EXPECT_EQ(found.messages_sent, here * messages_sent) << "rank " << rank << ", " << name_of(other);
      EXPECT_EQ(found.bytes_sent.count(), here * bytes_sent) << "rank " << rank << ", " << name_of(other);
      EXPECT_EQ(found.messages_received, here * messages_received) << "rank " << rank << ", " << name_of(other);
      EXPECT_EQ(found.bytes_received.count(), here * bytes_received) << "rank " << rank << ", " << name_of(other);
    }
  }

 private:
  static WorldConfig config(int size, const NetworkConfig& network, Storing storing) {
    WorldConfig config;
    config.ranks = size;
    config.network = network;
    config.storing = storing;
    return config;
  }

  static Task<> timed(Ranks& ranks, RankContext& context, Task<> program) {
    co_await std::move(program);
    ranks.finished_[static_cast<std::size_t>(context.rank())] = context.clock().now().since_start();
  }

  static std::string what(const std::exception_ptr& error) {
    if (error == nullptr) return "no exception";
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  World world_;
  std::vector<Duration> finished_;
};

// A collective of the world group over one buffer, in place.
using InPlace = Task<> (*)(ProcessGroup&, BufferView);

inline Task<> on_world(RankContext& context, InPlace collective, BufferView buffer) {
  ProcessGroup world = ProcessGroup::world(context);
  co_await collective(world, buffer);
}

// A view on each rank's numbers.
template <class T>
BufferView view_of(PerRank<T>& values, int rank) {
  return BufferView(std::span(values[static_cast<std::size_t>(rank)]));
}

inline BufferView shape_of(DType dtype, std::int64_t count) {
  BufferView shape;
  shape.dtype = dtype;
  shape.count = count;
  return shape;
}

}  // namespace rehearse
