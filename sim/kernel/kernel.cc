#include "sim/kernel/kernel.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "sim/kernel/process.h"

namespace rehearse {
namespace {

// Of an operation that ends.
EventRecord record_of(const PendingOp& op) {
  const WaitInfo& wait = op.wait;
  EventRecord record(wait.kind);
  record.rank = op.process->rank();
  record.peer = wait.peer;
  record.group = wait.group_id;
  record.generation = wait.generation;
  record.call = wait.sequence;
  record.operation = wait.operation;
  return record;
}

}  // namespace

// Completes operations whose time was known when they started.
class Kernel::OpSink : public EventSink {
 public:
  explicit OpSink(Kernel* kernel) : kernel_(kernel) {}
  void on_event(std::uint64_t argument) override {
    PendingOp* op = kernel_->ops_.find(OpHandle::unpack(argument));
    if (op == nullptr) {
      if (kernel_->is_heard()) kernel_->record(EventRecord(EventKind::kStale));
      return;
    }
    std::exception_ptr error = std::move(op->error);
    if (error == nullptr && op->effect) {
      try {
        op->effect();
      } catch (...) {
        error = std::current_exception();
      }
    }
    Payload result = std::move(op->result);
    if (kernel_->is_heard()) {
      EventRecord record = record_of(*op);
      record.size = result.size().count();
      // What files hold has no digest here: some of them, by design, depend on more than the run's own events.
      if (op->wait.in_call) record.digest = result.digest();
      kernel_->record(record);
    }
    kernel_->complete(*op, std::move(error), std::move(result));
  }

 private:
  Kernel* kernel_;
};

class Kernel::DeadlineSink : public EventSink {
 public:
  explicit DeadlineSink(Kernel* kernel) : kernel_(kernel) {}
  void on_event(std::uint64_t argument) override { kernel_->on_deadline(static_cast<int>(argument)); }

