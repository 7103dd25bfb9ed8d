#include "tools/rehearse/exports.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "tools/export/chakra.h"
#include "tools/export/goal.h"
#include "tools/export/program_recorder.h"
#include "tools/export/tensorboard.h"
#include "tools/export/timeline_recorder.h"
#include "tools/export/trace_json.h"
#include "tools/rehearse/real_files.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/version.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

void check_target(const std::string& option, const std::string& path, const std::string& out) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw InputError(option + " " + path + ": it is a directory; allowed: a file");
  const fs::path parent = fs::path(path).parent_path();
  // That one will be there.
  if (!out.empty() && parent.lexically_normal() == (fs::path(out) / "").lexically_normal().parent_path()) return;
  if (!parent.empty() && !fs::is_directory(parent, error)) {
    throw InputError(option + " " + path + ": there is no directory " + parent.string());
  }
}

std::string chakra_file(const ExportOptions& options, int rank) {
  return options.chakra + "." + std::to_string(rank) + ".et";
}

// Tells several listeners.
class ActivityFan : public ActivityListener {
 public:
  void add(ActivityListener* listener) { listeners_.push_back(listener); }
  bool empty() const { return listeners_.empty(); }

  void on_network(const Network& network) override {
    for (ActivityListener* one : listeners_) one->on_network(network);
  }
  void on_operation(const PendingOp& op, TimePoint now, bool failed) override {
    for (ActivityListener* one : listeners_) one->on_operation(op, now, failed);
  }
  void on_sent(const EventRecord& message, TimePoint now, TimePoint left) override {
    for (ActivityListener* one : listeners_) one->on_sent(message, now, left);
  }
  void on_collective_begin(int rank, const Call& call, Bytes size, TimePoint now) override {
    for (ActivityListener* one : listeners_) one->on_collective_begin(rank, call, size, now);
  }
  void on_collective_end(int rank, const Call& call, TimePoint now) override {
    for (ActivityListener* one : listeners_) one->on_collective_end(rank, call, now);
  }

 private:
  std::vector<ActivityListener*> listeners_;
};

// A schedule of what another simulator cannot follow helps nobody.
void require_program(const std::string& option, const ProgramRecorder& program, const TrainingRecord& record) {
  const std::string problem = program.problem(record);
  if (!problem.empty()) throw InputError(option + ": nothing was written: " + problem);
}

}  // namespace

struct Exports::Parts {
  Parts(const ExportOptions& its_options, const Scenario& its_scenario)
      : options(its_options), scenario(its_scenario) {}

  ExportOptions options;
  const Scenario& scenario;
  std::optional<TimelineRecorder> timeline;
  std::optional<AppendWriter> tensorboard_file;
  std::optional<TensorBoardWriter> tensorboard;
  std::optional<ProgramRecorder> messages;     // for GOAL
  std::optional<ProgramRecorder> collectives;  // for Chakra
  ActivityFan fan;
};

Exports::Exports(const ExportOptions& options, const Scenario& scenario, const std::string& out)
    : parts_(std::make_unique<Parts>(options, scenario)) {
  Parts& parts = *parts_;
  if (!options.trace.empty()) {
    check_target("--trace", options.trace, out);
    if (options.trace_steps.has_value() && options.trace_steps->first > scenario.train.steps) {
      throw InputError("--trace-steps: the first step is " + std::to_string(options.trace_steps->first) +
                       ", and the run has " + std::to_string(scenario.train.steps));
    }
    std::optional<StepRange> steps;
    if (options.trace_steps.has_value()) steps = StepRange{options.trace_steps->first, options.trace_steps->last};
    parts.fan.add(&parts.timeline.emplace(scenario, steps));
  }
  if (!options.goal.empty()) {
    check_target("--goal", options.goal, out);
    parts.fan.add(&parts.messages.emplace(scenario.known_ranks(), ProgramRecorder::Level::kMessages));
  }
  if (!options.chakra.empty()) {
    check_target("--chakra", chakra_file(options, 0), out);
    parts.fan.add(&parts.collectives.emplace(scenario.known_ranks(), ProgramRecorder::Level::kCollectives));
  }
  if (!options.tensorboard.empty()) {
    const std::string file = (fs::path(options.tensorboard) / kTensorBoardFile).string();
    std::error_code error;
    if (fs::exists(file, error)) {
      throw InputError("--tensorboard " + options.tensorboard +
                       ": it has the event file of another run; take another "
                       "directory for each run");
    }
  }
}

