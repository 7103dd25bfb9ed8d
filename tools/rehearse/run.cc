#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/run_twice.h"
#include "sim/cluster/training_run.h"
#include "sim/cluster/verdicts.h"
#include "sim/config/reshard.h"
#include "sim/trace/log_writer.h"
#include "tools/rehearse/checkpoint_directory.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/exports.h"
#include "tools/rehearse/out_directory.h"
#include "tools/rehearse/progress.h"
#include "tools/rehearse/recording.h"
#include "tools/rehearse/report.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/shell_word.h"
#include "tools/rehearse/summary.h"

namespace rehearse {
namespace {

using WallClock = std::chrono::steady_clock;

// What run and resume have in common.
struct Job {
  WallClock::time_point began;
  Scenario scenario;
  std::optional<ResumeFrom> resume;
  std::vector<std::string> sources;  // what is read: the scenario file or the checkpoint, and the inputs
  std::string out;
  bool force = false;
  bool check_determinism = false;
  Format format = Format::kText;
  std::string repeat;
  ExportOptions exports;
};

// Files that a scenario names, and those of the scenario whose weights it expects.
void add_inputs(const Scenario& scenario, std::vector<std::string>& sources) {
  const std::filesystem::path folder = std::filesystem::path(scenario.file_path).parent_path();
  for (const InputFile& input : scenario.inputs) sources.push_back((folder / input.path).string());
  const std::optional<WeightsReference>& reference = scenario.expect.same_weights_as;
  if (!reference || reference->scenario == nullptr) return;
  sources.push_back(reference->scenario->file_path);
  add_inputs(*reference->scenario, sources);
}

// Hears what happens in the simulation and passes it on to the disk and the terminal. The simulator calls it from
// inside rank programs, where an exception would look like a rank's failure: what goes wrong is kept and ends the run
// instead.
class Listener {
 public:
  Listener(const Job& job, OutDirectory* out, Exports& exports, Console& console)
      : job_(job), out_(out), exports_(exports), console_(console), progress_(console.err, console.progress) {
    if (out_ == nullptr) return;
    log_.emplace(make_log_header(job.scenario, job.resume),
                 [this](std::string_view bytes) { guarded([&] { out_->append_events(bytes); }); });
  }

  TrainingHooks hooks() {
    TrainingHooks hooks;
    hooks.on_step = [this](const StepRecord& step, std::int64_t total) {
      guarded([&] {
        exports_.on_step(step);
        if (out_ != nullptr) out_->append_metrics(write_metrics_line(step, !job_.scenario.cost_only));
        progress_.on_step(step.report.step, job_.resume ? job_.resume->step + 1 : 1, total, step.report.loss);
      });
    };
    hooks.on_checkpoint = [this](const CheckpointRecord& checkpoint) {
      guarded([&] {
        exports_.on_checkpoint(checkpoint);
        // Without numbers there is nothing in it.
        const bool has_content = out_ != nullptr && !job_.scenario.cost_only;
        if (has_content) out_->export_checkpoint(checkpoint, job_.scenario.train.checkpoint.keep);
      });
    };
    hooks.on_recovery = [this](const RecoveryRecord& recovery) { guarded([&] { exports_.on_recovery(recovery); }); };
    hooks.interrupted = [this] { return failure_ != nullptr || interrupted(); };
    if (log_) hooks.listeners.push_back(&*log_);
    exports_.attach(hooks);
    return hooks;
  }
  // The run is over, however it ended.
  void end_log(const TrainingRecord& record) {
    if (log_) log_->finish(name_of(record.outcome));
  }
  // The same while the run is judged.
  TrainingHooks judging_hooks() {
    progress_.on_phase("checking what was expected");
    TrainingHooks hooks;
    hooks.interrupted = [this] { return interrupted(); };
    return hooks;
  }

  // Looks for Ctrl-C. Once seen it stays so for everybody: what was cut short and what the exit code says must agree.
  bool interrupted() { return seen_ = seen_ || console_.interrupted(); }
  // Whether anybody has seen it; does not look again.
  bool has_seen_interrupt() const { return seen_; }

