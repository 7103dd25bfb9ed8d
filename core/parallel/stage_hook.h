#pragma once

#include "core/runtime/task.h"

namespace rehearse {

// What is done before and after each stage of a pass over the model.
class StageHook {
 public:
  virtual ~StageHook() = default;
  virtual Task<> before(int stage) = 0;
  virtual Task<> after(int stage) = 0;
};

}  // namespace rehearse