Exports::~Exports() = default;

bool Exports::any() const { return parts_->options.any(); }

void Exports::attach(TrainingHooks& hooks) {
  Parts& parts = *parts_;
  if (parts.timeline.has_value()) hooks.listeners.push_back(&*parts.timeline);
  if (!parts.fan.empty()) hooks.activities = &parts.fan;
  if (parts.options.tensorboard.empty()) return;
  make_directories(parts.options.tensorboard);
  parts.tensorboard_file.emplace((fs::path(parts.options.tensorboard) / kTensorBoardFile).string());
  parts.tensorboard.emplace([&parts](std::string_view bytes) { parts.tensorboard_file->append_bytes(bytes); });
}

void Exports::on_step(const StepRecord& step) {
  if (parts_->timeline.has_value()) parts_->timeline->on_step(step);
  if (parts_->tensorboard.has_value()) parts_->tensorboard->on_step(step, !parts_->scenario.cost_only);
}

void Exports::on_checkpoint(const CheckpointRecord& checkpoint) {
  if (parts_->timeline.has_value()) parts_->timeline->on_checkpoint(checkpoint);
}

void Exports::on_recovery(const RecoveryRecord& recovery) {
  if (parts_->tensorboard.has_value()) parts_->tensorboard->on_recovery(recovery);
}

std::string Exports::finish(const TrainingRecord& record) {
  std::string lines;
  if (parts_->timeline.has_value()) {
    const Timeline timeline = parts_->timeline->finish(record);
    std::vector<std::pair<std::string, std::string>> about = {
        {"program", std::string("rehearse ") + version()},
        {"scenario", parts_->scenario.name},
        {"scenario_sha256", parts_->scenario.scenario_sha256},
        {"seed", std::to_string(parts_->scenario.seed)},
        {"event_digest", record.event_digest},
        {"outcome", name_of(record.outcome)},
    };
    std::string note;
    if (timeline.stride > 1) note = "every " + std::to_string(timeline.stride) + "th step, so that it can be opened";
    if (timeline.dropped > 0)
      note += (note.empty() ? "" : "; ") + std::to_string(timeline.dropped) + " slices left out";
    if (!note.empty()) about.emplace_back("shown", note);
    write_file_atomically(parts_->options.trace, write_trace_json(timeline, about));
    lines += field_line("trace", parts_->options.trace + (note.empty() ? "" : " (" + note + ")"));
  }
  if (parts_->tensorboard.has_value()) {
    parts_->tensorboard->finish(record);
    parts_->tensorboard_file->sync();
    lines += field_line("tensorboard", parts_->options.tensorboard);
  }
  if (parts_->messages.has_value()) {
    require_program("--goal", *parts_->messages, record);
    write_file_atomically(parts_->options.goal, write_goal(*parts_->messages));
    lines += field_line("goal", parts_->options.goal);
  }
  if (parts_->collectives.has_value()) {
    require_program("--chakra", *parts_->collectives, record);
    for (int rank = 0; rank < parts_->collectives->ranks(); ++rank) {
      const std::string trace = write_chakra(*parts_->collectives, rank, parts_->scenario.device.rate);
      write_file_atomically(chakra_file(parts_->options, rank), trace);
    }
    lines += field_line("chakra", parts_->options.chakra + ".RANK.et");
  }
  return lines;
}

}  // namespace rehearse
