// D3, swept: one rank of the capstone dies at event after event of the run, and again at event after event of the
// recovery; every time the job ends with the bytes of the run that never failed, and none hangs.
//
// A fixed sample; with REHEARSE_FULL=1 every event and every rank.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

const std::string kPath = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto";

bool full() { return std::getenv("REHEARSE_FULL") != nullptr; }

Scenario capstone() {
  LoadOptions options;
  options.overrides = {"checkpoint.every_steps=5", "recovery.restart_delay=1ms", "recovery.heartbeat_timeout=2ms"};
  Scenario scenario = load_scenario(kPath, options);
  scenario.expect = Expectations();
  return scenario;
}

class RecoverySweep : public ::testing::Test {
 protected:
  Scenario scenario_ = capstone();
  TrainingRecord whole_ = run_training(scenario_);
  TrainingHooks quiet_;

  RecoverySweep() { quiet_.log_events = false; }

  void expect_same_bytes(const TrainingRecord& record) const {
    ASSERT_EQ(record.outcome, Outcome::kDone) << record.failure;
    ASSERT_EQ(record.weights_sha256, whole_.weights_sha256);
    ASSERT_TRUE(record.violations.empty()) << record.violations.front();
    ASSERT_EQ(record.steps.size(), whole_.steps.size());
    for (std::size_t i = 0; i < whole_.steps.size(); ++i) {
      ASSERT_EQ(record.steps[i].report.rank_losses, whole_.steps[i].report.rank_losses);
      ASSERT_EQ(record.steps[i].parameters, whole_.steps[i].parameters);
    }
    ASSERT_EQ(record.checkpoints.size(), whole_.checkpoints.size());
    for (std::size_t i = 0; i < whole_.checkpoints.size(); ++i) {
      const auto& manifest = record.checkpoints[i].files.at("manifest.json");
      ASSERT_EQ(manifest.text(), whole_.checkpoints[i].files.at("manifest.json").text());
    }
  }
};

TEST_F(RecoverySweep, ACrashAtAnyEventEndsWithTheSameBytes) {
  const std::uint64_t stride = full() ? 1 : 11;  // co-prime with the steps' rhythm
  std::uint64_t crashes = 0;
  for (const CrashKind kind : {CrashKind::kProcess, CrashKind::kHost}) {
    for (std::uint64_t at = 0; at < whole_.events; at += stride) {
      for (int victim = 0; victim < scenario_.ranks; ++victim) {
        if (!full() && static_cast<std::uint64_t>(victim) != at % static_cast<std::uint64_t>(scenario_.ranks)) continue;
        SCOPED_TRACE("rank " + std::to_string(victim) + " at event " + std::to_string(at));
        TrainingSession session(scenario_, std::nullopt, quiet_);
        if (at > 0) {
          ASSERT_TRUE(session.advance(at));
        }
        session.crash(victim, kind);
        while (session.advance(4096)) {
        }
        expect_same_bytes(session.finish());
        if (HasFatalFailure()) return;
        ++crashes;
      }
    }
  }
  const std::uint64_t places = (whole_.events + stride - 1) / stride;
  EXPECT_EQ(crashes, 2 * places * (full() ? static_cast<std::uint64_t>(scenario_.ranks) : 1));
  std::cout << crashes << " crashes over " << whole_.events << " events\n";
}

TEST_F(RecoverySweep, ASecondCrashAtAnyEventOfTheRecoveryEndsWithTheSameBytes) {
  const std::uint64_t firsts = full() ? 20 : 4;
  const std::uint64_t stride = full() ? 1 : 13;
  std::uint64_t crashes = 0;
  for (std::uint64_t n = 0; n < firsts; ++n) {
    const std::uint64_t first = (2 * n + 1) * whole_.events / (2 * firsts);
    const int victim = static_cast<int>(n % 4);
    // How many events the recovery takes: from the crash until training goes on.
    std::uint64_t recovered_at = 0;
    {
      TrainingHooks hooks = quiet_;
      TrainingSession* running = nullptr;
      hooks.on_recovery = [&](const RecoveryRecord&) { recovered_at = running->events(); };
      TrainingSession session(scenario_, std::nullopt, hooks);
      running = &session;
      ASSERT_TRUE(session.advance(first));
      session.crash(victim);
      while (session.advance(4096)) {
      }
      expect_same_bytes(session.finish());
      ASSERT_GT(recovered_at, first);
    }
    for (std::uint64_t second = first + 1; second <= recovered_at; second += stride) {
      SCOPED_TRACE("crashes at events " + std::to_string(first) + " and " + std::to_string(second));
      TrainingSession session(scenario_, std::nullopt, quiet_);
      ASSERT_TRUE(session.advance(first));
      session.crash(victim);
      ASSERT_TRUE(session.advance(second - first));
      session.crash(static_cast<int>(second % 4), second % 3 == 0 ? CrashKind::kHost : CrashKind::kProcess);
      while (session.advance(4096)) {
      }
      expect_same_bytes(session.finish());
      if (HasFatalFailure()) return;
      ++crashes;
    }
  }
  EXPECT_GT(crashes, firsts * 5);
  std::cout << crashes << " second crashes after " << firsts << " first ones\n";
}

}  // namespace
}  // namespace rehearse