  void rethrow_failure() {
    progress_.clear();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  template <class Work>
  void guarded(const Work& work) {
    if (failure_ != nullptr) return;
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  const Job& job_;
  OutDirectory* out_;
  Exports& exports_;
  Console& console_;
  Progress progress_;
  std::optional<LogWriter> log_;
  bool seen_ = false;
  std::exception_ptr failure_;
};

FinishedRun simulate(const Job& job, OutDirectory* out, Exports& exports, Console& console) {
  Listener listener(job, out, exports, console);
  FinishedRun run;
  run.scenario = &job.scenario;
  run.record = job.check_determinism ? run_twice(job.scenario, job.resume, listener.hooks())
                                     : run_training(job.scenario, job.resume, listener.hooks());
  listener.end_log(run.record);
  listener.rethrow_failure();
  // Ctrl-C counts where it cuts something short: what has failed or hangs is told as it is, and so is a run whose last
  // check is through.
  const bool done = run.record.outcome == Outcome::kDone;
  const bool judged = run.record.outcome != Outcome::kInterrupted && !(done && listener.interrupted());
  if (judged) run.verdicts = judge(job.scenario, run.record, listener.judging_hooks());
  if (done && listener.has_seen_interrupt()) {
    // While it was judged: verdicts are worth nothing, and a run that was not judged did not succeed.
    run.verdicts.clear();
    run.record.outcome = Outcome::kInterrupted;
    run.record.failure = "interrupted while its expectations were checked";
    run.record.weights_sha256.clear();
  }
  run.exit_code = exit_code_of(run.record, run.verdicts);
  run.wall_seconds = std::chrono::duration<double>(WallClock::now() - job.began).count();
  return run;
}

ExitCode execute(const Job& job, Console& console) {
  const Style style(console.colors);
  const bool text = job.format == Format::kText;
  Exports exports(job.exports, job.scenario, job.out);
  std::optional<OutDirectory> out;
  if (!job.out.empty()) {
    out.emplace(job.out, job.force, job.sources);
    out->write_scenario(make_scenario_copy(job.scenario));
    if (job.resume) out->write_start(*job.resume);
  }
  if (text) console.out << header_report(job.scenario, job.resume ? job.resume->step : 0, style) << std::flush;
  // Hours of work that nobody will see; with --out the files have it all.
  if (!console.out && !out) check_written(console);

  const FinishedRun run = simulate(job, out ? &*out : nullptr, exports, console);

  const std::string summary = out || !text ? write_summary(run) : "";
  if (out) out->finish(run.record.checkpoints, summary);
  if (text) {
    console.out << result_report(run, job.repeat, style);
    if (out) console.out << field_line("files", out->path());
  } else {
    console.out << summary;
  }
  // After all that the run itself leaves: an export may be refused, or find no room.
  try {
    const std::string exported = exports.finish(run.record);
    if (text) console.out << exported;
  } catch (const InputError& error) {
    // A run that was cut short has no whole program; that it was cut short is what came of it.
    if (run.exit_code != ExitCode::kInterrupted) throw;
    console.err << "run: " << error.what() << "\n";
  }
  return run.exit_code;
}

}  // namespace

ExitCode execute_run(const RunCommand& command, Console& console) {
  if (command.sweep.has_value()) return execute_sweep(command, console);
  Job job;
  job.began = WallClock::now();
  job.scenario = load_scenario(command.scenario, command.load);
  job.sources = {command.scenario};
  add_inputs(job.scenario, job.sources);
  job.out = command.out;
  job.force = command.force;
  job.format = command.format;
  job.repeat = shell_word(console.program) + " run " + shell_word(command.scenario);
  if (command.load.seed) job.repeat += " --seed " + std::to_string(*command.load.seed);
  for (const std::string& override : command.load.overrides) job.repeat += " --set " + shell_word(override);
  job.check_determinism = command.check_determinism;
  if (job.check_determinism) job.repeat += " --check-determinism";
  job.exports = command.exports;
  if (job.scenario.job.has_value() && job.exports.any()) {
    throw InputError(
        "run: --trace and its like are not offered for a job that is counted (job { }): nothing runs on its ranks");
  }
  if (job.scenario.job.has_value()) return execute_job(command, job.scenario, job.repeat, console);
  return execute(job, console);
}

ExitCode execute_resume(const ResumeCommand& command, Console& console) {
  Job job;
  job.began = WallClock::now();
  CheckpointOnDisk checkpoint = read_checkpoint_directory(command.checkpoint);
  job.scenario = load_checkpoint_scenario(checkpoint, command.checkpoint);
  job.resume.emplace();
  job.resume->step = checkpoint.manifest.step;
  if (command.reshard) {
    job.resume->reshard_from = job.scenario.arithmetic_sha256;
    job.scenario = reshard_scenario(job.scenario, command.overrides);
  }
  job.resume->files = std::move(checkpoint.files);
  job.sources = {command.checkpoint};
  add_inputs(job.scenario, job.sources);
  job.out = command.out;
  job.force = command.force;
  job.format = command.format;
  job.repeat = shell_word(console.program) + " resume " + shell_word(command.checkpoint);
  if (command.reshard) job.repeat += " --reshard";
  for (const std::string& override : command.overrides) job.repeat += " --set " + shell_word(override);
  return execute(job, console);
}

}  // namespace rehearse
