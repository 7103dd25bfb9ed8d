#include "sim/fault/injector.h"

#include "core/base/check.h"
#include "core/base/numbers.h"
#include "sim/fault/memory_faults.h"

namespace rehearse {
namespace {

constexpr std::size_t kNumbersPerFault = 4;
constexpr int kNoRank = -1;

bool stops(const Fault& fault) {
  return std::holds_alternative<CrashFault>(fault.kind) || std::holds_alternative<HangFault>(fault.kind);
}

const char* words_of(ProgramError error) {
  switch (error) {
    case ProgramError::kSkip:
      return "the program leaves a collective out";
    case ProgramError::kOtherSize:
      return "the program calls a collective with half the elements";
    case ProgramError::kOtherType:
      return "the program calls a collective with another element type";
    case ProgramError::kOtherOrder:
      return "the program calls two collectives in the wrong order";
    case ProgramError::kNone:
      break;
  }
  check_failed(__FILE__, __LINE__, "no error of a program");
}

}  // namespace

FaultInjector::FaultInjector(const FaultPlan& plan, int ranks, const RandomStream& stream, Hooks hooks,
                             HostLayout hosts)
    : plan_(plan),
      progress_(plan.faults.size()),
      shared_(plan.faults.size(), {0, -1}),
      ranks_(static_cast<std::size_t>(ranks)),
      hooks_(std::move(hooks)),
      hosts_(hosts) {
  if (!hooks_.ranks) hooks_.ranks = [ranks] { return ranks; };
  for (std::size_t i = 0; i < plan.faults.size(); ++i) streams_.push_back(stream.fork(static_cast<std::uint64_t>(i)));
}

// A load has no step of its own: its number takes that place.
FaultAddress FaultInjector::address_of(const TrainMoment& moment) {
  FaultAddress address;
  address.rank = moment.rank;
  address.step = moment.step;
  address.phase = moment.phase;
  if (moment.phase != Phase::kLoad) return address;
  if (load_attempt_ != moment.attempt) {
    load_attempt_ = moment.attempt;
    ++loads_;
  }
  address.step = loads_;
  return address;
}

bool FaultInjector::due(std::size_t fault, const FaultPlace& place) const {
  return strikes(plan_.faults[fault].when, place, progress_[fault], streams_[fault]);
}

void FaultInjector::strike(const TrainMoment& moment, const StateMemory& memory) {
  FaultPlace place;
  place.at = address_of(moment);
  ranks_[static_cast<std::size_t>(moment.rank)].place = place;
  if (!hooks_.is_up(moment.rank)) return;
  if (moment.phase == Phase::kData) set_speed(moment.rank, moment.step);
  for (std::size_t i = 0; memory.has_numbers() && i < plan_.faults.size(); ++i) {
    const Fault& fault = plan_.faults[i];
    std::string what;
    if (const auto* flip = std::get_if<FlipFault>(&fault.kind); flip != nullptr && due(i, place)) {
      what = apply(*flip, memory);
    } else if (const auto* overwrite = std::get_if<OverwriteFault>(&fault.kind);
               overwrite != nullptr && due(i, place)) {
      what = apply(*overwrite, memory);
    } else if (const auto* spike = std::get_if<SpikeFault>(&fault.kind);
               spike != nullptr && spike->target == SpikeTarget::kGradient && due(i, place)) {
      what = apply(*spike, memory);
    }
    if (what.empty()) continue;
    note_strike(place, progress_[i]);
    report(place, std::move(what));
  }
  strike_down(place);
}

double FaultInjector::loss_factor(const TrainMoment& moment) {
  const FaultPlace& place = ranks_[static_cast<std::size_t>(moment.rank)].place;
  double factor = 1;
  if (!hooks_.is_up(moment.rank)) return factor;
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const auto* spike = std::get_if<SpikeFault>(&plan_.faults[i].kind);
    if (spike == nullptr || spike->target != SpikeTarget::kLoss || !due(i, place)) continue;
    factor *= spike->factor;
    note_strike(place, progress_[i]);
    report(place, "the loss is multiplied by " + shortest_text(spike->factor));
  }
  return factor;
}

// The first rank that comes to the step decides for all that come in the same attempt: one learning rate for all.
double FaultInjector::lr_factor(const TrainMoment& moment) {
  FaultPlace place = ranks_[static_cast<std::size_t>(moment.rank)].place;
  place.at.rank = kAllRanks;
  double factor = 1;
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const auto* spike = std::get_if<LrSpikeFault>(&plan_.faults[i].kind);
    if (spike == nullptr) continue;
    const auto here = std::pair(moment.attempt, moment.step);
    if (shared_[i] != here) {
      if (!due(i, place)) continue;
      shared_[i] = here;
      note_strike(place, progress_[i]);
      report(place, "the learning rate is multiplied by " + shortest_text(spike->factor));
    }
    factor *= spike->factor;
  }
  return factor;
}

ProgramError FaultInjector::program_error(const TrainMoment& moment) {
  const FaultPlace& place = ranks_[static_cast<std::size_t>(moment.rank)].place;
  if (!hooks_.is_up(moment.rank)) return ProgramError::kNone;
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const auto* program = std::get_if<ProgramFault>(&plan_.faults[i].kind);
    if (program == nullptr || !due(i, place)) continue;
    note_strike(place, progress_[i]);
    report(place, words_of(program->error));
    return program->error;
  }
  return ProgramError::kNone;
}