 private:
  Kernel* kernel_;
};

Kernel::Kernel()
    : op_sink_(std::make_unique<OpSink>(this)),
      deadline_sink_(std::make_unique<DeadlineSink>(this)),
      // No locks: one thread runs it, and no reactor is ever made.
      context_(std::make_unique<boost::asio::io_context>(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE)) {}

Kernel::~Kernel() {
  if (context_ != nullptr) shutdown();
  CHECK(processes_.empty());
}

void Kernel::shutdown() {
  CHECK(context_ != nullptr);
  for (Process* process : processes_) process->kill();
  // The dropped coroutines' frames wait in the context's queue; they die here. Destructors may drop further handlers.
  context_->restart();
  drain();
  context_.reset();
}

void Kernel::drain() {
  stirred_ = false;
  context_->poll();
  // Asio adds up what an event's code posts only when run()'s own handler ends, but takes it off when it has run here.
  // So its count of work may touch zero while handlers are ready, which stops it: go on with one more.
  while (context_->stopped()) {
    context_->get_executor().on_work_started();
    context_->restart();
    context_->poll();
  }
}

RunEnd Kernel::run(std::uint64_t max_events) {
  RunEnd end = RunEnd::kDone;
  stirred_ = true;
  context_->restart();
  boost::asio::post(*context_, [this, max_events, &end] {
    end = loop(max_events);
    context_->stop();
  });
  context_->run();
  return end;
}

RunEnd Kernel::loop(std::uint64_t max_events) {
  for (std::uint64_t handled = 0;;) {
    if (stirred_) drain();
    if (unfinished_ == 0) return RunEnd::kDone;
    if (handled == max_events) return RunEnd::kBudget;
    if (foreground_ == 0) return RunEnd::kDeadlock;
    const Event event = queue_.pop();
    if (event.background == 0) --foreground_;
    if (event.sink == deadline_sink_.get() && !deadline_is_due(static_cast<int>(event.argument), event.time)) {
      // What it was armed for is completed: not an event of the simulation, so the clock stays where it is.
      deadlines_[event.argument].armed = false;
      arm_list(static_cast<int>(event.argument));
      continue;
    }
    now_ = event.time;
    ++events_;
    ++handled;
    event.sink->on_event(event.argument);
    CHECK(listener_ == nullptr || recorded_ == events_);
  }
}

void Kernel::record(EventRecord record) {
  record.time = now_;
  record.sequence = events_;
  recorded_ = events_;
  listener_->on_record(record);
}

void Kernel::release(PendingOp& op) {
  if (op.deadline_list >= 0) unlink_deadline(op);
  op.process->unlink(op);
  ops_.give_back(op);
}

void Kernel::complete(PendingOp& op, std::exception_ptr error, Payload result) {
  const RunningScope scope(*this, Running{op.process, op.activity});
  if (op.row != nullptr && error == nullptr && op.row->go_on(op, result)) return;
  if (operations_ != nullptr) [[unlikely]] {
    operations_->on_operation(op, now_, error != nullptr);
  }
  auto done = std::move(op.done);
  release(op);
  stir();
  if (auto* plain = std::get_if<Completion<>>(&done)) {
    (*plain)(std::move(error));
  } else {
    std::get<Completion<Payload>>(done)(std::move(error), std::move(result));
  }
}

void Kernel::complete_at(TimePoint time, PendingOp& op) { schedule(time, op_sink_.get(), handle_of(op).packed()); }

void Kernel::drop(PendingOp& op) {
  stir();
  auto done = std::move(op.done);
  release(op);
}

void Kernel::arm_deadline(PendingOp& op, Duration timeout) {
  if (timeout == kForever) return;
  auto list = std::find_if(deadlines_.begin(), deadlines_.end(),
                           [timeout](const DeadlineList& candidate) { return candidate.timeout == timeout; });
  if (list == deadlines_.end()) list = deadlines_.insert(list, DeadlineList{timeout});
  op.deadline = now_ + timeout;
  op.deadline_list = static_cast<int>(list - deadlines_.begin());
  op.deadline_previous = list->last;
  op.deadline_next = nullptr;
  if (list->first == nullptr) ++foreground_;
  (list->last != nullptr ? list->last->deadline_next : list->first) = &op;
  list->last = &op;
  arm_list(op.deadline_list);
}

void Kernel::disarm_deadline(PendingOp& op) {
  if (op.deadline_list >= 0) unlink_deadline(op);
}

void Kernel::unlink_deadline(PendingOp& op) {
  DeadlineList& list = deadlines_[static_cast<std::size_t>(op.deadline_list)];
  (op.deadline_previous != nullptr ? op.deadline_previous->deadline_next : list.first) = op.deadline_next;
  (op.deadline_next != nullptr ? op.deadline_next->deadline_previous : list.last) = op.deadline_previous;
  op.deadline_list = -1;
  if (list.first == nullptr) --foreground_;
}

void Kernel::arm_list(int index) {
  DeadlineList& list = deadlines_[static_cast<std::size_t>(index)];
  if (list.armed || list.first == nullptr) return;
  list.armed = true;
  // Its own event keeps nothing going: a list counts while an operation waits in it, and no longer.
  schedule_background(list.first->deadline, deadline_sink_.get(), static_cast<std::uint64_t>(index));
}

bool Kernel::deadline_is_due(int index, TimePoint time) const {
  const DeadlineList& list = deadlines_[static_cast<std::size_t>(index)];
  return list.first != nullptr && list.first->deadline <= time;
}

void Kernel::on_deadline(int index) {
  DeadlineList& list = deadlines_[static_cast<std::size_t>(index)];
  PendingOp& op = *list.first;
  list.armed = false;
  const WaitInfo& wait = op.wait;
  auto error = std::make_exception_ptr(CommError(CommError::Kind::kTimeout, wait.group_id, wait.generation,
                                                 wait.sequence, op.process->rank(), wait.peer, wait.operation));
  unlink_deadline(op);
  arm_list(index);
  if (is_heard()) {
    EventRecord record = record_of(op);
    record.kind = EventKind::kDeadline;
    this->record(record);
  }
  complete(op, std::move(error));
}

std::vector<WaitingRow> Kernel::waiting() const {
  std::vector<WaitingRow> rows;
  for (const Process* process : processes_) process->append_waiting(rows);
  std::stable_sort(rows.begin(), rows.end(), [](const WaitingRow& a, const WaitingRow& b) { return a.rank < b.rank; });
  return rows;
}

void Kernel::add_process(Process* process) { processes_.push_back(process); }

void Kernel::remove_process(Process* process) { std::erase(processes_, process); }

}  // namespace rehearse
