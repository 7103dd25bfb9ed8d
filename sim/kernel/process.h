#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/runtime/completion.h"
#include "core/runtime/task.h"
#include "sim/kernel/kernel.h"

namespace rehearse {

// One incarnation of a rank: its main Task, the activities that it spawned, and the operations they are suspended in. A
// restarted rank is a new Process.
class Process {
 public:
  // `generation`: of the job that it is part of.
  Process(Kernel& kernel, int rank, std::uint32_t generation = 0);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Kernel& kernel() { return kernel_; }
  int rank() const { return rank_; }
  std::uint32_t generation() const { return generation_; }

  enum class State : std::uint8_t { kNew, kRunning, kEnded, kKilled };
  State state() const { return state_; }

  // Runs `main` from an event at now. `on_end` gets its exception or null, or that of an activity nobody joined; the
  // activities still running then die.
  void start(std::function<Task<>()> main, std::function<void(std::exception_ptr)> on_end);
  // Starts an activity at once, up to its first wait.
  std::uint32_t spawn(std::string name, Task<> task);
  // Ends when the activity has; gives its exception.
  void join(std::uint32_t activity, Completion<> done);

  // A crash: the coroutines are destroyed where they are suspended, only their destructors run. Not from inside one of
  // this process's coroutines (schedule an event at now instead).
  void kill();

  // It stops without dying: nothing in it ever runs again, and it counts as unfinished until it is killed. Not from
  // inside one of its coroutines either.
  void hang();
  bool hangs() const { return hangs_; }

  // It will be killed, or hang, by an event of this moment, so its main Task does not end it any more.
  void doom() { doomed_ = true; }
  bool is_doomed() const { return doomed_; }

  // Another process runs in its place, and nobody of the job listens to it any more.
  void fence() { fenced_ = true; }
  bool is_fenced() const { return fenced_; }

  // An operation of the running activity. Its starter completes it through the kernel.
  PendingOp& begin(const WaitInfo& wait, Completion<> done);
  PendingOp& begin(const WaitInfo& wait, Completion<Payload> done);
  // The next wait of a row (pending_op.h), as if it were an operation of its own that began now.
  void begin_next(PendingOp& op);
  // Done `duration` from now; `effect` runs then, and its exception is the operation's.
  void start_timed(const WaitInfo& wait, Duration duration, std::function<void()> effect, Completion<> done);
  // The same with a payload that `effect` returns.
  void start_timed(const WaitInfo& wait, Duration duration, std::function<Payload()> effect, Completion<Payload> done);
  // Fails at now, by an event.
  void fail(PendingOp& op, std::exception_ptr error);
  // Every pending operation, in the order they were started; `visit` may fail but not complete them.
  void for_each_pending(const std::function<void(PendingOp&)>& visit);

  void unlink(PendingOp& op);
  void append_waiting(std::vector<WaitingRow>& rows) const;

 private:
  static constexpr std::uint32_t kMain = 0;
  class StartSink;
  struct ActivityState {
    std::string name;
    bool finished = false;
    bool free = false;
    std::exception_ptr error;
    OpHandle joiner;
    bool has_joiner = false;
  };

  PendingOp& begin_any(const WaitInfo& wait);
  std::uint32_t take_activity(std::string name);
  void launch(std::uint32_t activity, Task<> task);
  void on_activity_end(std::uint32_t activity, std::exception_ptr error);
  void on_main_end(std::exception_ptr error);
  void drop_all();

  // What each operation touches comes first, on one line of a cache.
  Kernel& kernel_;
  PendingOp* first_ = nullptr;
  PendingOp* last_ = nullptr;
  int rank_;
  std::uint32_t generation_;
  State state_ = State::kNew;
  bool doomed_ = false;
  bool hangs_ = false;
  bool fenced_ = false;
  TimePoint hangs_since_;
  std::unique_ptr<StartSink> start_sink_;
  std::function<Task<>()> main_;
  std::function<void(std::exception_ptr)> on_end_;
  std::vector<ActivityState> activities_;
  std::vector<std::uint32_t> free_activities_;
};

}  // namespace rehearse
