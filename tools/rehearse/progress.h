#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace rehearse {

// One line on a terminal that says how far a long run is; nothing for the first second, so that short runs stay quiet.
class Progress {
 public:
  Progress(std::ostream& stream, bool enabled) : stream_(stream), enabled_(enabled) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After `step` of `total`, where the run began after `first - 1`. `loss`: NaN where there is none.
  void on_step(std::int64_t step, std::int64_t first, std::int64_t total, double loss);
  // Says what the run does between its steps.
  void on_phase(const std::string& what);
  // Takes the line away.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void show(const std::string& line);

  std::ostream& stream_;
  bool enabled_;
  bool shown_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_ = began_ + std::chrono::seconds(1);
};

}  // namespace rehearse
