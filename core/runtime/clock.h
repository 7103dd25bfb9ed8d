#pragma once

#include "core/base/units.h"
#include "core/runtime/completion.h"

namespace rehearse {

// Time as a rank sees it: virtual in the simulator, steady on a real cluster. Nothing that decides bits may read it
// (determinism contract D2).
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  auto sleep_for(Duration duration) {
    return make_operation<>([this, duration](Completion<> done) { start_sleep(duration, std::move(done)); });
  }

 protected:
  virtual void start_sleep(Duration duration, Completion<> done) = 0;
};

}  // namespace rehearse
