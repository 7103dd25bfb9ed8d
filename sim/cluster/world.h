#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/runtime/rank_context.h"
#include "sim/compute/config.h"
#include "sim/fault/config.h"
#include "sim/kernel/kernel.h"
#include "sim/net/config.h"
#include "sim/net/network.h"
#include "sim/net/port_fabric.h"
#include "sim/net/transport.h"

namespace rehearse {

// What ranks live in.
struct WorldConfig {
  int ranks = 4;
  int most_ranks = 0;  // that there may ever be, if more
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

  // Of the job as it is now; ranks beyond them, up to the most there may be, do not run.
  int ranks() const { return ranks_; }
  // The job goes on with so many ranks, at most most_ranks(). None of the others may run.
  void set_ranks(int ranks);
  int most_ranks() const { return static_cast<int>(nodes_.size()); }
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

  // The rank's host goes: as crash() with kHost where its process runs, and with what it had not synced in any case.
  void lose_host_of(int rank);

  // The rank's process stops without dying; like a lost host, it says nothing any more, but it counts as running.
  void hang(int rank);

  // The rank's device takes numerator/denominator times as long as the configuration says, from now on and after
  // restarts.
  void slow_down(int rank, std::int64_t numerator, std::int64_t denominator);

  // The rank will crash() or hang() at this moment, by an event to come: what it still does before, its end included,
  // does not count.
  void doom(int rank);
  // The rank's process lives on, but for the job it is gone: another will be started in its place, or none. Whatever it
  // waits for from other ranks or calls of them fails, its memory and time are nobody's, and its end is told to the
  // listener for such. Requires a rank that runs; not from one of its coroutines.
  void abandon(int rank);
  // The abandoned processes that still run, as (rank, generation).
  std::vector<std::pair<int, std::uint32_t>> abandoned() const;
  // It dies where it is; nothing happens where it has ended. Not from one of its coroutines.
  void kill_abandoned(int rank, std::uint32_t generation);
  // Hears when an abandoned process has ended by itself.
  void set_abandoned_end_listener(
      std::function<void(int rank, std::uint32_t generation, const std::exception_ptr& error)> listener) {
    abandoned_end_listener_ = std::move(listener);
  }

  // Whether the rank runs and is not doomed.
  bool is_up(int rank) const;
  bool is_any_up(const RankRange& ranks) const;

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

  // What the rank's device has had to do so far, over its incarnations.
  Duration computed(int rank) const;
  // What messages took on links that faults are on.
  const std::map<std::pair<int, int>, LinkTimes>& link_times() const {
    return ports_ != nullptr ? ports_->link_times() : no_link_times_;
  }

  // What each link of the network has carried, by the links of network_links(): what links themselves have counted, or
  // on a plain switch what ranks have sent and taken from their ports, without how long those were busy.
  std::vector<LinkLoad> link_loads() const;
  std::shared_ptr<const Topology> network_links() const;

  // Bytes the rank's node holds and held, over its incarnations.
  const MemoryAccount& memory(int rank) const;

 private:
  class Context;
  struct Node;

  WorldConfig config_;
  int ranks_;
  // A node's memory is touched by the destructors of coroutines, so it outlives the kernel's shutdown in ~World.
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Node>> abandoned_;  // their last incarnations are
  Kernel kernel_;
  Network network_;
  const Transport* transport_ = nullptr;  // network_ owns both
  const PortFabric* ports_ = nullptr;     // null where the network is not plain
  std::map<std::pair<int, int>, LinkTimes> no_link_times_;
  StorageFactory storage_factory_;
  std::function<void(int, const std::exception_ptr&)> end_listener_;
  std::function<void(int, std::uint32_t, const std::exception_ptr&)> abandoned_end_listener_;
  std::function<void(int)> host_loss_listener_;
};

// The deadlock table in words: for each rank and activity what it waits for and since when.
std::string describe_waiting(const std::vector<WaitingRow>& rows);

}  // namespace rehearse
