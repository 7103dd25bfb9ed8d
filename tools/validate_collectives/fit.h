#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/validate_collectives/rows.h"

namespace rehearse {

// A constant of the model that has no source, within what is believable of it.
struct Knob {
  std::string name;
  std::int64_t least;
  std::int64_t most;
  std::function<std::int64_t(const StackConstants&)> get;
  std::function<void(StackConstants&, std::int64_t)> set;
  // Whether a row's time can depend on it.
  std::function<bool(const PublishedRow&)> concerns;
};
// All that are fitted.
std::vector<Knob> stack_knobs();

// What is made small: the mean over tables of the mean |ln(predicted / measured)| of their rows for fitting.
double fit_loss(const StackConstants& constants, const std::vector<PublishedRow>& rows);

// Coordinate descent from `start` over the rows for fitting: each knob in turn up or down by a factor as long as that
// makes the loss smaller, with smaller factors from round to round. Hears of each knob's value after each round.
StackConstants fit_stack(StackConstants start, const std::vector<PublishedRow>& rows, int rounds,
                         const std::function<void(const std::string&)>& progress);

}  // namespace rehearse
