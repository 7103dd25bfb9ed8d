#include "sim/cluster/supervisor.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/train/rank_main.h"

namespace rehearse {
namespace {

// An event's argument: what it is in the low byte; above it the generation, or the rank and the kind of a crash.
enum class Happening : std::uint64_t { kHeard, kStop, kStart, kCrash, kHang, kPowerLoss };

std::uint64_t argument_of(Happening event, std::uint64_t rest) { return static_cast<std::uint64_t>(event) | rest << 8; }

EventKind kind_of(Happening event) {
  switch (event) {
    case Happening::kHeard:
      return EventKind::kDetected;
    case Happening::kStop:
      return EventKind::kStopped;
    case Happening::kStart:
      return EventKind::kRestart;
    case Happening::kCrash:
    case Happening::kPowerLoss:
      return EventKind::kCrash;
    case Happening::kHang:
      return EventKind::kHang;
  }
  check_failed(__FILE__, __LINE__, "unknown event of the supervisor");
}

// A failure in words without the numbers of its messages, calls and times, which differ from one time to the next. Who
// failed stands before the colon.
std::string kind_of_failure(std::string cause) {
  const std::size_t colon = std::min(cause.find(':'), cause.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  cause.erase(std::remove_if(cause.begin() + static_cast<std::ptrdiff_t>(colon), cause.end(), is_digit), cause.end());
  return cause;
}

}  // namespace

std::optional<std::int64_t> blamed_checkpoint(const RecoveryRecord& before, const RecoveryRecord& now) {
  const bool same = kind_of_failure(before.cause) == kind_of_failure(now.cause) && before.last_step == now.last_step;
  const bool loaded = before.from_checkpoint && before.resumed > before.failed;
  if (!same || !loaded) return std::nullopt;
  return before.resumed_step;
}

Supervisor::Supervisor(World& world, const RecoveryConfig& config, const RecoveryPolicy& policy, Duration latency,
                       RankProgram program, std::function<void(const RecoveryRecord&)> on_restart)
    : world_(world),
      config_(config),
      policy_(policy),
      latency_(latency),
      program_(std::move(program)),
      on_restart_(std::move(on_restart)) {
  world_.set_end_listener([this](int rank, const std::exception_ptr& error) { on_rank_end(rank, error); });
}

std::string Supervisor::cause_of(int rank, const std::exception_ptr& error) const {
  const std::string who = "rank " + std::to_string(rank);
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    return "";
  } catch (const std::bad_alloc&) {
    return "";
  } catch (const CommError& failure) {
    const std::string why = diagnosis_ ? diagnosis_(failure) : std::string();
    std::string what = failure.what();
    if (what.starts_with(who + ": ")) what.erase(0, who.size() + 2);
    return who + " failed: " + what + (why.empty() ? "" : "; " + why);
  } catch (const EvictedError& failure) {
    return failure.what();
  } catch (const std::exception& failure) {
    return who + " failed: " + failure.what();
  }
}

void Supervisor::start() { world_.start_all(program_); }

void Supervisor::on_rank_end(int rank, std::exception_ptr error) {
  if (error == nullptr) return;
  const std::string cause = cause_of(rank, error);
  // What the others fail of then follows from it.
  if (cause.empty()) hopeless_ = true;
  fail(cause, latency_);
}

void Supervisor::crash_soon(int rank, CrashKind kind) {
  const std::uint64_t what = static_cast<std::uint64_t>(rank) << 8 | static_cast<std::uint64_t>(kind);
  world_.doom(rank);
  world_.kernel().schedule(world_.now(), this, argument_of(Happening::kCrash, what));
}

void Supervisor::hang_soon(int rank) {
  world_.doom(rank);
  world_.kernel().schedule(world_.now(), this, argument_of(Happening::kHang, static_cast<std::uint64_t>(rank) << 8));
}

void Supervisor::crash(int rank, CrashKind kind) {
  if (world_.state(rank) != World::RankState::kRunning) return;
  // Before the process goes: with the last one the simulation would end.
  const std::string cause =
      "rank " + std::to_string(rank) + (kind == CrashKind::kProcess ? " crashed" : " was lost with its host");
  fail(cause, kind == CrashKind::kProcess ? latency_ : config_.heartbeat_timeout);
  world_.crash(rank, kind);
}

void Supervisor::lose_power_soon() {
  for (int rank = 0; rank < world_.ranks(); ++rank) world_.doom(rank);
  world_.kernel().schedule(world_.now(), this, argument_of(Happening::kPowerLoss, 0));
}

void Supervisor::lose_power() {
  bool any = false;
  for (int rank = 0; rank < world_.ranks(); ++rank) any = any || world_.state(rank) == World::RankState::kRunning;
  if (!any) return;
  fail("the power of all hosts was lost", config_.heartbeat_timeout);
  for (int rank = 0; rank < world_.ranks(); ++rank) world_.crash(rank, CrashKind::kHost);
}

void Supervisor::fail(const std::string& cause, Duration until_heard) {
  if (hopeless_ || (state_ != State::kRunning && state_ != State::kFailing)) return;
  const TimePoint heard = world_.now() + until_heard;
  if (state_ == State::kFailing) {
    // Of several failures the supervisor acts on the one that it hears of first.
    if (heard >= heard_at_) return;
  } else {
    state_ = State::kFailing;
    open_ = RecoveryRecord();
    open_.failed = hung_.value_or(world_.now());
    hold();
  }
  open_.cause = cause;
  heard_at_ = heard;
  world_.kernel().schedule(heard, this, argument_of(Happening::kHeard, generation_));
}

void Supervisor::on_event(std::uint64_t argument) {
  const auto event = static_cast<Happening>(argument & 0xff);
  const std::uint64_t rest = argument >> 8;
  if (world_.kernel().is_heard()) {
    EventRecord record(kind_of(event));
    if (event == Happening::kCrash || event == Happening::kHang) record.rank = static_cast<std::int32_t>(rest >> 8);
    record.generation = generation_;
    world_.kernel().record(record);
  }
  switch (event) {
    case Happening::kHeard:
      return on_heard();
    case Happening::kStop:
      return on_stop();
    case Happening::kStart:
      return on_start();
    case Happening::kCrash:
      return crash(static_cast<int>(rest >> 8), static_cast<CrashKind>(rest & 0xff));
    case Happening::kHang:
      if (!hung_.has_value()) hung_ = world_.now();
      return world_.hang(static_cast<int>(rest >> 8));
    case Happening::kPowerLoss:
      return lose_power();
  }
}

void Supervisor::on_heard() {
  // News of a failure that the supervisor has acted on already, maybe a generation ago.
  if (state_ != State::kFailing || world_.now() != heard_at_) return;
  open_.detected = world_.now();
  state_ = State::kStopping;
  world_.kernel().schedule(world_.now() + latency_, this, argument_of(Happening::kStop, generation_));
}

void Supervisor::on_stop() {
  CHECK(state_ == State::kStopping);
  for (int rank = 0; rank < world_.ranks(); ++rank) world_.crash(rank, CrashKind::kProcess);
  JobFailure failure;
  failure.cause = open_.cause;
  failure.restarts = restarts_;
  const RestartDecision decision = policy_.on_failure(failure);
  if (!decision.restart) {
    state_ = State::kGivenUp;
    gave_up_ = open_.cause + ", and the " + std::to_string(restarts_) + " restarts that recovery allows are used";
    release();
    return;
  }
  state_ = State::kWaiting;
  world_.kernel().schedule(world_.now() + decision.delay, this, argument_of(Happening::kStart, generation_));
}

void Supervisor::on_start() {
  CHECK(state_ == State::kWaiting);
  ++generation_;
  ++restarts_;
  open_.generation = generation_;
  open_.restarted = world_.now();
  state_ = State::kRunning;
  hung_.reset();
  on_restart_(open_);
  for (int rank = 0; rank < world_.ranks(); ++rank) world_.start(rank, program_, generation_);
  release();
}

void Supervisor::hold() {
  CHECK(!held_);
  held_ = true;
  world_.kernel().process_started();
}

void Supervisor::release() {
  CHECK(held_);
  held_ = false;
  world_.kernel().process_ended();
}

}  // namespace rehearse
