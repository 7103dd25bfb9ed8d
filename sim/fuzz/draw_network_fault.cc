#include "sim/fuzz/draw_faults.h"
#include "sim/fuzz/draw_place.h"

namespace rehearse {
namespace {

void draw_links(const JobShape& shape, Dice& dice, TextGroup& fault) {
  const std::int64_t from = dice.below(shape.ranks);
  const std::int64_t to = (from + dice.between(1, shape.ranks - 1)) % shape.ranks;
  const std::int64_t which = dice.below(4);
  if (which != 1 && which != 3) fault.add("from", from);
  if (which != 2 && which != 3) fault.add("to", to);
  if (dice.chance(1, 2)) fault.add("both_ways", "true");
}

void draw_sides(const JobShape& shape, Dice& dice, TextGroup& fault) {
  const std::int64_t side = dice.between(1, shape.ranks - 1);
  const std::int64_t first = dice.below(shape.ranks);
  for (std::int64_t i = 0; i < side; ++i) fault.add("a", (first + i) % shape.ranks);
  if (dice.chance(1, 3)) fault.add("one_way", "true");
}

void draw_time_window(const JobShape& shape, Dice& dice, TextGroup& fault) {
  const std::int64_t from = dice.below(shape.span);
  fault.add_quoted("from_time", std::to_string(from) + "us");
  fault.add_quoted("until_time", dice.microseconds(from + 1, from + 3 * shape.span));
}

// A step that its links let nobody begin would never end a window. Messages that come twice stop no step.
void draw_window(FaultName name, const JobShape& shape, Dice& dice, TextGroup& fault) {
  if (dice.chance(1, 2)) return draw_time_window(shape, dice, fault);
  const std::int64_t from = dice.between(1, shape.steps - 1);
  fault.add("from_step", from);
  if (name == FaultName::kDuplicate) {
    fault.add("until_step", dice.between(from + 1, shape.steps));
  } else {
    fault.add_quoted("until_time", dice.microseconds(shape.span / 2, 4 * shape.span));
  }
}

void draw_strikes(FaultName name, const JobShape& shape, Dice& dice, TextGroup& fault) {
  if (dice.chance(1, 2)) {
    fault.add("probability", dice.word_of({"0.001", "0.01", "0.1", "0.3"}));
    draw_window(name, shape, dice, fault);
    if (dice.chance(1, 4)) fault.add("of", dice.word_of({"MESSAGES", "ACKS", "ALL"}));
    return;
  }
  fault.add("message", dice.between(1, 40));
  if (dice.chance(1, 2)) fault.add("count", dice.between(1, 5));
  if (dice.chance(1, 4)) fault.add("of", dice.word_of({"ACKS", "ALL"}));
}

}  // namespace

TextGroup draw_network_fault(FaultName name, const JobShape& shape, Dice& dice) {
  TextGroup fault;
  if (name == FaultName::kPartition) {
    draw_sides(shape, dice, fault);
    draw_time_window(shape, dice, fault);
    return fault;
  }
  draw_links(shape, dice, fault);
  switch (name) {
    case FaultName::kLinkDown:
      draw_time_window(shape, dice, fault);
      return fault;
    case FaultName::kLinkBandwidth:
      draw_window(name, shape, dice, fault);
      return fault.add("factor", dice.word_of({"0.5", "0.1", "0.01"}));
    case FaultName::kLinkLatency:
      draw_window(name, shape, dice, fault);
      fault.add_quoted("added", dice.microseconds(1, 300));
      if (dice.chance(1, 2)) fault.add_quoted("jitter", dice.microseconds(1, 100));
      return fault;
    case FaultName::kDuplicate:
      draw_strikes(name, shape, dice, fault);
      if (dice.chance(1, 2)) fault.add_quoted("after", dice.microseconds(1, 300));
      return fault;
    case FaultName::kReorder:
      draw_strikes(name, shape, dice, fault);
      if (dice.chance(1, 2)) fault.add_quoted("by", dice.microseconds(1, 300));
      return fault;
    case FaultName::kDelay:
      draw_strikes(name, shape, dice, fault);
      return fault.add_quoted("by", dice.microseconds(1, 2000));
    default:
      draw_strikes(name, shape, dice, fault);
      return fault;
  }
}

}  // namespace rehearse
