#include "tools/export/tensorboard.h"

#include <utility>

#include "tools/export/crc32c.h"
#include "tools/export/wire.h"

namespace rehearse {
namespace {

// Fields of tensorflow/core/util/event.proto and framework/summary.proto.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SummaryField { kValue = 1 };
enum ValueField { kTag = 1, kSimpleValue = 2 };
enum SessionField { kStatus = 1, kMessage = 3 };
constexpr std::uint64_t kSessionStart = 1;

double wall_time(TimePoint time) { return static_cast<double>(time.ps()) / 1e12; }

std::string fixed(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
  return out;
}

class Scalars {
 public:
  void add(const std::string& tag, double value) {
    WireMessage one;
    one.text(kTag, tag).real(kSimpleValue, static_cast<float>(value));
    summary_.message(kValue, one);
  }
  std::string event(TimePoint time, std::int64_t step) const {
    WireMessage event;
    event.real(kWallTime, wall_time(time)).integer(kStep, step).message(kSummary, summary_);
    return event.bytes();
  }

 private:
  WireMessage summary_;
};

}  // namespace

TensorBoardWriter::TensorBoardWriter(std::function<void(std::string_view)> write) : write_(std::move(write)) {
  WireMessage event;
  event.real(kWallTime, 0.0).text(kFileVersion, "brain.Event:2");
  record(event.bytes());
}

void TensorBoardWriter::record(const std::string& event) {
  const std::string length = fixed(event.size(), 8);
  write_(length + fixed(masked_crc32c(length), 4) + event + fixed(masked_crc32c(event), 4));
}

void TensorBoardWriter::on_step(const StepRecord& step, bool has_numbers) {
  Scalars scalars;
  if (has_numbers) {
    scalars.add("train/loss", step.report.loss);
    scalars.add("train/grad_norm", step.report.grad_norm);
    scalars.add("train/param_norm", step.param_norm);
    scalars.add("train/lr", step.report.lr);
  }
  const double seconds = static_cast<double>(step.step_seconds.ps()) / 1e12;
  scalars.add("time/step_seconds", seconds);
  if (seconds > 0) scalars.add("time/tokens_per_second", static_cast<double>(step.report.tokens) / seconds);
  scalars.add("job/attempt", static_cast<double>(step.attempt));
  scalars.add("job/recoveries", static_cast<double>(step.recoveries));
  const auto memory = [&](const char* name, Bytes bytes) {
    scalars.add(std::string("memory/") + name, static_cast<double>(bytes.count()));
  };
  memory("parameters", step.memory.parameters);
  memory("gradients", step.memory.gradients);
  memory("optimizer", step.memory.optimizer);
  memory("activations_peak", step.memory.activations_peak);
  memory("communication_buffers", step.memory.communication_buffers);
  record(scalars.event(step.report.ended, step.report.step));
}

void TensorBoardWriter::on_recovery(const RecoveryRecord& recovery) {
  WireMessage session;
  session.number(kStatus, kSessionStart).text(kMessage, recovery.cause);
  WireMessage event;
  // Steps from this one on are to come again.
  event.real(kWallTime, wall_time(recovery.resumed)).integer(kStep, recovery.resumed_step + 1);
  event.message(kSessionLog, session);
  record(event.bytes());
}

void TensorBoardWriter::finish(const TrainingRecord& record_of_run) {
  for (const EvalRecord& eval : record_of_run.evals) {
    Scalars scalars;
    scalars.add("eval/loss", eval.loss);
    record(scalars.event(record_of_run.simulated, eval.step));
  }
}

}  // namespace rehearse
