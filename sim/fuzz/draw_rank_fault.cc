#include "sim/fuzz/draw_faults.h"
#include "sim/fuzz/draw_place.h"

namespace rehearse {
namespace {

void draw_when(const JobShape& shape, Dice& dice, TextGroup& fault, bool messages) {
  if (dice.chance(1, 4)) {
    fault.add_quoted("time", draw_time(shape, dice));
    return;
  }
  TextGroup at = draw_any_at(shape, dice);
  if (messages && dice.chance(1, 3)) at.add("message", dice.between(1, 6));
  fault.add_group("at", std::move(at));
}

TextGroup draw_crash(const JobShape& shape, Dice& dice) {
  TextGroup crash;
  bool loses_hosts = true;
  if (shape.racks() > 0 && dice.chance(1, 6)) {
    crash.add("rack", dice.below(shape.racks()));
  } else if (shape.has_hosts && dice.chance(1, 4)) {
    crash.add("host", dice.below(shape.hosts()));
  } else {
    crash.add("rank", dice.below(shape.ranks));
    loses_hosts = dice.chance(1, 3);
    if (loses_hosts) crash.add("kind", "HOST");
  }
  draw_when(shape, dice, crash, true);
  if (!loses_hosts || dice.chance(1, 2)) return crash;
  const std::string left = dice.word_of({"NONE_SURVIVE", "ALL_SURVIVE", "TORN"});
  crash.add("unsynced", left);
  if (left == "TORN") crash.add_quoted("torn_after", std::to_string(dice.below(2000)) + "B");
  return crash;
}

TextGroup draw_straggler(const JobShape& shape, Dice& dice) {
  TextGroup straggler;
  straggler.add("rank", dice.below(shape.ranks)).add("factor", dice.word_of({"1.5", "10", "1000"}));
  const std::int64_t from = dice.between(1, shape.steps);
  return straggler.add("from_step", from).add("until_step", dice.between(from, shape.steps));
}

TextGroup draw_program_error(const JobShape& shape, Dice& dice) {
  TextGroup error;
  error.add("rank", dice.below(shape.ranks));
  TextGroup at;
  at.add("step", dice.between(1, shape.steps));
  at.add("phase", shape.zero_stage > 0 && dice.chance(1, 2) ? "GATHER" : "REDUCE");
  error.add_group("at", std::move(at));
  return error.add("kind", dice.word_of({"SKIP", "SIZE", "TYPE", "ORDER"}));
}

TextGroup draw_supervisor_link(const JobShape& shape, Dice& dice) {
  TextGroup link;
  if (dice.chance(3, 4)) link.add("rank", dice.below(shape.ranks));
  link.add("way", dice.word_of({"BOTH", "TO_SUPERVISOR", "FROM_SUPERVISOR"}));
  const std::int64_t from = dice.below(shape.span);
  link.add_quoted("from_time", std::to_string(from) + "us");
  link.add_quoted("until_time", dice.microseconds(from + 1, from + 3000));
  if (dice.chance(1, 3)) link.add_quoted("delay", dice.microseconds(1, 1000));
  return link;
}

TextGroup draw_rate(const JobShape& shape, Dice& dice) {
  TextGroup rate;
  rate.add("failures_per_node_day", dice.word_of({"1e7", "5e7", "2e8"}));
  rate.add("ranks_per_node", shape.has_hosts ? shape.ranks_per_host : dice.between(1, 2));
  rate.add("host_share", dice.word_of({"0", "0.25", "1"}));
  const std::int64_t from = dice.below(shape.span);
  rate.add_quoted("from", std::to_string(from) + "us");
  return rate.add_quoted("until", dice.microseconds(from + 100, from + 3000));
}

}  // namespace

TextGroup draw_rank_fault(FaultName name, const JobShape& shape, Dice& dice) {
  switch (name) {
    case FaultName::kCrash:
      return draw_crash(shape, dice);
    case FaultName::kStraggler:
      return draw_straggler(shape, dice);
    case FaultName::kProgram:
      return draw_program_error(shape, dice);
    case FaultName::kSupervisorLink:
      return draw_supervisor_link(shape, dice);
    case FaultName::kRate:
      return draw_rate(shape, dice);
    default:
      break;
  }
  TextGroup hang;
  hang.add("rank", dice.below(shape.ranks));
  draw_when(shape, dice, hang, true);
  return hang;
}

}  // namespace rehearse
