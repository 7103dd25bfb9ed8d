#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/model/activations.h"
#include "core/model/layout.h"
#include "core/parallel/units.h"
#include "sim/fuzz/draw_faults.h"
#include "sim/fuzz/draw_place.h"

namespace rehearse {
namespace {

struct Element {
  std::string tensor;
  std::int64_t index = 0;
  std::int64_t left = 1;  // elements from it on that may be struck, too
};

Element draw_parameter(const JobShape& shape, Dice& dice) {
  const ParameterLayout layout(shape.model);
  const auto tensor = static_cast<std::size_t>(dice.below(std::ssize(layout.tensors())));
  const ParameterInfo& info = layout.tensors()[tensor];
  const std::int64_t index = dice.below(info.numel);
  return Element{info.name, index, info.numel - index};
}

// Of what the rank updates; nothing where it updates padding alone.
std::optional<Element> draw_updated(const JobShape& shape, std::int64_t rank, std::int64_t bytes, Dice& dice) {
  if (shape.zero_stage == 0) return draw_parameter(shape, dice);
  const ParameterLayout layout(shape.model);
  const UnitPlan plan(layout, shape.bucket / bytes, static_cast<int>(shape.ranks));
  std::vector<Element> candidates;
  for (std::size_t t = 0; t < layout.tensors().size(); ++t) {
    const Unit& unit = plan.units()[static_cast<std::size_t>(plan.unit_of(static_cast<int>(t)))];
    const std::int64_t offset = plan.offset_in_unit(static_cast<int>(t));
    const std::int64_t begin = std::max(rank * unit.chunk, offset) - offset;
    const std::int64_t end = std::min((rank + 1) * unit.chunk, offset + layout.tensors()[t].numel) - offset;
    if (begin < end) candidates.push_back(Element{layout.tensors()[t].name, begin, end - begin});
  }
  if (candidates.empty()) return std::nullopt;
  Element element = candidates[static_cast<std::size_t>(dice.below(std::ssize(candidates)))];
  const std::int64_t skipped = dice.below(element.left);
  element.index += skipped;
  element.left -= skipped;
  return element;
}

Element draw_activation(const JobShape& shape, Dice& dice) {
  const Activations<float> activations(shape.model, shape.microbatch, nullptr, Storing::kShapeOnly);
  const std::vector<ActivationTensor> tensors = activations.named();
  const ActivationTensor& tensor = tensors[static_cast<std::size_t>(dice.below(std::ssize(tensors)))];
  const std::int64_t index = dice.below(tensor.count);
  return Element{tensor.name, index, tensor.count - index};
}

TextGroup draw_elements(FaultName name, const JobShape& shape, Dice& dice) {
  const std::int64_t rank = dice.below(shape.ranks);
  // Whatever changes a gradient is found by computing it twice, which takes two ranks that stay.
  const bool finds_gradients = shape.ranks > 1 && !shape.is_elastic;
  std::int64_t kind = dice.below(finds_gradients ? 6 : 4);
  const bool nan = name == FaultName::kOverwrite && dice.chance(1, 2);
  if (nan && dice.chance(1, 2)) kind = 4;
  std::optional<Element> element;
  TextGroup fault;
  fault.add("rank", rank);
  std::string target = "PARAMETER";
  if (kind == 4) {
    target = "GRADIENT";
    element = draw_parameter(shape, dice);
    fault.add_group("at", draw_at(shape, dice, {"REDUCE"}));
  } else if (kind == 5) {
    target = "ACTIVATION";
    element = draw_activation(shape, dice);
    fault.add_group("at", draw_at(shape, dice, {"BACKWARD"}));
  } else {
    fault.add_group("at", draw_at(shape, dice, {"DATA", "FORWARD", "BACKWARD", "REDUCE"}));
    if (kind > 0) element = draw_updated(shape, rank, shape.element_bytes, dice);
    if (element.has_value()) target = dice.word_of({"MASTER", "FIRST_MOMENT", "SECOND_MOMENT"});
    if (!element.has_value()) element = draw_parameter(shape, dice);
  }
  fault.add("target", target).add_quoted("tensor", element->tensor).add("index", element->index);
  if (name == FaultName::kFlip) return fault.add("bit", dice.below(8 * shape.element_bytes));
  if (element->left > 1 && dice.chance(1, 2)) fault.add("elements", dice.between(2, element->left));
  return fault.add("with", nan ? dice.word_of({"QUIET_NAN", "PLUS_INFINITY", "MINUS_INFINITY"}) : "ZERO");
}

}  // namespace

TextGroup draw_memory_fault(FaultName name, const JobShape& shape, Dice& dice) {
  if (name == FaultName::kFlip || name == FaultName::kOverwrite) return draw_elements(name, shape, dice);
  TextGroup fault;
  if (name == FaultName::kLrSpike) {
    fault.add_group("at", draw_at(shape, dice, {"OPTIMIZER"}));
    return fault.add("factor", dice.word_of({"0.5", "10", "1000"}));
  }
  fault.add("rank", dice.below(shape.ranks));
  fault.add_group("at", draw_at(shape, dice, {"REDUCE"}));
  const bool finds_gradients = shape.ranks > 1 && !shape.is_elastic;
  fault.add("of", finds_gradients && dice.chance(1, 2) ? "GRADIENT" : "LOSS");
  return fault.add("factor", dice.word_of({"3", "50", "1000"}));
}

void note_needed_guards(FaultName name, const TextGroup& fault, NeededGuards& needed) {
  const auto value = [&fault](const char* field) {
    const TextField* found = fault.find(field);
    return found == nullptr ? std::string() : found->value;
  };
  if (name == FaultName::kSpike) needed.gradients = needed.gradients || value("of") == "GRADIENT";
  if (name != FaultName::kFlip && name != FaultName::kOverwrite) return;
  const std::string target = value("target");
  const std::string with = value("with");
  if (target != "GRADIENT" && target != "ACTIVATION") {
    needed.state = true;
  } else if (target == "GRADIENT" && !with.empty() && with != "ZERO") {
    needed.nonfinite = true;
  } else {
    needed.gradients = true;
  }
}

}  // namespace rehearse
