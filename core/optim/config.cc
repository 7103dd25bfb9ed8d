#include "core/optim/config.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/math.h"
#include "core/base/numbers.h"

namespace rehearse {
namespace {

void require(bool valid, const char* field, double found, const char* allowed) {
  if (!valid) throw InputError(std::string(field) + " must be " + allowed + ", found " + shortest_text(found));
}

}  // namespace

void validate(const AdamConfig& c) {
  require(std::isfinite(c.lr) && c.lr > 0, "adam: lr", c.lr, "a finite number above 0");
  require(c.beta1 >= 0 && c.beta1 < 1, "adam: beta1", c.beta1, "at least 0 and below 1");
  require(c.beta2 >= 0 && c.beta2 < 1, "adam: beta2", c.beta2, "at least 0 and below 1");
  // A smaller one is 0 or subnormal in float32, and then divides nothing.
  require(std::isfinite(c.eps) && c.eps >= 1e-30, "adam: eps", c.eps, "a finite number of at least 1e-30");
  require(std::isfinite(c.weight_decay) && c.weight_decay >= 0, "adam: weight_decay", c.weight_decay,
          "a finite number of at least 0");
}

void validate(const ScheduleConfig& c, const AdamConfig& adam) {
  require(c.warmup_steps >= 0, "schedule: warmup_steps", static_cast<double>(c.warmup_steps), "at least 0");
  require(c.min_lr >= 0 && c.min_lr <= adam.lr, "schedule: min_lr", c.min_lr, "from 0 to adam's lr");
  require(c.cosine || c.min_lr == 0, "schedule: min_lr", c.min_lr, "0 without cosine");
}

void validate(const LrSpike& spike) {
  require(spike.step >= 1, "lr_spike: step", static_cast<double>(spike.step), "at least 1");
  require(std::isfinite(spike.factor) && spike.factor > 0, "lr_spike: factor", spike.factor, "a finite number above 0");
}

double learning_rate(double lr, const ScheduleConfig& schedule, std::int64_t total_steps,
                     const std::optional<LrSpike>& spike, std::int64_t applied_step) {
  CHECK_GE(applied_step, 1);
  const std::int64_t s = applied_step - 1;
  const std::int64_t warmup = schedule.warmup_steps;
  double rate = lr;
  if (s < warmup) {
    rate = lr * static_cast<double>(s + 1) / static_cast<double>(warmup);
  } else if (schedule.cosine) {
    const std::int64_t span = std::max<std::int64_t>(1, total_steps - warmup);
    const double progress = static_cast<double>(std::min(s - warmup, span)) / static_cast<double>(span);
    rate = schedule.min_lr + (lr - schedule.min_lr) / 2 * (1 + deterministic_cos_pi(progress));
  }
  if (spike && spike->step == applied_step) rate *= spike->factor;
  return rate;
}

}  // namespace rehearse
