#include "core/train/gradient_dispute.h"

#include "core/base/check.h"

namespace rehearse {
namespace {

std::string name_of_rank(int rank) { return "rank " + std::to_string(rank); }

std::string pair_of_ranks(int a, int b) { return "ranks " + std::to_string(a) + " and " + std::to_string(b); }

// "unit 0", "units 0, 2".
std::string words_of_units(const std::vector<int>& units) {
  std::string text = units.size() == 1 ? "unit " : "units ";
  for (std::size_t i = 0; i < units.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(units[i]);
  return text;
}

// The first rank after the owner, around the ring, that is not busy; else the first that may be asked at all.
int third_rank(const GradientDispute& dispute, const std::vector<bool>& busy) {
  const int ranks = static_cast<int>(busy.size());
  int any = -1;
  for (int i = 1; i < ranks; ++i) {
    const int rank = (dispute.owner + i) % ranks;
    if (rank == dispute.checker) continue;
    if (!busy[static_cast<std::size_t>(rank)]) return rank;
    if (any < 0) any = rank;
  }
  return any;
}

}  // namespace

std::string words_of(const GradientDispute& dispute) {
  const std::string units = " (" + words_of_units(dispute.units) + ")";
  const std::string owner = name_of_rank(dispute.owner);
  if (dispute.wrong == dispute.owner) {
    return "the gradient of " + owner + " is not what " + pair_of_ranks(dispute.checker, dispute.third) +
           " make of its tokens" + units;
  }
  if (dispute.wrong == dispute.checker) {
    return name_of_rank(dispute.checker) + " does not make of the tokens of " + owner + " the gradient that " +
           pair_of_ranks(dispute.owner, dispute.third) + " make" + units;
  }
  if (dispute.third >= 0) {
    return "ranks " + std::to_string(dispute.owner) + ", " + std::to_string(dispute.checker) + " and " +
           std::to_string(dispute.third) + " make three gradients of the tokens of " + owner + units;
  }
  return pair_of_ranks(dispute.owner, dispute.checker) + " make two gradients of the tokens of " + owner + units +
         ", and no third rank can say which is right";
}

std::int64_t check_number(std::int64_t every, std::int64_t step, std::int64_t last_step) {
  if (every == 0 || (step % every != 0 && step != last_step)) return 0;
  return (step + every - 1) / every;
}

int check_offset(std::int64_t check, int ranks) {
  CHECK_GT(check, 0);
  CHECK_GT(ranks, 1);
  return 1 + static_cast<int>((check - 1) % (ranks - 1));
}

std::vector<GradientDispute> find_disputes(const std::vector<UnitDigests>& own, const std::vector<UnitDigests>& again,
                                           int offset) {
  CHECK_EQ(own.size(), again.size());
  const int ranks = static_cast<int>(own.size());
  std::vector<GradientDispute> disputes;
  std::vector<bool> busy(own.size());
  for (int owner = 0; owner < ranks; ++owner) {
    GradientDispute dispute;
    dispute.owner = owner;
    dispute.checker = (owner - offset + ranks) % ranks;
    const UnitDigests& first = own[static_cast<std::size_t>(owner)];
    const UnitDigests& second = again[static_cast<std::size_t>(dispute.checker)];
    CHECK_EQ(first.size(), second.size());
    for (std::size_t unit = 0; unit < first.size(); ++unit) {
      if (first[unit] != second[unit]) dispute.units.push_back(static_cast<int>(unit));
    }
    if (dispute.units.empty()) continue;
    busy[static_cast<std::size_t>(dispute.owner)] = true;
    busy[static_cast<std::size_t>(dispute.checker)] = true;
    disputes.push_back(dispute);
  }
  for (GradientDispute& dispute : disputes) {
    dispute.third = third_rank(dispute, busy);
    if (dispute.third >= 0) busy[static_cast<std::size_t>(dispute.third)] = true;
  }
  return disputes;
}

std::vector<GradientDispute> settle(const GradientDispute& dispute, const UnitDigests& own, const UnitDigests& again,
                                    const UnitDigests& third) {
  const auto odd_one_out = [&](int unit) {
    const auto u = static_cast<std::size_t>(unit);
    if (third[u] == again[u]) return dispute.owner;
    return third[u] == own[u] ? dispute.checker : -1;
  };
  std::vector<GradientDispute> settled;
  for (const int wrong : {dispute.owner, dispute.checker, -1}) {
    GradientDispute one = dispute;
    one.wrong = wrong;
    one.units.clear();
    for (const int unit : dispute.units) {
      if (odd_one_out(unit) == wrong) one.units.push_back(unit);
    }
    if (!one.units.empty()) settled.push_back(one);
  }
  return settled;
}

}  // namespace rehearse
