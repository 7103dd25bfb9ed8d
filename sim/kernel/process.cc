#include "sim/kernel/process.h"

#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

// Marks whose coroutine runs before the Task's own code does, whether Asio starts it inline or from the drain.
Task<> run_activity(Kernel* kernel, Process* process, std::uint32_t activity, Task<> task) {
  kernel->set_running(Kernel::Running{process, activity});
  co_await std::move(task);
}

}  // namespace

class Process::StartSink : public EventSink {
 public:
  explicit StartSink(Process* process) : process_(process) {}
  void on_event(std::uint64_t) override {
    const bool starts = process_->state_ == State::kNew;
    if (process_->kernel_.is_heard()) {
      EventRecord record(starts ? EventKind::kStart : EventKind::kStale);
      record.rank = process_->rank_;
      process_->kernel_.record(record);
    }
    if (!starts) return;
    process_->state_ = State::kRunning;
    const std::uint32_t activity = process_->take_activity("main");
    CHECK_EQ(activity, kMain);
    process_->launch(activity, process_->main_());
  }

 private:
  Process* process_;
};

Process::Process(Kernel& kernel, int rank, std::uint32_t generation)
    : kernel_(kernel), rank_(rank), generation_(generation), start_sink_(std::make_unique<StartSink>(this)) {
  kernel_.add_process(this);
}

Process::~Process() {
  CHECK(state_ != State::kRunning);
  kernel_.remove_process(this);
}

void Process::start(std::function<Task<>()> main, std::function<void(std::exception_ptr)> on_end) {
  CHECK(state_ == State::kNew && !main_);
  main_ = std::move(main);
  on_end_ = std::move(on_end);
  kernel_.process_started();
  kernel_.schedule(kernel_.now(), start_sink_.get(), 0);
}

std::uint32_t Process::take_activity(std::string name) {
  std::uint32_t id = 0;
  if (free_activities_.empty()) {
    id = static_cast<std::uint32_t>(activities_.size());
    activities_.emplace_back();
  } else {
    id = free_activities_.back();
    free_activities_.pop_back();
    activities_[id] = ActivityState{};
  }
  activities_[id].name = std::move(name);
  return id;
}

void Process::launch(std::uint32_t activity, Task<> task) {
  const Kernel::RunningScope scope(kernel_, Kernel::Running{this, activity});
  kernel_.stir();
  boost::asio::co_spawn(kernel_.executor(), run_activity(&kernel_, this, activity, std::move(task)),
                        [this, activity](std::exception_ptr error) { on_activity_end(activity, std::move(error)); });
}

std::uint32_t Process::spawn(std::string name, Task<> task) {
  CHECK(state_ == State::kRunning);
  const std::uint32_t activity = take_activity(std::move(name));
  launch(activity, std::move(task));
  return activity;
}

void Process::on_activity_end(std::uint32_t activity, std::exception_ptr error) {
  if (state_ != State::kRunning || doomed_) return;
  if (activity == kMain) {
    on_main_end(std::move(error));
    return;
  }
  ActivityState& ended = activities_[activity];
  ended.finished = true;
  ended.error = std::move(error);
  if (ended.has_joiner) {
    PendingOp* joiner = kernel_.ops().find(ended.joiner);
    CHECK(joiner != nullptr);
    joiner->error = std::move(ended.error);
    kernel_.complete_at(kernel_.now(), *joiner);
    ended.free = true;
    free_activities_.push_back(activity);
  }
}

void Process::on_main_end(std::exception_ptr error) {
  if (error == nullptr) {
    for (const ActivityState& activity : activities_) {
      if (!activity.free && activity.finished && activity.error != nullptr) {
        error = activity.error;
        break;
      }
    }
  }
  state_ = State::kEnded;
  drop_all();
  kernel_.process_ended();
  if (on_end_) on_end_(std::move(error));
}

