#include "core/optim/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "core/base/error.h"

namespace rehearse {
namespace {

void expect_input_error(const std::function<void()>& call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "accepted; expected: " << part;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
  }
}

AdamConfig adam(double lr) {
  AdamConfig config;
  config.lr = lr;
  return config;
}

TEST(LearningRate, IsConstantWithoutASchedule) {
  for (const int step : {1, 5, 100}) EXPECT_EQ(learning_rate(0.01, {}, 20, std::nullopt, step), 0.01);
}

TEST(LearningRate, WarmsUpThenFollowsTheCosineToItsMinimum) {
  const ScheduleConfig schedule{5, true, 0.001};
  EXPECT_DOUBLE_EQ(learning_rate(0.01, schedule, 20, std::nullopt, 1), 0.002);
  EXPECT_DOUBLE_EQ(learning_rate(0.01, schedule, 20, std::nullopt, 5), 0.01);
  EXPECT_DOUBLE_EQ(learning_rate(0.01, schedule, 20, std::nullopt, 6), 0.01);
  const double expected = 0.001 + 0.0045 * (1 + std::cos(M_PI * 10 / 15));
  EXPECT_NEAR(learning_rate(0.01, schedule, 20, std::nullopt, 16), expected, 1e-17);
  EXPECT_NEAR(learning_rate(0.01, schedule, 20, std::nullopt, 21), 0.001, 1e-17);
  EXPECT_NEAR(learning_rate(0.01, schedule, 20, std::nullopt, 500), 0.001, 1e-17);
}

TEST(LearningRate, ASpikeTouchesItsStepAlone) {
  const LrSpike spike{13, 1000};
  EXPECT_EQ(learning_rate(0.01, {}, 20, spike, 12), 0.01);
  EXPECT_EQ(learning_rate(0.01, {}, 20, spike, 13), 10);
  EXPECT_EQ(learning_rate(0.01, {}, 20, spike, 14), 0.01);
}

TEST(OptimConfig, BadValuesAreRefused) {
  validate(adam(0.01));
  expect_input_error([] { validate(adam(0)); }, "adam: lr must be a finite number above 0, found 0");
  expect_input_error([] { validate(adam(std::nan(""))); }, "adam: lr must be a finite number above 0, found nan");
  AdamConfig config = adam(0.01);
  config.beta2 = 1;
  expect_input_error([&] { validate(config); }, "adam: beta2 must be at least 0 and below 1, found 1");
  config = adam(0.01);
  config.weight_decay = -1;
  expect_input_error([&] { validate(config); }, "weight_decay");
  expect_input_error([] { validate({-1, false, 0}, adam(0.01)); }, "warmup_steps must be at least 0, found -1");
  expect_input_error([] { validate({0, true, 0.1}, adam(0.01)); }, "min_lr must be from 0 to adam's lr, found 0.1");
  expect_input_error([] { validate({0, false, 0.001}, adam(0.01)); }, "min_lr must be 0 without cosine");
  expect_input_error([] { validate(LrSpike{0, 2}); }, "lr_spike: step must be at least 1, found 0");
  expect_input_error([] { validate(LrSpike{1, 0}); }, "lr_spike: factor");
}

}  // namespace
}  // namespace rehearse
