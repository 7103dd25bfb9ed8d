#include "sim/fault/injector.h"

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {
namespace {

std::byte* data_of(const ShardPiece& piece, FaultTarget target) {
  switch (target) {
    case FaultTarget::kMaster:
      return piece.master;
    case FaultTarget::kFirstMoment:
      return piece.m;
    default:
      CHECK(target == FaultTarget::kSecondMoment);
      return piece.v;
  }
}

// The first byte of the element. The loader has seen to it that the rank has it.
std::byte* element_of(const FlipFault& flip, const StateMemory& memory) {
  const std::int64_t bytes = size_of(memory.dtype);
  const auto tensor = static_cast<std::size_t>(flip.tensor);
  if (flip.target == FaultTarget::kParameter) return memory.parameters[tensor] + flip.index * bytes;
  if (flip.target == FaultTarget::kGradient) return memory.gradients[tensor] + flip.index * bytes;
  const auto piece = std::find_if(memory.pieces.begin(), memory.pieces.end(), [&](const ShardPiece& candidate) {
    return candidate.tensor == flip.tensor && flip.index >= candidate.offset &&
           flip.index < candidate.offset + candidate.count;
  });
  CHECK(piece != memory.pieces.end());
  return data_of(*piece, flip.target) + (flip.index - piece->offset) * bytes;
}

}  // namespace

const char* name_of(FaultTarget target) {
  switch (target) {
    case FaultTarget::kGradient:
      return "gradient";
    case FaultTarget::kParameter:
      return "parameter";
    case FaultTarget::kMaster:
      return "master weight";
    case FaultTarget::kFirstMoment:
      return "first moment";
    case FaultTarget::kSecondMoment:
      return "second moment";
  }
  check_failed(__FILE__, __LINE__, "unknown target of a fault");
}

void FaultInjector::strike(int rank, std::int64_t step, Phase phase, const StateMemory& memory) {
  if (!hooks_.is_up(rank)) return;
  for (std::size_t i = 0; i < plan_.flips.size(); ++i) {
    const FlipFault& flip = plan_.flips[i];
    if (flips_fired_[i] || flip.at.rank != rank || flip.at.step != step || flip.at.phase != phase) continue;
    flips_fired_[i] = true;
    element_of(flip, memory)[flip.bit / 8] ^= static_cast<std::byte>(1U << (flip.bit % 8));
    FaultRecord record;
    record.at = flip.at;
    record.what = "bit " + std::to_string(flip.bit) + " of the " + name_of(flip.target) + " " + flip.tensor_name + "[" +
                  std::to_string(flip.index) + "] is inverted";
    hooks_.on_fault(record);
  }
  for (std::size_t i = 0; i < plan_.crashes.size(); ++i) {
    const CrashFault& crash = plan_.crashes[i];
    if (crash.time.has_value() || crashes_fired_[i]) continue;
    if (crash.at.rank != rank || crash.at.step != step || crash.at.phase != phase) continue;
    crashes_fired_[i] = true;
    fire(crash);
    return;
  }
}

void FaultInjector::strike_in_time(std::size_t crash) {
  CHECK(!crashes_fired_[crash] && plan_.crashes[crash].time.has_value());
  if (!hooks_.is_up(plan_.crashes[crash].at.rank)) return;
  crashes_fired_[crash] = true;
  fire(plan_.crashes[crash]);
}

std::vector<std::string> FaultInjector::not_struck() const {
  const auto where = [](const FaultAddress& at) {
    return "rank " + std::to_string(at.rank) + ", step " + std::to_string(at.step) + ", " + name_of(at.phase);
  };
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < plan_.flips.size(); ++i) {
    if (!flips_fired_[i]) texts.push_back("the bit flip of " + where(plan_.flips[i].at));
  }
  for (std::size_t i = 0; i < plan_.crashes.size(); ++i) {
    const CrashFault& crash = plan_.crashes[i];
    if (crashes_fired_[i]) continue;
    texts.push_back(crash.time.has_value()
                        ? "the crash of rank " + std::to_string(crash.at.rank) + " at " +
                              to_string(crash.time->since_start()) + ": the run was over, or the rank was down"
                        : "the crash of " + where(crash.at));
  }
  return texts;
}

void FaultInjector::fire(const CrashFault& crash) {
  FaultRecord record;
  record.at = crash.at;
  record.what = crash.kind == CrashKind::kProcess ? "the process crashes" : "the host is lost";
  hooks_.on_fault(record);
  hooks_.crash(crash.at.rank, crash.kind, crash.unsynced);
}

}  // namespace rehearse
