#include "sim/fuzz/draw_place.h"

namespace rehearse {
namespace {

TextGroup at_of(const JobShape& shape, Dice& dice, const std::string& phase) {
  TextGroup at;
  const std::int64_t step = dice.between(1, shape.steps);
  at.add("step", step).add("phase", phase);
  if (!dice.chance(1, 4)) return at;
  at.add("until_step", dice.between(step, shape.steps));
  if (dice.chance(1, 2)) at.add("probability", dice.word_of({"0.1", "0.25", "0.5", "0.9"}));
  if (dice.chance(1, 3)) at.add("count", dice.between(1, 3));
  return at;
}

}  // namespace

TextGroup draw_at(const JobShape& shape, Dice& dice, std::initializer_list<const char*> phases) {
  return at_of(shape, dice, dice.word_of(phases));
}

TextGroup draw_any_at(const JobShape& shape, Dice& dice) {
  std::int64_t kind = dice.below(shape.saves ? 8 : 6);
  if (kind == 7 && shape.checkpoint_every == 0) kind = 6;
  if (kind == 6) {
    TextGroup at;
    return at.add("step", dice.between(1, 3)).add("phase", "LOAD");
  }
  if (kind == 7) {
    const std::int64_t saves = shape.steps / shape.checkpoint_every;
    TextGroup at;
    return at.add("step", shape.checkpoint_every * dice.between(1, saves)).add("phase", "CHECKPOINT");
  }
  return at_of(shape, dice, dice.word_of({"DATA", "FORWARD", "BACKWARD", "REDUCE", "OPTIMIZER", "GATHER"}));
}

std::string draw_time(const JobShape& shape, Dice& dice) { return dice.microseconds(0, shape.span); }

}  // namespace rehearse
