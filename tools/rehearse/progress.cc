#include "tools/rehearse/progress.h"

#include <cmath>

#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

constexpr std::chrono::milliseconds kInterval{100};

std::string minutes(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  const std::string rest = std::to_string(whole % 60);
  return std::to_string(whole / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest;
}

}  // namespace

void Progress::on_step(std::int64_t step, std::int64_t first, std::int64_t total, double loss) {
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  const double elapsed = std::chrono::duration<double>(now - began_).count();
  const double rate = static_cast<double>(step - first + 1) / elapsed;
  const double left = static_cast<double>(total - step) / rate;
  show("step " + std::to_string(step) + "/" + std::to_string(total) + "  " + std::to_string(100 * step / total) +
       " %  " + (std::isnan(loss) ? std::string() : "loss " + decimals(loss, 4) + "  ") + significant(rate, 3) +
       " steps/s  " + minutes(left) + " left");
}

void Progress::on_phase(const std::string& what) {
  if (enabled_ && Clock::now() >= next_) show(what);
}

void Progress::show(const std::string& line) {
  stream_ << "\r\033[K" << line << std::flush;
  shown_ = true;
}

void Progress::clear() {
  if (shown_) stream_ << "\r\033[K" << std::flush;
  shown_ = false;
}

}  // namespace rehearse
