#include "sim/fault/fault_when.h"

#include <utility>

namespace rehearse {
namespace {

constexpr std::uint64_t kBillion = 1'000'000'000;

bool is_step(const FaultWhen& when, std::int64_t step) {
  if (step < when.at.step || (when.until_step > 0 && step > when.until_step)) return false;
  if (when.every > 0) return (step - when.at.step) % when.every == 0;
  return when.until_step > 0 || step == when.at.step;
}

}  // namespace

bool strikes(const FaultWhen& when, const FaultPlace& place, const FaultProgress& progress,
             const RandomStream& stream) {
  if (progress.gone || when.time.has_value() || place.at.phase != when.at.phase || place.message != when.message)
    return false;
  if (when.at.rank != kAllRanks && !RankRange{when.at.rank, when.ranks}.contains(place.at.rank)) return false;
  if (!is_step(when, place.at.step)) return false;
  if (!when.always) {
    if (when.count > 0 && progress.count >= when.count) return false;
    const auto last = std::pair(progress.last_step, progress.last_message);
    if (progress.count > 0 && std::pair(place.at.step, place.message) <= last) return false;
  }
  if (std::cmp_equal(when.probability, kBillion)) return true;
  // Ranks that share a fault draw as one, or it would strike the more often the more they are.
  RandomStream draw = stream.fork(static_cast<std::uint64_t>(when.at.rank + 1))
                          .fork(static_cast<std::uint64_t>(place.at.step))
                          .fork(static_cast<std::uint64_t>(place.message));
  return draw.chance(static_cast<std::uint64_t>(when.probability), kBillion);
}

void note_strike(const FaultPlace& place, FaultProgress& progress) {
  ++progress.count;
  progress.last_step = place.at.step;
  progress.last_message = place.message;
}

std::string text_of(const FaultWhen& when) {
  const std::string rank = when.at.rank == kAllRanks ? "all ranks" : words_of(RankRange{when.at.rank, when.ranks});
  if (when.time.has_value()) return rank + " at " + to_string(when.time->since_start());
  std::string text = rank + (when.at.phase == Phase::kLoad ? ", load " : ", step ") + std::to_string(when.at.step);
  if (when.every > 0) text += " and every " + std::to_string(when.every) + " after";
  if (when.until_step > 0) text += " to " + std::to_string(when.until_step);
  text += std::string(", ") + name_of(when.at.phase);
  if (when.message > 0) text += ", message " + std::to_string(when.message);
  return text;
}

const char* name_of(const Fault& fault) {
  struct Name {
    const char* operator()(const FlipFault&) const { return "bit flip"; }
    const char* operator()(const OverwriteFault&) const { return "overwritten value"; }
    const char* operator()(const SpikeFault&) const { return "spike"; }
    const char* operator()(const LrSpikeFault&) const { return "learning-rate spike"; }
    const char* operator()(const CrashFault&) const { return "crash"; }
    const char* operator()(const HangFault&) const { return "hang"; }
    const char* operator()(const ProgramFault&) const { return "program error"; }
    const char* operator()(const StragglerFault&) const { return "slow device"; }
  };
  return std::visit(Name(), fault.kind);
}

}  // namespace rehearse
