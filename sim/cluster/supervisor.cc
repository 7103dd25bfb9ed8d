#include "sim/cluster/supervisor.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/train/rank_main.h"
#include "sim/cluster/placement.h"
#include "sim/cluster/supervisor_events.h"

namespace rehearse {

Supervisor::Supervisor(World& world, const RecoveryConfig& config, const RecoveryPolicy& policy, Duration latency,
                       std::vector<SupervisorLinkFault> link_faults, RankProgram program,
                       std::function<void(const RecoveryRecord&)> on_restart)
    : world_(world),
      config_(config),
      policy_(policy),
      latency_(latency),
      links_(std::move(link_faults), latency, config.heartbeat_interval, config.heartbeat_timeout),
      program_(std::move(program)),
      on_restart_(std::move(on_restart)),
      spares_(config.spares) {
  world_.set_end_listener([this](int rank, const std::exception_ptr& error) { on_rank_end(rank, error); });
  world_.set_abandoned_end_listener([this](int rank, std::uint32_t generation, const std::exception_ptr& error) {
    const std::string why = error == nullptr ? "its program is over" : cause_of(rank, error);
    note(rank, generation, "ends by itself: " + (why.empty() ? "it failed" : why));
  });
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

void Supervisor::set_hosts(const HostLayout& hosts) {
  hosts_ = hosts;
  links_.set_ranks_per_host(hosts.ranks_per_host);
}

void Supervisor::start() {
  watch_heartbeats();
  world_.start_all(program_);
}

void Supervisor::watch_heartbeats() {
  started_ = world_.now();
  if (links_.empty()) return;
  for (int rank = 0; rank < world_.ranks(); ++rank) {
    const std::optional<TimePoint> missed = links_.missed(rank, started_, std::nullopt);
    if (!missed.has_value()) continue;
    world_.kernel().schedule(*missed, this, argument_of(Happening::kMissed, rank_of_generation(rank, generation_)));
  }
}

TimePoint Supervisor::time_heard(int rank) const {
  const std::optional<TimePoint> told = links_.arrival(rank, ControlWay::kToSupervisor, world_.now());
  const std::optional<TimePoint> missed = links_.missed(rank, started_, std::nullopt);
  if (!told.has_value()) return missed.value_or(world_.now() + config_.heartbeat_timeout);
  return missed.has_value() ? std::min(*told, *missed) : *told;
}

void Supervisor::on_rank_end(int rank, std::exception_ptr error) {
  if (error == nullptr) {
    watch_progress();
    return end_fenced_soon();
  }
  const std::string cause = cause_of(rank, error);
  // What the others fail of then follows from it.
  if (cause.empty()) hopeless_ = true;
  if (hopeless_) end_fenced_soon();
  fail(cause, time_heard(rank));
}

void Supervisor::crash_soon(int rank) {
  world_.doom(rank);
  world_.kernel().schedule(world_.now(), this, argument_of(Happening::kCrash, rank_of_generation(rank, generation_)));
}

void Supervisor::lose_soon(const DomainLoss& loss) {
  for (int rank = loss.ranks.first; rank < loss.ranks.end(); ++rank) world_.doom(rank);
  losses_.emplace_back(loss, generation_);
  world_.kernel().schedule(world_.now(), this, argument_of(Happening::kLoss, losses_.size() - 1));
}

void Supervisor::hang_soon(int rank) {
  world_.doom(rank);
  world_.kernel().schedule(world_.now(), this, argument_of(Happening::kHang, rank_of_generation(rank, generation_)));
}

void Supervisor::crash(int rank, CrashKind kind) {
  if (kind == CrashKind::kHost) return lose(loss_of(FailureDomain(), rank, hosts_, world_.ranks()));
  if (world_.state(rank) != World::RankState::kRunning) return;
  // Before the process goes: with the last one the simulation would end.
  fail("rank " + std::to_string(rank) + " crashed", time_heard(rank));
  world_.crash(rank, CrashKind::kProcess);
}

TimePoint Supervisor::time_missed(const RankRange& ranks) const {
  std::optional<TimePoint> first;
  for (int rank = ranks.first; rank < ranks.end(); ++rank) {
    if (world_.state(rank) != World::RankState::kRunning) continue;
    const TimePoint missed = *links_.missed(rank, started_, world_.now());
    first = std::min(first.value_or(missed), missed);
  }
  return std::max(first.value(), world_.now());
}

void Supervisor::lose(const DomainLoss& loss) {
  bool any = false;
  for (int rank = loss.ranks.first; rank < loss.ranks.end(); ++rank) {
    any = any || world_.state(rank) == World::RankState::kRunning;
  }
  // Nobody misses a host that nobody runs on.
  if (!any) return;
  for (int rank = loss.ranks.first; rank < loss.ranks.end(); ++rank) lost_.insert(hosts_.host_of(rank));
  fail(cause_words(loss), time_missed(loss.ranks));
  for (int rank = loss.ranks.first; rank < loss.ranks.end(); ++rank) world_.lose_host_of(rank);
}

void Supervisor::lose_power_soon() {
  for (int rank = 0; rank < world_.ranks(); ++rank) world_.doom(rank);
  world_.kernel().schedule(world_.now(), this, argument_of(Happening::kPowerLoss, generation_));
}

void Supervisor::lose_power() {
  bool any = false;
  for (int rank = 0; rank < world_.ranks(); ++rank) any = any || world_.state(rank) == World::RankState::kRunning;
  if (!any) return;
  fail("the power of all hosts was lost", time_missed(RankRange{0, world_.ranks()}));
  for (int rank = 0; rank < world_.ranks(); ++rank) world_.crash(rank, CrashKind::kHost);
}

void Supervisor::fail(const std::string& cause, TimePoint heard) {
  if (hopeless_ || (state_ != State::kRunning && state_ != State::kFailing)) return;
  if (state_ == State::kFailing) {
    // Of several failures the supervisor acts on the one that it hears of first.
    if (heard >= heard_at_) return;
  } else {
    state_ = State::kFailing;
    open_ = RecoveryRecord();
    open_.failed = time_hung().value_or(world_.now());
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
    record.generation = generation_;
    RankRange ranks{record.rank, 1};
    if (is_of_rank(event)) ranks.first = static_cast<int>(rest >> 32);
    if (event == Happening::kLoss) ranks = losses_[rest].first.ranks;
    for (record.rank = ranks.first; record.rank < ranks.end(); ++record.rank) world_.kernel().record(record);
  }
  const int rank = static_cast<int>(rest >> 32);
  const auto generation = static_cast<std::uint32_t>(rest);
  // What was to strike a rank in the moment in which its generation ended strikes nobody.
  const bool is_over = generation != generation_;
  switch (event) {
    case Happening::kHeard:
      return on_heard();
    case Happening::kStop:
      return on_stop();
    case Happening::kStart:
      return on_start();
    case Happening::kCrash:
      return is_over ? void() : crash(rank, CrashKind::kProcess);
    case Happening::kLoss:
      return losses_[rest].second != generation_ ? void() : lose(losses_[rest].first);
    case Happening::kHang:
      if (is_over) return;
      hanging_.emplace(rank, world_.now());
      world_.hang(rank);
      return watch_progress();
    case Happening::kPowerLoss:
      return is_over ? void() : lose_power();
    case Happening::kMissed:
      return on_missed(rank, generation);
    case Happening::kStuck:
      if (is_over) return;
      return fail("rank " + std::to_string(rank) + " hung, and no rank was left that waited for it", time_heard(rank));
    case Happening::kOrder:
      return on_order(rank, generation);
    case Happening::kLate:
      return on_late(generation);
    case Happening::kOver:
      for (const auto& [fenced, of] : world_.abandoned()) {
        world_.kill_abandoned(fenced, of);
        note(fenced, of, "still runs as the job ends, and is stopped");
      }
      return;
  }
}

std::optional<TimePoint> Supervisor::time_hung() const {
  std::optional<TimePoint> first;
  for (const auto& [rank, since] : hanging_) first = std::min(first.value_or(since), since);
  return first;
}

void Supervisor::watch_progress() {
  if (state_ != State::kRunning || config_.collective_timeout == Duration()) return;
  std::optional<int> first;
  for (int rank = 0; rank < world_.ranks(); ++rank) {
    if (world_.state(rank) != World::RankState::kRunning) continue;
    const auto hanging = hanging_.find(rank);
    if (hanging == hanging_.end()) return;
    if (!first.has_value() || hanging->second < hanging_.at(*first)) first = rank;
  }
  if (!first.has_value()) return;
  const TimePoint noticed = std::max(hanging_.at(*first) + config_.collective_timeout, world_.now());
  world_.kernel().schedule(noticed, this, argument_of(Happening::kStuck, rank_of_generation(*first, generation_)));
}

void Supervisor::on_missed(int rank, std::uint32_t generation) {
  if (generation != generation_ || (state_ != State::kRunning && state_ != State::kFailing)) return;
  if (world_.state(rank) != World::RankState::kRunning) return;
  const int host = hosts_.host_of(rank);
  lost_.insert(host);
  const RankRange ranks = hosts_.ranks_of_host(host, world_.ranks());
  fail(words_of(ranks) + (ranks.count == 1 ? " was" : " were") + " not heard of for " +
           to_string(config_.heartbeat_timeout),
       world_.now());
  if (world_.is_up(rank)) open_.suspected.push_back(rank);
}

void Supervisor::on_heard() {
  // News of a failure that the supervisor has acted on already, maybe a generation ago.
  if (state_ != State::kFailing || world_.now() != heard_at_) return;
  open_.detected = world_.now();
  state_ = State::kStopping;
  world_.kernel().schedule(world_.now() + latency_, this, argument_of(Happening::kStop, generation_));
  unreached_.clear();
  joins_.assign(static_cast<std::size_t>(world_.ranks()), std::nullopt);
  for (int rank = 0; rank < world_.ranks(); ++rank) {
    const std::optional<TimePoint> order = links_.arrival(rank, ControlWay::kFromSupervisor, world_.now());
    if (order.has_value()) {
      joins_[static_cast<std::size_t>(rank)] = links_.arrival(rank, ControlWay::kToSupervisor, *order);
      if (*order == world_.now() + latency_) continue;
      world_.kernel().schedule(*order, this, argument_of(Happening::kOrder, rank_of_generation(rank, generation_)));
    }
    unreached_.insert(rank);
  }
}

void Supervisor::on_stop() {
  CHECK(state_ == State::kStopping);
  for (int rank = 0; rank < world_.ranks(); ++rank) {
    if (!unreached_.contains(rank)) world_.crash(rank, CrashKind::kProcess);
  }
  meet();
}

void Supervisor::on_order(int rank, std::uint32_t generation) {
  if (generation == generation_) return world_.crash(rank, CrashKind::kProcess);
  const auto fenced = world_.abandoned();
  if (std::find(fenced.begin(), fenced.end(), std::pair(rank, generation)) != fenced.end()) {
    world_.kill_abandoned(rank, generation);
    note(rank, generation, "hears at last that it shall stop, and does");
  }
  const bool was_fenced = std::any_of(fenced_.begin(), fenced_.end(), [&](const FencedRecord& one) {
    return one.rank == rank && one.generation == generation;
  });
  if (!was_fenced) return;  // nobody may be there who could ask
  note(rank, generation, "asks to join, and is refused: the job is in generation " + std::to_string(generation_));
}

void Supervisor::meet() {
  lost_when_met_ = lost_;
  JobFailure failure;
  failure.cause = open_.cause;
  failure.restarts = restarts_;
  const RestartDecision decision = policy_.on_failure(failure);
  if (!decision.restart) {
    return give_up("the " + std::to_string(restarts_) + " restarts that recovery allows are used");
  }
  const std::vector<int> lost(lost_.begin(), lost_.end());
  const std::optional<Placement> placement = place_ranks(config_, hosts_, world_.ranks(), spares_, lost, fits_);
  if (!placement.has_value()) {
    if (std::cmp_equal(lost.size(), hosts_.hosts_of(world_.ranks()))) return give_up("no host is left");
    return give_up("of the hosts that are left, no number from recovery.min_ranks = " +
                   std::to_string(config_.min_ranks) + " on divides a batch");
  }
  open_.ranks = placement->ranks;
  open_.on_spares = placement->on_spares;
  open_.gone = placement->gone;
  open_.hosts_on_spares = placement->hosts_on_spares;
  open_.hosts_gone = placement->hosts_gone;
  open_.spares_left = placement->spares;
  state_ = State::kWaiting;
  const TimePoint earliest = world_.now() + (placement->at_once ? Duration() : decision.delay);
  // The agents say that they are there, and hear that they shall start.
  TimePoint start = std::max(earliest, world_.now() + latency_ * 2);
  const TimePoint latest = start + config_.rendezvous_timeout;
  late_.clear();
  std::vector<int> hosts;  // that stay
  TimePoint met = world_.now();
  for (int rank = 0; rank < world_.ranks(); ++rank) {
    const auto is_of = [rank](const std::vector<int>& ranks) {
      return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    };
    if (is_of(open_.on_spares) || is_of(open_.gone)) continue;
    hosts.push_back(rank);
    const std::optional<TimePoint> join = joins_[static_cast<std::size_t>(rank)];
    if (join.has_value()) met = std::max(met, *join);
    if (!join.has_value() || *join > latest) late_.push_back(rank);
  }
  std::vector<int> unheard;
  for (const int rank : hosts) {
    const std::optional<TimePoint> order = links_.arrival(rank, ControlWay::kFromSupervisor, met);
    if (order.has_value()) start = std::max(start, *order);
    if (!order.has_value() || *order > latest) unheard.push_back(rank);
  }
  if (late_.empty()) late_ = unheard;
  const Happening next = late_.empty() ? Happening::kStart : Happening::kLate;
  world_.kernel().schedule(late_.empty() ? start : latest, this, argument_of(next, generation_));
}

void Supervisor::on_late(std::uint32_t generation) {
  CHECK(generation == generation_ && state_ == State::kWaiting);
  // A rendezvous that fails is a restart that was tried.
  ++restarts_;
  for (const int rank : late_) {
    lost_.insert(hosts_.host_of(rank));
    if (std::find(open_.late.begin(), open_.late.end(), rank) == open_.late.end()) open_.late.push_back(rank);
  }
  meet();
}

void Supervisor::give_up(const std::string& why) {
  state_ = State::kGivenUp;
  gave_up_ = open_.cause + ", and " + why;
  for (int rank = 0; rank < world_.ranks(); ++rank) world_.crash(rank, CrashKind::kProcess);
  if (!world_.abandoned().empty()) {
    world_.kernel().schedule(world_.now(), this, argument_of(Happening::kOver, generation_));
  }
  release();
}

void Supervisor::end_fenced_soon() {
  if (world_.abandoned().empty()) return;
  for (int rank = 0; rank < world_.ranks(); ++rank) {
    const World::RankState state = world_.state(rank);
    if (state == World::RankState::kRunning || (state != World::RankState::kEnded && !hopeless_)) return;
  }
  world_.kernel().schedule(world_.now(), this, argument_of(Happening::kOver, generation_));
}

void Supervisor::abandon_the_replaced() {
  for (int rank = 0; rank < world_.ranks(); ++rank) {
    if (world_.state(rank) != World::RankState::kRunning) continue;
    CHECK(unreached_.contains(rank));
    if (!world_.is_up(rank)) {
      world_.crash(rank, CrashKind::kProcess);
      continue;
    }
    note(rank, generation_, "lives and has not heard that it shall stop: from now on nobody listens to it");
    world_.abandon(rank);
  }
}

void Supervisor::note(int rank, std::uint32_t generation, const std::string& what) {
  FencedRecord record;
  record.time = world_.now();
  record.rank = rank;
  record.generation = generation;
  record.what = what;
  fenced_.push_back(std::move(record));
}

void Supervisor::on_refused(int rank, std::uint32_t generation, const std::string& what) {
  note(rank, generation, "may not " + what + ": the storage takes generation " + std::to_string(generation_));
}

void Supervisor::on_start() {
  CHECK(state_ == State::kWaiting);
  if (hopeless_) return give_up("a rank failed meanwhile of what a restart does not mend");
  if (lost_ != lost_when_met_) {
    // A host went on which a rank still ran that was to hear that it shall stop.
    ++restarts_;
    return meet();
  }
  abandon_the_replaced();
  ++generation_;
  ++restarts_;
  open_.generation = generation_;
  open_.restarted = world_.now();
  state_ = State::kRunning;
  hanging_.clear();
  lost_.clear();
  spares_ = open_.spares_left;
  for (const int rank : open_.on_spares) links_.replace_host_of(rank);
  for (const int rank : open_.gone) links_.replace_host_of(rank);
  world_.set_ranks(open_.ranks);
  on_restart_(open_);
  watch_heartbeats();
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
