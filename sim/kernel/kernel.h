#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/units.h"
#include "core/runtime/task.h"
#include "sim/kernel/activity_listener.h"
#include "sim/kernel/event_queue.h"
#include "sim/kernel/pending_op.h"

namespace rehearse {

class Process;

// How Kernel::run ended.
enum class RunEnd : std::uint8_t {
  kDone,      // every process has ended
  kDeadlock,  // processes are unfinished and no event is left that could wake one
  kBudget,    // `max_events` were handled; run again to go on
};

// One row of the deadlock table.
struct WaitingRow {
  int rank;
  std::string activity;
  WaitInfo wait;
  TimePoint since;
  std::string joins;  // the activity a join waits for
};

// The virtual clock and the total order of events. Executes rank coroutines on its own io_context: one handler loops
// over the events, completes each inline, then drains what that made ready; so time advances only when no handler is
// ready. Single-threaded, nothing global: two kernels in one process, even interleaved, do not see each other.
class Kernel {
 public:
  Kernel();
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  TimePoint now() const { return now_; }
  boost::asio::io_context::executor_type executor() { return context_->get_executor(); }

  // `sink` gets `argument` at `time` (not before now), after every event of that time that was scheduled earlier.
  void schedule(TimePoint time, EventSink* sink, std::uint64_t argument) { push(time, sink, argument, false); }
  // The same for an event that alone does not keep the simulation going.
  void schedule_background(TimePoint time, EventSink* sink, std::uint64_t argument) {
    push(time, sink, argument, true);
  }

  // Handles at most `max_events` events. An exception of an event handler leaves through here.
  RunEnd run(std::uint64_t max_events = ~std::uint64_t{0});
  std::uint64_t events() const { return events_; }

  // Tells `listener` of every event from now on; null for nobody. It outlives the kernel's runs.
  void set_listener(EventListener* listener) { listener_ = listener; }
  // Whether records are worth making.
  bool is_heard() const { return listener_ != nullptr; }
  // Passes a record on with the time and the sequence of the event that is being handled. Every sink makes one record
  // of each of its events, before it goes on to what follows from it. Only while is_heard().
  void record(EventRecord record);

  // Tells `activities` of what ranks do from now on; null for nobody. It outlives the kernel's runs.
  void set_activities(ActivityListener* activities) {
    activities_ = activities;
    operations_ = activities != nullptr && activities->hears_operations() ? activities : nullptr;
  }
  // Null for nobody.
  ActivityListener* activities() const { return activities_; }
  // The same where it hears operations and messages.
  ActivityListener* operations() const { return operations_; }

  // What every activity of every unfinished process waits for, by rank and activity.
  std::vector<WaitingRow> waiting() const;

  // Destroys all coroutines and handlers; what their destructors touch must still be there. Called by the owner before
  // those go.
  void shutdown();

  // For Process and the services that complete operations.
  OpPool& ops() { return ops_; }
  // Ends the wait: resumes the coroutine, inline. Only from an event, never from inside a coroutine.
  void complete(PendingOp& op, std::exception_ptr error, Payload result = Payload());
  // Completes the operation at `time` with its notes `error`, `effect` and `result`.
  void complete_at(TimePoint time, PendingOp& op);
  // Fails the operation with CommError kTimeout `timeout` from now unless it is completed before.
  void arm_deadline(PendingOp& op, Duration timeout);
  // The operation will be completed in time.
  void disarm_deadline(PendingOp& op);
  // Forgets the operation without completing it; its coroutine is destroyed at the next drain.
  void drop(PendingOp& op);

  // A handler of a coroutine may have become ready: a drain follows the event that is being handled.
  void stir() { stirred_ = true; }

  void add_process(Process* process);
  void remove_process(Process* process);
  void process_started() { ++unfinished_; }
  void process_ended() { --unfinished_; }

  // Whose coroutine is running.
  struct Running {
    Process* process = nullptr;
    std::uint32_t activity = 0;
  };
  Running running() const { return running_; }
  void set_running(Running running) { running_ = running; }
  // Says whose coroutine runs until the scope ends, however it ends; then whoever ran before.
  class RunningScope {
   public:
    RunningScope(Kernel& kernel, Running running) : kernel_(kernel), before_(kernel.running_) {
      kernel_.running_ = running;
    }
    ~RunningScope() { kernel_.running_ = before_; }
    RunningScope(const RunningScope&) = delete;
    RunningScope& operator=(const RunningScope&) = delete;

   private:
    Kernel& kernel_;
    Running before_;
  };

 private:
  class OpSink;
  class DeadlineSink;

  void push(TimePoint time, EventSink* sink, std::uint64_t argument, bool background) {
    CHECK_GE(time.ps(), now_.ps());
    Event event{};
    event.time = time;
    event.sequence = next_sequence_++;
    event.background = background;
    event.sink = sink;
    event.argument = argument;
    queue_.push(event);
    if (!background) ++foreground_;
  }
  RunEnd loop(std::uint64_t max_events);
  // Runs the handlers that are ready, and those that they make ready.
  void drain();
  void release(PendingOp& op);
  void unlink_deadline(PendingOp& op);
  void arm_list(int list);
  // True when the list's first operation is due at `time`.
  bool deadline_is_due(int list, TimePoint time) const;
  void on_deadline(int list);

  // Operations with one timeout: their deadlines come in the order they were armed, so a list and one event suffice.
  struct DeadlineList {
    Duration timeout;
    PendingOp* first = nullptr;
    PendingOp* last = nullptr;
    bool armed = false;
  };

  TimePoint now_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t events_ = 0;
  bool stirred_ = true;         // something may wait for a drain
  std::size_t foreground_ = 0;  // events in the queue that are not background, and deadline lists with an operation
  EventQueue queue_;
  OpPool ops_;
  std::vector<DeadlineList> deadlines_;
  std::vector<Process*> processes_;
  int unfinished_ = 0;
  Running running_;
  EventListener* listener_ = nullptr;
  ActivityListener* activities_ = nullptr;
  ActivityListener* operations_ = nullptr;
  std::uint64_t recorded_ = 0;  // the newest event that has its record
  std::unique_ptr<OpSink> op_sink_;
  std::unique_ptr<DeadlineSink> deadline_sink_;
  std::unique_ptr<boost::asio::io_context> context_;
};

}  // namespace rehearse