void Process::join(std::uint32_t activity, Completion<> done) {
  ActivityState& target = activities_[activity];
  CHECK(!target.free && !target.has_joiner);
  WaitInfo wait(EventKind::kJoin);
  wait.activity = activity;
  PendingOp& op = begin(wait, std::move(done));
  target.has_joiner = true;
  target.joiner = handle_of(op);
  if (target.finished) {
    op.error = std::move(target.error);
    kernel_.complete_at(kernel_.now(), op);
    target.free = true;
    free_activities_.push_back(activity);
  }
}

void Process::kill() {
  CHECK(kernel_.running().process != this);
  if (state_ == State::kEnded || state_ == State::kKilled) return;
  const bool counted = main_ != nullptr;
  state_ = State::kKilled;
  drop_all();
  if (counted) kernel_.process_ended();
}

void Process::hang() {
  CHECK(kernel_.running().process != this);
  if (state_ != State::kRunning || hangs_) return;
  doomed_ = true;
  hangs_ = true;
  hangs_since_ = kernel_.now();
  drop_all();
}

void Process::drop_all() {
  while (first_ != nullptr) kernel_.drop(*first_);
}

PendingOp& Process::begin_any(const WaitInfo& wait) {
  CHECK(state_ == State::kRunning);
  PendingOp& op = kernel_.ops().take();
  op.process = this;
  op.activity = kernel_.running().activity;
  op.wait = wait;
  op.since = kernel_.now();
  op.deadline_list = -1;
  op.next = nullptr;
  op.previous = last_;
  (last_ != nullptr ? last_->next : first_) = &op;
  last_ = &op;
  return op;
}

PendingOp& Process::begin(const WaitInfo& wait, Completion<> done) {
  PendingOp& op = begin_any(wait);
  op.done.emplace<Completion<>>(std::move(done));
  return op;
}

PendingOp& Process::begin(const WaitInfo& wait, Completion<Payload> done) {
  PendingOp& op = begin_any(wait);
  op.done.emplace<Completion<Payload>>(std::move(done));
  return op;
}

void Process::begin_next(PendingOp& op) {
  ++op.slot_generation;
  op.since = kernel_.now();
  if (&op == last_) return;
  unlink(op);
  op.next = nullptr;
  op.previous = last_;
  (last_ != nullptr ? last_->next : first_) = &op;
  last_ = &op;
}

void Process::start_timed(const WaitInfo& wait, Duration duration, std::function<void()> effect, Completion<> done) {
  PendingOp& op = begin(wait, std::move(done));
  op.effect = std::move(effect);
  kernel_.complete_at(kernel_.now() + duration, op);
}

void Process::start_timed(const WaitInfo& wait, Duration duration, std::function<Payload()> effect,
                          Completion<Payload> done) {
  PendingOp& op = begin(wait, std::move(done));
  op.effect = [target = &op, effect = std::move(effect)] { target->result = effect(); };
  kernel_.complete_at(kernel_.now() + duration, op);
}

void Process::fail(PendingOp& op, std::exception_ptr error) {
  op.error = std::move(error);
  kernel_.complete_at(kernel_.now(), op);
}

void Process::for_each_pending(const std::function<void(PendingOp&)>& visit) {
  for (PendingOp* op = first_; op != nullptr; op = op->next) visit(*op);
}

void Process::unlink(PendingOp& op) {
  (op.previous != nullptr ? op.previous->next : first_) = op.next;
  (op.next != nullptr ? op.next->previous : last_) = op.previous;
}

void Process::append_waiting(std::vector<WaitingRow>& rows) const {
  if (state_ != State::kRunning) return;
  if (hangs_) rows.push_back(WaitingRow{rank_, activities_[kMain].name, WaitInfo(EventKind::kHang), hangs_since_, ""});
  for (const PendingOp* op = first_; op != nullptr; op = op->next) {
    WaitingRow row{rank_, activities_[op->activity].name, op->wait, op->since, ""};
    if (op->wait.activity != 0) row.joins = activities_[op->wait.activity].name;
    rows.push_back(std::move(row));
  }
}

}  // namespace rehearse