void FaultInjector::on_message(int rank) {
  FaultPlace& place = ranks_[static_cast<std::size_t>(rank)].place;
  ++place.message;
  if (hooks_.is_up(rank)) strike_down(place);
}

void FaultInjector::strike_down(const FaultPlace& place) {
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    if (!stops(plan_.faults[i]) || !due(i, place)) continue;
    stop_rank(i, place);
    return;
  }
}

void FaultInjector::stop_rank(std::size_t fault, const FaultPlace& place) {
  note_strike(place, progress_[fault]);
  if (const auto* crash = std::get_if<CrashFault>(&plan_.faults[fault].kind)) {
    if (crash->kind == CrashKind::kProcess) {
      report(place, "the process crashes", RankRange{place.at.rank, 1});
      return hooks_.crash(place.at.rank);
    }
    const DomainLoss loss = loss_of(crash->domain, place.at.rank, hosts_, hooks_.ranks());
    report(place, event_words(loss), loss.ranks);
    return hooks_.lose(loss, crash->unsynced);
  }
  report(place, "the process hangs", RankRange{place.at.rank, 1});
  hooks_.hang(place.at.rank);
}

void FaultInjector::strike_in_time(std::size_t fault) {
  const FaultWhen& when = plan_.faults[fault].when;
  CHECK(when.time.has_value() && stops(plan_.faults[fault]) && progress_[fault].count == 0);
  const auto* crash = std::get_if<CrashFault>(&plan_.faults[fault].kind);
  RankRange struck{when.at.rank, 1};
  if (crash != nullptr && crash->kind == CrashKind::kHost) {
    struck = loss_of(crash->domain, when.at.rank, hosts_, hooks_.ranks()).ranks;
  }
  bool any = false;
  for (int rank = struck.first; rank < struck.end(); ++rank) any = any || hooks_.is_up(rank);
  if (!any) return;
  FaultPlace place;
  // Of a host or a rack it is nobody's in particular.
  place.at.rank = crash != nullptr && crash->domain.kind != DomainKind::kRank ? kNoRank : when.at.rank;
  stop_rank(fault, place);
}

void FaultInjector::replace_machine(int rank) {
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const Fault& fault = plan_.faults[i];
    const bool is_of_machine = std::holds_alternative<FlipFault>(fault.kind) ||
                               std::holds_alternative<OverwriteFault>(fault.kind) ||
                               std::holds_alternative<StragglerFault>(fault.kind);
    if (is_of_machine && fault.when.at.rank == rank) progress_[i].gone = true;
  }
  RankPlace& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.numerator == state.denominator) return;
  state.numerator = 1;
  state.denominator = 1;
  hooks_.slow_down(rank, 1, 1);
}

// What the window says of the step, so that a step that is done again is as slow as before.
void FaultInjector::set_speed(int rank, std::int64_t step) {
  RankPlace& state = ranks_[static_cast<std::size_t>(rank)];
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
  std::vector<std::size_t> reasons;
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const auto* straggler = std::get_if<StragglerFault>(&plan_.faults[i].kind);
    if (straggler == nullptr) continue;
    const FaultWhen& when = plan_.faults[i].when;
    if (progress_[i].gone || when.at.rank != rank || step < when.at.step ||
        (when.until_step > 0 && step > when.until_step))
      continue;
    numerator = straggler->numerator;
    denominator = straggler->denominator;
    reasons.push_back(i);
  }
  for (const std::size_t i : reasons) progress_[i].count = 1;
  if (state.numerator == numerator && state.denominator == denominator) return;
  state.numerator = numerator;
  state.denominator = denominator;
  hooks_.slow_down(rank, numerator, denominator);
  const double factor = static_cast<double>(numerator) / static_cast<double>(denominator);
  report(state.place, reasons.empty() ? "the device has its speed again"
                                      : "the device takes " + shortest_text(factor) + " times as long");
}

std::vector<std::string> FaultInjector::not_struck() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const Fault& fault = plan_.faults[i];
    // What may or may not strike has not failed to.
    const bool sure = fault.when.probability == FaultWhen().probability;
    if (has_struck(i) || progress_[i].gone || !sure) continue;
    texts.push_back(std::string("the ") + name_of(fault) + " of " + text_of(fault.when));
    if (fault.when.time.has_value()) texts.back() += ": the run was over, or the rank was down";
  }
  return texts;
}

std::vector<std::int64_t> FaultInjector::progress() const {
  std::vector<std::int64_t> numbers;
  for (const FaultProgress& one : progress_) {
    numbers.insert(numbers.end(), {one.count, one.last_step, one.last_message, one.gone ? 1 : 0});
  }
  return numbers;
}

void FaultInjector::set_progress(const std::vector<std::int64_t>& numbers) {
  CHECK_EQ(numbers.size(), kNumbersPerFault * progress_.size());
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const std::int64_t* of_fault = numbers.data() + kNumbersPerFault * i;
    progress_[i].count = of_fault[0];
    progress_[i].last_step = of_fault[1];
    progress_[i].last_message = of_fault[2];
    progress_[i].gone = of_fault[3] != 0;
  }
}

void FaultInjector::report(const FaultPlace& place, std::string what, std::optional<RankRange> failed) {
  FaultRecord record;
  record.at = place.at;
  record.failed = failed;
  record.what = std::move(what);
  if (place.message > 0) record.what += ", after message " + std::to_string(place.message) + " of the phase";
  hooks_.on_fault(record);
}

}  // namespace rehearse
