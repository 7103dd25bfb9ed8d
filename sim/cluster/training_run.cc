#include "sim/cluster/training_run.h"

#include <utility>

#include "core/checkpoint/names.h"
#include "core/train/rank_main.h"
#include "sim/check/accumulation_difference.h"
#include "sim/check/optimizer_memory.h"
#include "sim/check/replica_agreement.h"
#include "sim/cluster/recorder.h"
#include "sim/cluster/world.h"
#include "sim/config/loader.h"
#include "sim/storage/file_system.h"
#include "sim/storage/sim_storage.h"

namespace rehearse {
namespace {

// Events between two looks at the hooks: few, because the arithmetic of one may take seconds.
constexpr std::uint64_t kEventsPerSlice = 8;

std::unique_ptr<TrainObserver> make_accumulation_difference(const TrainConfig& config) {
  if (config.dtype == DType::kFloat64) {
    return std::make_unique<AccumulationDifference<double>>(config.model, config.batch);
  }
  return std::make_unique<AccumulationDifference<float>>(config.model, config.batch);
}

double largest_difference(const TrainConfig& config, const TrainObserver& observer) {
  if (config.dtype == DType::kFloat64) return static_cast<const AccumulationDifference<double>&>(observer).largest();
  return static_cast<const AccumulationDifference<float>&>(observer).largest();
}

TrainJob make_job(const Scenario& scenario, const std::optional<ResumeFrom>& resume, TrainObserver* observer) {
  TrainJob job;
  job.config = scenario.train;
  job.observer = observer;
  if (resume.has_value()) job.resume_from = resume->step;
  job.checkpoints = make_checkpoint_plan(scenario.train);
  job.checkpoints.arithmetic_sha256 = scenario.arithmetic_sha256;
  job.checkpoints.scenario_sha256 = scenario.scenario_sha256;
  // The copy names every file it needs as the checkpoint will hold it; what is too large to copy stays where it is.
  ScenarioCopy copy = make_scenario_copy(scenario);
  job.checkpoints.scenario_text = std::move(copy.text);
  for (const CopiedFile& file : copy.files) {
    CheckpointInput input;
    input.path = file.path;
    input.sha256 = sha256_hex(*file.contents);
    input.contents = file.contents;
    job.checkpoints.inputs.push_back(input);
  }
  for (const InputFile& file : copy.left_out) {
    CheckpointInput input;
    input.path = file.path;
    input.sha256 = file.sha256;
    input.contents = file.contents;
    job.checkpoints.inputs.push_back(input);
  }
  return job;
}

Task<> rank_program(RankContext& context, const TrainJob& job) {
  const RunResult result = co_await rank_main(context, job);
  (void)result;
}

// What ended a failed run: the input's fault before anything that followed from it, else the first rank's error that is
// not about a peer's.
std::exception_ptr cause_of_failure(const World& world) {
  std::exception_ptr comm_error;
  std::exception_ptr other;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    const std::exception_ptr error = world.error(rank);
    if (error == nullptr) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      return error;
    } catch (const CommError&) {
      if (comm_error == nullptr) comm_error = error;
    } catch (...) {
      if (other == nullptr) other = error;
    }
  }
  return other != nullptr ? other : comm_error;
}

void conclude(World& world, RunEnd end, bool interrupted, TrainingRecord& record) {
  if (end == RunEnd::kDeadlock) {
    record.outcome = Outcome::kDeadlock;
    record.failure = "nothing is left that could wake the unfinished ranks";
    record.waiting = world.kernel().waiting();
    return;
  }
  if (interrupted) {
    record.outcome = Outcome::kInterrupted;
    record.failure = "interrupted";
    return;
  }
  const std::exception_ptr error = cause_of_failure(world);
  if (error == nullptr) return;
  record.outcome = Outcome::kFailed;
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw InputError("out of memory: the scenario needs more than there is; 'rehearse check' says how much");
  } catch (const std::exception& failure) {
    record.failure = failure.what();
  }
}

}  // namespace

TrainingRecord run_training(const Scenario& scenario, const std::optional<ResumeFrom>& resume,
                            const TrainingHooks& hooks) {
  // The world comes last and goes first: its coroutines see all of this until they are destroyed.
  Mounts mounts;
  TrainingRecord record;
  if (resume.has_value()) record.first_step = resume->step + 1;
  ReplicaAgreement agreement(scenario.ranks);
  ObserverFan fan;
  fan.add(&agreement);
  std::unique_ptr<TrainObserver> accumulation;
  if (scenario.expect.max_accumulation_difference.has_value()) {
    accumulation = make_accumulation_difference(scenario.train);
    fan.add(accumulation.get());
  }
  const TrainJob job = make_job(scenario, resume, &fan);
  FileSystem& disk = mounts.add(job.checkpoints.parent.mount, scenario.storage);
  Recorder recorder(scenario, agreement, disk, job.checkpoints.parent, hooks, record);
  fan.add(&recorder);
  std::vector<std::unique_ptr<CommunicationTracer>> tracers;
  WorldConfig world_config;
  world_config.ranks = scenario.ranks;
  world_config.seed = scenario.seed;
  world_config.network = scenario.network;
  world_config.device = scenario.device;
  World world(world_config);
  world.set_storage([&](Process& process) { return std::make_unique<SimStorage>(process, mounts); });

  recorder.watch(&world);
  for (int rank = 0; rank < scenario.ranks; ++rank) {
    tracers.push_back(std::make_unique<CommunicationTracer>(world.kernel()));
    world.set_tracer(rank, tracers.back().get());
  }
  if (resume.has_value()) {
    std::map<std::string, FileData> files;
    const StoragePath directory = job.checkpoints.parent.child(step_directory_name(resume->step));
    for (const auto& [name, data] : resume->files) files.emplace(directory.path + "/" + name, data);
    disk.import_files(files);
  }

  world.start_all([&job](RankContext& context) { return rank_program(context, job); });
  RunEnd end = RunEnd::kBudget;
  bool interrupted = false;
  while (end == RunEnd::kBudget && !interrupted) {
    end = world.run(kEventsPerSlice);
    interrupted = end == RunEnd::kBudget && hooks.interrupted && hooks.interrupted();
  }
  conclude(world, end, interrupted, record);

  if (record.outcome != Outcome::kDone) record.weights_sha256.clear();
  record.violations = agreement.violations();
  record.memory = memory_of(world);
  std::vector<Bytes> optimizer;
  for (const RankMemory& memory : record.memory) optimizer.push_back(memory.optimizer);
  // An optimizer exists once every rank has come to training.
  if (std::cmp_equal(record.start_optimizer_state.size(), scenario.ranks)) {
    if (auto violation = check_optimizer_memory(scenario.train, optimizer)) record.violations.push_back(*violation);
  }
  if (accumulation != nullptr) record.accumulation_difference = largest_difference(scenario.train, *accumulation);
  record.communication = communication_of(world, tracers);
  recorder.list_checkpoints();
  record.events = world.kernel().events();
  record.messages = world.network().messages();
  record.bytes_on_wire = world.network().bytes_on_wire();
  record.simulated = world.now();
  return record;
}

}  // namespace rehearse
