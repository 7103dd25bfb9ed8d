#pragma once

#include <cstddef>
#include <vector>

#include "core/train/observer.h"

namespace rehearse {

// Whole parameters out of the parts that ranks hold of them (zero_stage 3).
class ParameterAssembly {
 public:
  // A rank's parameters: sharded ones are copied into their places, whole ones are everything.
  void add(const TensorsView& parameters);
  void clear() { tensors_.clear(); }

  // Elements that no rank has added are 0. Good until the next call of another member.
  TensorsView view() const;

 private:
  const ParameterLayout* layout_ = nullptr;
  DType dtype_ = DType::kFloat32;
  std::vector<std::vector<std::byte>> tensors_;
};

}  // namespace rehearse
