#include "sim/cluster/training_run.h"

#include <utility>

#include "core/base/check.h"
#include "sim/check/accumulation_difference.h"
#include "sim/check/optimizer_memory.h"
#include "sim/check/state_memory.h"
#include "sim/cluster/run_outcome.h"
#include "sim/cluster/training_parts.h"

namespace rehearse {
namespace {

// Events between two looks at the hooks: few, because the arithmetic of one may take seconds; without arithmetic, a
// millisecond's worth.
constexpr std::uint64_t kEventsPerSlice = 8;
constexpr std::uint64_t kCostEventsPerSlice = 8192;

double largest_difference(const TrainConfig& config, const TrainObserver& observer) {
  if (config.dtype == DType::kFloat64) return static_cast<const AccumulationDifference<double>&>(observer).largest();
  return static_cast<const AccumulationDifference<float>&>(observer).largest();
}

}  // namespace

TrainingSession::TrainingSession(const Scenario& scenario, const std::optional<ResumeFrom>& resume,
                                 const TrainingHooks& hooks)
    : record_(std::make_unique<TrainingRecord>()), parts_(std::make_unique<Parts>(scenario, resume, hooks, *record_)) {
  if (resume.has_value()) record_->first_step = resume->step + 1;
}

TrainingSession::~TrainingSession() = default;

void TrainingSession::crash(int rank, CrashKind kind) { parts_->supervisor.crash(rank, kind); }

void TrainingSession::lose_power(const PowerLoss& loss) {
  parts_->storage.lose_power(loss);
  parts_->supervisor.lose_power();
}

const FileSystem& TrainingSession::disk() const { return parts_->disk; }

const FileSystem& TrainingSession::local_disk(int rank) const { return parts_->storage.local_disk(rank); }

bool TrainingSession::advance(std::uint64_t max_events) {
  CHECK(end_ == RunEnd::kBudget);
  end_ = parts_->world.run(max_events);
  return end_ == RunEnd::kBudget;
}

std::vector<WaitingRow> TrainingSession::waiting() const { return parts_->world.kernel().waiting(); }

std::vector<LinkLoad> TrainingSession::link_loads() const { return parts_->world.link_loads(); }

std::shared_ptr<const Topology> TrainingSession::network_links() const { return parts_->world.network_links(); }

TrafficCounters TrainingSession::traffic(Operation operation) const {
  TrafficCounters sum;
  for (int rank = 0; rank < parts_->world.most_ranks(); ++rank) {
    const TrafficCounters& one = parts_->world.network().counters(rank, operation);
    sum.messages_sent += one.messages_sent;
    sum.messages_received += one.messages_received;
    sum.bytes_sent += one.bytes_sent;
    sum.bytes_received += one.bytes_received;
  }
  return sum;
}

std::uint64_t TrainingSession::events() const { return parts_->world.kernel().events(); }

// Once every rank has finished a step, in a job that had as many ranks all the time.
void TrainingSession::check_kept_memory(const Parts& parts, TrainingRecord& record) {
  std::vector<StateBytes> by_rank;
  bool all = parts.earlier_ranks.empty();
  for (int rank = 0; rank < parts.world.ranks(); ++rank) {
    RankMemory& memory = record.memory[static_cast<std::size_t>(rank)];
    const RankMemory kept = parts.recorder.kept(rank);
    memory.parameters_kept = kept.parameters_kept;
    memory.gradients_kept = kept.gradients_kept;
    all = all && kept.parameters_kept > Bytes();
    by_rank.push_back({kept.parameters_kept, kept.gradients_kept, memory.parameters, memory.gradients});
  }
  if (!all) return;
  record.state_checked = true;
  if (auto violation = check_state_memory(parts.scenario.train, by_rank)) record.violations.push_back(*violation);
}

TrainingRecord TrainingSession::finish() {
  Parts& parts = *parts_;
  TrainingRecord& record = *record_;
  World& world = parts.world;
  conclude(world, end_, end_ == RunEnd::kBudget, record);
  record.faults_not_struck = parts.injector.not_struck();
  for (std::string& fault : parts.storage.not_struck()) record.faults_not_struck.push_back(std::move(fault));
  for (const std::string& fault : parts.network_faults.not_struck()) record.faults_not_struck.push_back(fault);
  tell_supervisor_links(parts.supervisor.links(), world.now(), record);
  if (world.transport() != nullptr) record.transport = world.transport()->counters();
  record.stragglers.ranks = parts.compute_times.slow_ranks();
  record.stragglers.links = slow_links(world);
  const std::string& stopped = parts.running.back().stopped;
  if (record.outcome == Outcome::kDone && !stopped.empty()) {
    record.outcome = Outcome::kStopped;
    record.failure = stopped;
  }
  record.fenced = parts.supervisor.fenced();
  record.save_cost = parts.save_cost.mean();
  if (!parts.supervisor.gave_up().empty()) {
    record.outcome = Outcome::kFailed;
    record.failure = parts.supervisor.gave_up();
  }

  if (record.outcome != Outcome::kDone) record.weights_sha256.clear();
  for (const Invariant* one :
       {static_cast<const Invariant*>(&parts.agreement), static_cast<const Invariant*>(&parts.step_agreement),
        static_cast<const Invariant*>(&parts.ledger)}) {
    record.violations.insert(record.violations.end(), one->violations().begin(), one->violations().end());
  }
  record.memory = memory_of(world);
  check_kept_memory(parts, record);
  std::vector<Bytes> optimizer;
  for (const RankMemory& memory : record.memory) optimizer.push_back(memory.optimizer);
  // An optimizer exists once every rank has come to training.
  if (std::cmp_greater_equal(record.start_optimizer_state.size(), world.ranks())) {
    record.optimizer_checked = true;
    if (auto violation = check_optimizer_memory(parts.scenario.train, optimizer, parts.earlier_ranks)) {
      record.violations.push_back(*violation);
    }
  }
  if (parts.accumulation != nullptr) {
    record.accumulation_difference = largest_difference(parts.scenario.train, *parts.accumulation);
  }
  record.communication = communication_of(world, parts.tracers);
  parts.recorder.list_checkpoints();
  record.events = world.kernel().events();
  record.messages = world.network().messages();
  record.bytes_on_wire = world.network().bytes_on_wire();
  record.simulated = world.now();
  if (parts.hooks.log_events) {
    record.log_records = parts.digest.records();
    record.event_digest = parts.digest.finish();
  }
  return std::move(record);
}

TrainingRecord run_training(const Scenario& scenario, const std::optional<ResumeFrom>& resume,
                            const TrainingHooks& hooks) {
  TrainingSession session(scenario, resume, hooks);
  while (session.advance(scenario.cost_only ? kCostEventsPerSlice : kEventsPerSlice)) {
    if (hooks.interrupted && hooks.interrupted()) break;
  }
  return session.finish();
}

}  // namespace rehearse
