#pragma once

#include <string>
#include <vector>

#include "core/train/observer.h"

namespace rehearse {

// Something that must hold in every run, watched from outside. Says in words what broke; an empty list means it held.
class Invariant : public TrainObserver {
 public:
  const std::vector<std::string>& violations() const { return violations_; }

 protected:
  void violated(std::string what) { violations_.push_back(std::move(what)); }

 private:
  std::vector<std::string> violations_;
};

}  // namespace rehearse
