#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/fault/injector.h"

namespace rehearse {

inline ModelConfig small_model() {
  ModelConfig model;
  model.layers = 1;
  model.embed = 4;
  model.heads = 2;
  model.vocab = 5;
  model.context = 3;
  return model;
}

// A rank's memory, every element another number, so that whatever is written in the wrong place shows. The rank updates
// two pieces of ln_f.weight and head.weight that do not begin with the tensors.
template <class T>
class RankMemory {
 public:
  RankMemory() : layout_(small_model()) {
    for (const ParameterInfo& info : layout_.tensors()) {
      parameters_.push_back(numbers(info.numel));
      gradients_.push_back(numbers(info.numel));
    }
    add_piece("ln_f.weight", 1, 2);
    add_piece("head.weight", 3, 10);
    for (std::vector<T>& tensor : parameters_) memory_.parameters.push_back(bytes(tensor));
    for (std::vector<T>& tensor : gradients_) memory_.gradients.push_back(bytes(tensor));
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      pieces_[i].gradients = memory_.gradients[static_cast<std::size_t>(pieces_[i].tensor)] +
                             pieces_[i].offset * static_cast<std::int64_t>(sizeof(T));
      pieces_[i].master = bytes(held_[3 * i]);
      pieces_[i].m = bytes(held_[3 * i + 1]);
      pieces_[i].v = bytes(held_[3 * i + 2]);
    }
    memory_.layout = &layout_;
    memory_.dtype = dtype_of<T>;
    memory_.pieces = pieces_;
  }

  const StateMemory& memory() const { return memory_; }
  int tensor(const std::string& name) const { return layout_.find(name); }

  // The element that a fault is to strike.
  T& element(const FaultElements& at) {
    const auto tensor = static_cast<std::size_t>(at.tensor);
    if (at.target == FaultTarget::kParameter) return parameters_[tensor][static_cast<std::size_t>(at.index)];
    if (at.target == FaultTarget::kGradient) return gradients_[tensor][static_cast<std::size_t>(at.index)];
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].tensor != at.tensor) continue;
      const std::size_t kind = at.target == FaultTarget::kMaster ? 0 : (at.target == FaultTarget::kFirstMoment ? 1 : 2);
      return held_[3 * i + kind][static_cast<std::size_t>(at.index - pieces_[i].offset)];
    }
    ADD_FAILURE() << "no such piece";
    return parameters_[0][0];
  }

  // All of it, for comparison.
  std::vector<T> contents() const {
    std::vector<T> all;
    for (const auto* tensors : {&parameters_, &gradients_, &held_}) {
      for (const std::vector<T>& tensor : *tensors) all.insert(all.end(), tensor.begin(), tensor.end());
    }
    return all;
  }

 private:
  std::vector<T> numbers(std::int64_t count) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(++last_) / 7);
    return values;
  }
  void add_piece(const std::string& name, std::int64_t offset, std::int64_t count) {
    ShardPiece piece;
    piece.tensor = tensor(name);
    piece.offset = offset;
    piece.count = count;
    pieces_.push_back(piece);
    for (int i = 0; i < 3; ++i) held_.push_back(numbers(count));
  }
  static std::byte* bytes(std::vector<T>& values) { return reinterpret_cast<std::byte*>(values.data()); }

  ParameterLayout layout_;
  int last_ = 0;
  std::vector<std::vector<T>> parameters_;
  std::vector<std::vector<T>> gradients_;
  std::vector<std::vector<T>> held_;  // of each piece: master, m, v
  std::vector<ShardPiece> pieces_;
  StateMemory memory_;
};

inline FaultElements some_elements() {
  FaultElements elements;
  elements.target = FaultTarget::kGradient;
  elements.tensor = 0;
  elements.tensor_name = "tok_embed.weight";
  elements.index = 3;
  return elements;
}

inline FlipFault some_flip() {
  FlipFault flip;
  flip.elements = some_elements();
  flip.bit = 30;
  return flip;
}

// Rank 2, step 5, REDUCE.
inline FaultWhen some_time() {
  FaultWhen when;
  when.at.rank = 2;
  when.at.step = 5;
  when.at.phase = Phase::kReduce;
  return when;
}

template <class Kind>
Fault fault_of(const Kind& kind, const FaultWhen& when = some_time()) {
  return Fault{when, kind};
}

inline FaultPlan plan_of(const std::vector<FlipFault>& flips) {
  FaultPlan plan;
  for (const FlipFault& flip : flips) plan.faults.push_back(fault_of(flip));
  return plan;
}

inline TrainMoment moment_of(int rank, std::int64_t step, Phase phase, std::uint64_t attempt = 0) {
  TrainMoment moment;
  moment.rank = rank;
  moment.step = step;
  moment.phase = phase;
  moment.attempt = attempt;
  return moment;
}

// Of an injector that tells `on_fault` what has struck; nothing here dies.
inline FaultInjector::Hooks hooks_of(std::function<void(const FaultRecord&)> on_fault) {
  FaultInjector::Hooks hooks;
  hooks.on_fault = std::move(on_fault);
  hooks.is_up = [](int) { return true; };
  hooks.crash = [](int rank) { ADD_FAILURE() << "rank " << rank << " dies"; };
  hooks.lose = [](const DomainLoss& loss, const PowerLoss&) { ADD_FAILURE() << words_of(loss.ranks) << " die"; };
  hooks.hang = [](int rank) { ADD_FAILURE() << "rank " << rank << " hangs"; };
  hooks.slow_down = [](int, std::int64_t, std::int64_t) {};
  return hooks;
}
inline FaultInjector::Hooks no_hooks() {
  return hooks_of([](const FaultRecord&) {});
}

inline FaultInjector injector_of(const FaultPlan& plan, FaultInjector::Hooks hooks) {
  return FaultInjector(plan, 4, RandomStream(1), std::move(hooks));
}

}  // namespace rehearse
