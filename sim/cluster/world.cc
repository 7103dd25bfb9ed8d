#include "sim/cluster/world.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "sim/compute/sim_device.h"
#include "sim/kernel/process.h"
#include "sim/net/make_fabric.h"
#include "sim/net/make_topology.h"

namespace rehearse {
namespace {

class SimClock : public Clock {
 public:
  explicit SimClock(Process& process) : process_(process) {}
  TimePoint now() const override { return process_.kernel().now(); }

 protected:
  void start_sleep(Duration duration, Completion<> done) override {
    CHECK_GE(duration.ps(), 0);
    PendingOp& op = process_.begin(WaitInfo(EventKind::kSleep), std::move(done));
    process_.kernel().complete_at(process_.kernel().now() + duration, op);
  }

 private:
  Process& process_;
};

class NullTracer : public Tracer {
 public:
  void phase(std::int64_t, Phase) override {}
  void collective_begin(const Call&, Bytes) override {}
  void collective_end(const Call&) override {}
};

}  // namespace

// One incarnation of a rank and all it sees.
class World::Context : public RankContext {
 public:
  Context(World& world, Node& node, int rank, std::uint32_t generation);

  Communicator& comm() const override { return *comm_; }
  Clock& clock() const override { return *clock_; }
  SimDevice& device() const override { return *device_; }
  Storage& storage() const override {
    CHECK(storage_ != nullptr);
    return *storage_;
  }
  Tracer& tracer() const override;
  MemoryAccount& memory() const override;
  Storing storing() const override { return storing_; }
  std::uint32_t generation() const override { return generation_; }

  Process& process() { return *process_; }
  RankProgram program;
  std::exception_ptr error;

 protected:
  std::uint32_t start_activity(std::string name, Task<void> task) override {
    return process_->spawn(std::move(name), std::move(task));
  }
  void start_join(std::uint32_t activity, Completion<> done) override { process_->join(activity, std::move(done)); }

