#pragma once

#include <cstdint>
#include <optional>

namespace rehearse {

// Which parameters weight decay shrinks: every one, or the 2-D tensors alone (embeddings among them).
enum class Decay : std::uint8_t { kAll, kMatrices };

struct AdamConfig {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // above 0: AdamW
  Decay decay = Decay::kAll;
};

struct ScheduleConfig {
  std::int64_t warmup_steps = 0;
  bool cosine = false;
  double min_lr = 0;
};

// Multiplies the learning rate of one applied step, counted from 1.
struct LrSpike {
  std::int64_t step = 0;
  double factor = 1;
};

// Throw InputError naming the field, the value found and the values allowed.
void validate(const AdamConfig& config);
void validate(const ScheduleConfig& config, const AdamConfig& adam);
void validate(const LrSpike& spike);

// The learning rate of applied step s = applied_step - 1 (applied_step counts from 1) of T = total_steps, W =
// warmup_steps: linear warm-up lr (s + 1)/W for s < W; then lr, or with `cosine` min_lr + (lr - min_lr)/2 (1 + cos(pi
// (s - W)/max(1, T - W))), which stays at min_lr past the end. A spike multiplies its step's rate last.
double learning_rate(double lr, const ScheduleConfig& schedule, std::int64_t total_steps,
                     const std::optional<LrSpike>& spike, std::int64_t applied_step);

}  // namespace rehearse
