#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/rank_context.h"
#include "sim/compute/config.h"
#include "sim/fault/config.h"
#include "sim/kernel/kernel.h"
#include "sim/net/config.h"
#include "sim/net/network.h"
#include "sim/net/transport.h"

namespace rehearse {

// What ranks live in.
struct WorldConfig {
  int ranks = 4;
  std::uint64_t seed = 1;
  NetworkConfig network;
  std::optional<TransportConfig> transport;  // a reliable transport over the network, for where it can lose
  LinkConditions* links = nullptr;           // faulty links; null: whole ones. Outlives the world
  DeviceConfig device;
  Storing storing = Storing::kElements;
};

// What a rank runs: an ordinary coroutine. The context outlives it.
using RankProgram = std::function<Task<>(RankContext&)>;

// A simulated cluster: nodes with their memory and payloads, a network, and on every node the current incarnation of a
// rank. Nothing global: worlds in one process do not see each other.
class World {
 public:
  explicit World(const WorldConfig& config);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int ranks() const { return static_cast<int>(nodes_.size()); }
  Kernel& kernel() { return kernel_; }
  TimePoint now() const { return kernel_.now(); }
  Network& network() { return network_; }
  // Null where there is none.
  const Transport* transport() const { return transport_; }

  // Makes the storage that a rank's process sees; called once an incarnation. Before start().
  using StorageFactory = std::function<std::unique_ptr<Storage>(Process&)>;
  void set_storage(StorageFactory factory) { storage_factory_ = std::move(factory); }
  // Watches rank `rank`; it must outlive the world. Before start().
  void set_tracer(int rank, Tracer* tracer);

  // Starts the program on a rank, or on every one. A rank that was crashed or has ended gets a new incarnation.
  void start(int rank, RankProgram program, std::uint32_t generation = 0);
  void start_all(const RankProgram& program);

  // The rank's process dies now: its coroutines are destroyed. With kProcess its peers see a broken connection one
  // latency later; with kHost they see nothing until the rank is started again. From an event or between runs, not from
  // a coroutine of that rank.
  void crash(int rank, CrashKind kind = CrashKind::kProcess);

  // The rank's process stops without dying; like a lost host, it says nothing any more, but it counts as running.
  void hang(int rank);

  // The rank's device takes numerator/denominator times as long as the configuration says, from now on and after
  // restarts.
  void slow_down(int rank, std::int64_t numerator, std::int64_t denominator);

  // The rank will crash() or hang() at this moment, by an event to come: what it still does before, its end included,
  // does not count.
  void doom(int rank);
  // Whether the rank runs and is not doomed.
  bool is_up(int rank) const;

  // Called when a rank's program has ended by itself, with what it threw or null.
  void set_end_listener(std::function<void(int rank, const std::exception_ptr& error)> listener) {
    end_listener_ = std::move(listener);
  }

  // Called when a rank's host is lost, before crash() returns.
  void set_host_loss_listener(std::function<void(int rank)> listener) { host_loss_listener_ = std::move(listener); }

  RunEnd run(std::uint64_t max_events = ~std::uint64_t{0}) { return kernel_.run(max_events); }

  // How the rank's latest incarnation stands. `error` is what its program threw.
  enum class RankState : std::uint8_t { kNotStarted, kRunning, kEnded, kFailed, kCrashed };
  RankState state(int rank) const;
  std::exception_ptr error(int rank) const;

  // Bytes the rank's node holds and held, over its incarnations.
  const MemoryAccount& memory(int rank) const;

 private:
  class Context;
  struct Node;

  WorldConfig config_;
  // A node's memory is touched by the destructors of coroutines, so it outlives the kernel's shutdown in ~World.
  std::vector<std::unique_ptr<Node>> nodes_;
  Kernel kernel_;
  Network network_;
  const Transport* transport_ = nullptr;  // network_ owns it
  StorageFactory storage_factory_;
  std::function<void(int, const std::exception_ptr&)> end_listener_;
  std::function<void(int)> host_loss_listener_;
};

// The deadlock table in words: for each rank and activity what it waits for and since when.
std::string describe_waiting(const std::vector<WaitingRow>& rows);

}  // namespace rehearse