 private:
  Node& node_;
  std::uint32_t generation_;
  Storing storing_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Communicator> comm_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<SimDevice> device_;
  std::unique_ptr<Storage> storage_;
};

struct World::Node {
  MemoryAccount memory;
  PayloadPool pool{&memory};
  // The device's slowdown beside the configured one.
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
  Duration computed_before;  // by ranks that were abandoned
  NullTracer null_tracer;
  Tracer* tracer = &null_tracer;
  // All incarnations: events may still name an old one.
  std::vector<std::unique_ptr<Context>> incarnations;
};

World::Context::Context(World& world, Node& node, int rank, std::uint32_t generation)
    : node_(node),
      generation_(generation),
      storing_(world.config_.storing),
      process_(std::make_unique<Process>(world.kernel_, rank, generation)),
      comm_(std::make_unique<SimCommunicator>(world.network_, *process_, node.pool, world.ranks())),
      clock_(std::make_unique<SimClock>(*process_)),
      device_(std::make_unique<SimDevice>(*process_, world.config_.device, storing_ == Storing::kElements)) {
  device_->set_slowdown(node.numerator, node.denominator);
  if (world.storage_factory_) storage_ = world.storage_factory_(*process_);
}

Tracer& World::Context::tracer() const { return *node_.tracer; }
MemoryAccount& World::Context::memory() const { return node_.memory; }

World::World(const WorldConfig& config)
    : config_(config), ranks_(config.ranks), network_(kernel_, std::max(config.ranks, config.most_ranks)) {
  CHECK_GT(config.ranks, 0);
  const int most = network_.ranks();
  for (int rank = 0; rank < most; ++rank) nodes_.push_back(std::make_unique<Node>());
  const RandomStream network = RandomStream(config.seed).fork("network");
  if (!config.network.is_plain()) {
    CHECK(!config.transport.has_value() && config.links == nullptr);
    network_.set_fabric(make_fabric(kernel_, network_, config.network, most, network));
    return;
  }
  const RandomStream jitter = network.fork("jitter");
  if (config.transport.has_value()) {
    auto transport =
        std::make_unique<Transport>(kernel_, network_, *config.transport, config.network, most, config.links);
    auto ports = std::make_unique<PortFabric>(kernel_, *transport, config.network, most, jitter);
    ports_ = ports.get();
    transport->set_fabric(std::move(ports));
    transport_ = transport.get();
    network_.set_fabric(std::move(transport));
    return;
  }
  auto ports = std::make_unique<PortFabric>(kernel_, network_, config.network, most, jitter);
  ports_ = ports.get();
  std::unique_ptr<Fabric> fabric = std::move(ports);
  if (config.links != nullptr) fabric = std::make_unique<SlowLinks>(kernel_, std::move(fabric), *config.links);
  network_.set_fabric(std::move(fabric));
}

World::~World() {
  kernel_.shutdown();
  for (const auto& node : nodes_) node->incarnations.clear();
  for (const auto& node : abandoned_) node->incarnations.clear();
}

void World::set_tracer(int rank, Tracer* tracer) { nodes_[static_cast<std::size_t>(rank)]->tracer = tracer; }

void World::start(int rank, RankProgram program, std::uint32_t generation) {
  Node& node = *nodes_[static_cast<std::size_t>(rank)];
  CHECK(state(rank) != RankState::kRunning);
  node.incarnations.push_back(std::make_unique<Context>(*this, node, rank, generation));
  Context* context = node.incarnations.back().get();
  context->program = std::move(program);
  network_.on_process_started(rank, generation);
  context->process().start([context] { return context->program(*context); },
                           [this, context, rank](std::exception_ptr error) {
                             context->error = std::move(error);
                             if (context->process().is_fenced()) {
                               if (abandoned_end_listener_) {
                                 abandoned_end_listener_(rank, context->generation(), context->error);
                               }
                               return;
                             }
                             network_.on_process_lost(rank);
                             if (end_listener_) end_listener_(rank, context->error);
                           });
}

std::shared_ptr<const Topology> World::network_links() const { return topology_of(config_.network, network_.ranks()); }

std::vector<LinkLoad> World::link_loads() const {
  const std::span<const LinkLoad> counted = network_.fabric().link_loads();
  if (!counted.empty()) return {counted.begin(), counted.end()};
  const std::shared_ptr<const Topology> links = network_links();
  std::vector<LinkLoad> loads(static_cast<std::size_t>(links->links()));
  for (int i = 0; i < links->links(); ++i) {
    const TopologyLink& link = links->link(i);
    const bool sends = link.from < network_.ranks();
    LinkLoad& load = loads[static_cast<std::size_t>(i)];
    for (int o = 0; o < kOperations; ++o) {
      const TrafficCounters& counters = network_.counters(sends ? link.from : link.to, static_cast<Operation>(o));
      load.messages += sends ? counters.messages_sent : counters.messages_received;
      load.bytes += sends ? counters.bytes_sent : counters.bytes_received;
    }
  }
  return loads;
}

void World::set_ranks(int ranks) {
  CHECK(ranks > 0 && ranks <= most_ranks());
  for (int rank = ranks; rank < most_ranks(); ++rank) CHECK(state(rank) != RankState::kRunning);
  ranks_ = ranks;
}

void World::start_all(const RankProgram& program) {
  for (int rank = 0; rank < ranks(); ++rank) start(rank, program);
}

void World::crash(int rank, CrashKind kind) {
  Node& node = *nodes_[static_cast<std::size_t>(rank)];
  if (state(rank) != RankState::kRunning) return;
  // A process that hangs has left its peers before.
  const bool hung = node.incarnations.back()->process().hangs();
  node.incarnations.back()->process().kill();
  if (hung) {
    if (kind == CrashKind::kHost && host_loss_listener_) host_loss_listener_(rank);
    return;
  }
  if (kind == CrashKind::kProcess) {
    network_.on_process_lost(rank);
  } else {
    network_.on_host_lost(rank);
    if (host_loss_listener_) host_loss_listener_(rank);
  }
}

void World::lose_host_of(int rank) {
  if (state(rank) == RankState::kRunning) return crash(rank, CrashKind::kHost);
  if (host_loss_listener_) host_loss_listener_(rank);
}

void World::hang(int rank) {
  Process& process = nodes_[static_cast<std::size_t>(rank)]->incarnations.back()->process();
  if (process.state() != Process::State::kRunning || process.hangs()) return;
  process.hang();
  network_.on_host_lost(rank);
}

void World::slow_down(int rank, std::int64_t numerator, std::int64_t denominator) {
  Node& node = *nodes_[static_cast<std::size_t>(rank)];
  node.numerator = numerator;
  node.denominator = denominator;
  if (!node.incarnations.empty()) node.incarnations.back()->device().set_slowdown(numerator, denominator);
}

void World::doom(int rank) {
  if (state(rank) != RankState::kRunning) return;
  nodes_[static_cast<std::size_t>(rank)]->incarnations.back()->process().doom();
}

void World::abandon(int rank) {
  CHECK(state(rank) == RankState::kRunning);
  auto& node = nodes_[static_cast<std::size_t>(rank)];
  Process& process = node->incarnations.back()->process();
  CHECK(!process.is_doomed());
  network_.on_fenced(rank, process);
  process.fence();
  auto next = std::make_unique<Node>();
  next->memory.take_peaks_of(node->memory);
  next->numerator = node->numerator;
  next->denominator = node->denominator;
  next->computed_before = computed(rank);
  next->tracer = node->tracer;
  node->tracer = &node->null_tracer;
  abandoned_.push_back(std::exchange(node, std::move(next)));
}

std::vector<std::pair<int, std::uint32_t>> World::abandoned() const {
  std::vector<std::pair<int, std::uint32_t>> running;
  for (const auto& node : abandoned_) {
    Process& process = node->incarnations.back()->process();
    if (process.state() == Process::State::kRunning) running.emplace_back(process.rank(), process.generation());
  }
  return running;
}

void World::kill_abandoned(int rank, std::uint32_t generation) {
  for (const auto& node : abandoned_) {
    Process& process = node->incarnations.back()->process();
    if (process.rank() == rank && process.generation() == generation) process.kill();
  }
}

bool World::is_up(int rank) const {
  return state(rank) == RankState::kRunning &&
         !nodes_[static_cast<std::size_t>(rank)]->incarnations.back()->process().is_doomed();
}

bool World::is_any_up(const RankRange& ranks) const {
  bool any = false;
  for (int rank = ranks.first; rank < ranks.end(); ++rank) any = any || is_up(rank);
  return any;
}

World::RankState World::state(int rank) const {
  const Node& node = *nodes_[static_cast<std::size_t>(rank)];
  if (node.incarnations.empty()) return RankState::kNotStarted;
  Context& context = *node.incarnations.back();
  switch (context.process().state()) {
    case Process::State::kNew:
    case Process::State::kRunning:
      return RankState::kRunning;
    case Process::State::kEnded:
      return context.error == nullptr ? RankState::kEnded : RankState::kFailed;
    case Process::State::kKilled:
      return RankState::kCrashed;
  }
  check_failed(__FILE__, __LINE__, "unknown process state");
}

Duration World::computed(int rank) const {
  Duration sum = nodes_[static_cast<std::size_t>(rank)]->computed_before;
  for (const auto& context : nodes_[static_cast<std::size_t>(rank)]->incarnations) {
    sum = sum + context->device().computed();
  }
  return sum;
}

std::exception_ptr World::error(int rank) const {
  const Node& node = *nodes_[static_cast<std::size_t>(rank)];
  return node.incarnations.empty() ? nullptr : node.incarnations.back()->error;
}

const MemoryAccount& World::memory(int rank) const { return nodes_[static_cast<std::size_t>(rank)]->memory; }

std::string describe_waiting(const std::vector<WaitingRow>& rows) {
  std::string text;
  for (const WaitingRow& row : rows) {
    text += "  rank " + std::to_string(row.rank) + ", " + row.activity + ": ";
    text += name_of(row.wait.kind);
    if (row.wait.in_call) {
      text += " of " + std::string(name_of(row.wait.operation)) + " with rank " + std::to_string(row.wait.peer) +
              " (group " + std::to_string(row.wait.group_id) + ", generation " + std::to_string(row.wait.generation) +
              ", sequence " + std::to_string(row.wait.sequence) + ")";
    }
    if (!row.joins.empty()) text += " of " + row.joins;
    text += ", since " + to_string(row.since.since_start()) + "\n";
  }
  return text;
}

}  // namespace rehearse
