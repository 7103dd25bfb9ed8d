#include "sim/fault/memory_faults.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/check.h"
#include "core/base/numbers.h"

namespace rehearse {
namespace {

std::byte* data_of(const ShardPiece& piece, FaultTarget target) {
  switch (target) {
    case FaultTarget::kParameter:
      return piece.parameters;
    case FaultTarget::kGradient:
      return piece.gradients;
    case FaultTarget::kMaster:
      return piece.master;
    case FaultTarget::kFirstMoment:
      return piece.m;
    default:
      CHECK(target == FaultTarget::kSecondMoment);
      return piece.v;
  }
}

// The first byte of the element; null where the rank does not hold it: the plan is of a job that was cut otherwise.
std::byte* element_of(const FaultElements& elements, std::int64_t index, const StateMemory& memory) {
  const std::int64_t bytes = size_of(memory.dtype);
  const auto tensor = static_cast<std::size_t>(elements.tensor);
  switch (elements.target) {
    case FaultTarget::kParameter:
      if (memory.parameters[tensor] == nullptr) break;
      return memory.parameters[tensor] + index * bytes;
    case FaultTarget::kGradient:
      if (memory.gradients[tensor] == nullptr) break;
      return memory.gradients[tensor] + index * bytes;
    case FaultTarget::kActivation:
      if (index >= memory.activations[tensor].count) return nullptr;
      return memory.activations[tensor].data + index * bytes;
    default:
      break;
  }
  const auto piece = std::find_if(memory.pieces.begin(), memory.pieces.end(), [&](const ShardPiece& candidate) {
    return candidate.tensor == elements.tensor && index >= candidate.offset &&
           index < candidate.offset + candidate.count;
  });
  if (piece == memory.pieces.end()) return nullptr;
  return data_of(*piece, elements.target) + (index - piece->offset) * bytes;
}

std::string text_of(const FaultElements& elements) {
  std::string text =
      std::string(name_of(elements.target)) + " " + elements.tensor_name + "[" + std::to_string(elements.index);
  if (elements.count > 1) text += ".." + std::to_string(elements.index + elements.count - 1);
  return text + "]";
}

double number_of(WrittenValue value) {
  switch (value) {
    case WrittenValue::kNan:
      return std::numeric_limits<double>::quiet_NaN();
    case WrittenValue::kInfinity:
      return std::numeric_limits<double>::infinity();
    case WrittenValue::kNegativeInfinity:
      return -std::numeric_limits<double>::infinity();
    case WrittenValue::kZero:
      return 0;
  }
  check_failed(__FILE__, __LINE__, "unknown value");
}

template <class T>
void write(std::byte* element, double number) {
  const auto value = static_cast<T>(number);
  std::memcpy(element, &value, sizeof(value));
}

template <class T>
void multiply(std::byte* element, double factor) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  write<T>(element, static_cast<double>(value) * factor);
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
    case FaultTarget::kActivation:
      return "activation";
  }
  check_failed(__FILE__, __LINE__, "unknown target of a fault");
}

std::string apply(const FlipFault& flip, const StateMemory& memory) {
  const FaultElements& elements = flip.elements;
  bool found = false;
  for (std::int64_t i = 0; i < elements.count; ++i) {
    std::byte* element = element_of(elements, elements.index + i, memory);
    if (element == nullptr) continue;
    found = true;
    element[flip.bit / 8] ^= static_cast<std::byte>(1U << (flip.bit % 8));
  }
  if (!found) return "";
  return "bit " + std::to_string(flip.bit) + " of the " + text_of(elements) + " is inverted";
}

std::string apply(const OverwriteFault& overwrite, const StateMemory& memory) {
  const FaultElements& elements = overwrite.elements;
  const double number = number_of(overwrite.value);
  bool found = false;
  for (std::int64_t i = 0; i < elements.count; ++i) {
    std::byte* element = element_of(elements, elements.index + i, memory);
    if (element == nullptr) continue;
    found = true;
    memory.dtype == DType::kFloat64 ? write<double>(element, number) : write<float>(element, number);
  }
  if (!found) return "";
  return text_of(elements) + " is overwritten with " + shortest_text(number);
}

std::string apply(const SpikeFault& spike, const StateMemory& memory) {
  const std::string factor = shortest_text(spike.factor);
  if (spike.target == SpikeTarget::kLoss) return "the loss is multiplied by " + factor;
  const auto& tensors = memory.layout->tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    for (std::int64_t i = 0; i < tensors[t].numel; ++i) {
      std::byte* element = memory.gradients[t] + i * size_of(memory.dtype);
      memory.dtype == DType::kFloat64 ? multiply<double>(element, spike.factor)
                                      : multiply<float>(element, spike.factor);
    }
  }
  return "the gradient is multiplied by " + factor;
}

}  // namespace rehearse
