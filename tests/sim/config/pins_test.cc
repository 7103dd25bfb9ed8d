// A digest that a file expects is of the file as it is written: expected exactly where the options change nothing that
// decides it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

const std::string kWeights(64, 'a');
const std::string kEvents(64, 'e');
const std::string kOther(64, '0');

// With a fault too, so that options can change that.
const std::string kPinned =
    good_with("loss: FALLS resume_from: 10 final_step: 20",
              "weights_sha256: \"" + kWeights + "\" event_digest: \"" + kEvents + "\"") +
    "faults { flip { rank: 3 at { step: 2 phase: OPTIMIZER } target: GRADIENT tensor: \"head.weight\" index: 5 bit: 3 "
    "} }\n";

using Pins = std::vector<std::string>;
const Pins kBoth = {"weights_sha256", "event_digest"};

// What a pin comes to: its value, or "dropped" where scenario and text have none.
std::string state_of(const std::optional<std::string>& pin, const Scenario& scenario, const std::string& name) {
  const bool in_text = scenario.text.find("  " + name + ": ") != std::string::npos;
  EXPECT_EQ(pin.has_value(), in_text) << name;
  return pin.value_or("dropped");
}

void expect_pins(const Scenario& scenario, const std::string& weights, const std::string& events) {
  EXPECT_EQ(state_of(scenario.expect.weights_sha256, scenario, "weights_sha256"), weights);
  EXPECT_EQ(state_of(scenario.expect.event_digest, scenario, "event_digest"), events);
}

TEST(Pins, AreKeptWithoutOptions) {
  const Scenario s = load_text(kPinned);
  expect_pins(s, kWeights, kEvents);
  EXPECT_EQ(s.dropped_pins, Pins());
}

TEST(Pins, AreKeptWhereOptionsSayWhatTheFileSays) {
  for (const char* same : {"train.steps=20", "seed=41", "cluster.network.latency=5us", "train.adam.lr=0.005",
                           "train.zero_stage=1", "faults.flip[0].bit=3"}) {
    const Scenario s = load_text(kPinned, {same});
    expect_pins(s, kWeights, kEvents);
    EXPECT_EQ(s.dropped_pins, Pins()) << same;
  }
  const Scenario s = load_text(kPinned, {"train.steps=30", "train.steps=20"});
  expect_pins(s, kWeights, kEvents);
}

TEST(Pins, AreDroppedWhereAnOptionChangesWhatIsComputed) {
  for (const char* change :
       {"seed=42", "train.steps=19", "train.batch=2", "train.adam.lr=0.006", "train.adam.beta1=0.8",
        "train.zero_stage=0", "train.bucket=20KB", "train.clip_norm=1", "cluster.ranks=8", "model.layers=3",
        "model.dtype=FLOAT64", "data.synthetic.noise=0.5", "faults.flip[0].bit=4", "faults.flip[0].at.step=3"}) {
    // With other ranks or blocks the flip's element is of another rank; its own phase REDUCE is not.
    const Scenario s = load_text(good_with("loss: FALLS resume_from: 10 final_step: 20",
                                           "weights_sha256: \"" + kWeights + "\" event_digest: \"" + kEvents + "\"") +
                                     "faults { flip { rank: 3 at { step: 2 phase: REDUCE } target: GRADIENT tensor: "
                                     "\"head.weight\" index: 5 bit: 3 } }\n",
                                 {change});
    expect_pins(s, "dropped", "dropped");
    EXPECT_EQ(s.dropped_pins, kBoth) << change;
  }
}

TEST(Pins, OfEventsAloneAreDroppedWhereAnOptionChangesNoBit) {
  for (const char* change : {"cluster.network.latency=50us", "cluster.network.jitter=1us", "cluster.device.preset=cpu",
                             "cluster.storage.bandwidth=1Gbps", "checkpoint.every_steps=5", "checkpoint.keep=1",
                             "name=other", "expect.final_step=20"}) {
    const Scenario s = load_text(kPinned, {change});
    expect_pins(s, kWeights, "dropped");
    EXPECT_EQ(s.dropped_pins, Pins{"event_digest"}) << change;
  }
}

TEST(Pins, AreDroppedWhereTheSeedOptionIsAnother) {
  LoadOptions options;
  options.seed = 42;
  const Scenario other = parse_scenario(kPinned, "dir/s", reader_of({}), options);
  expect_pins(other, "dropped", "dropped");
  EXPECT_EQ(other.dropped_pins, kBoth);
  options.seed = 41;
  const Scenario same = parse_scenario(kPinned, "dir/s", reader_of({}), options);
  expect_pins(same, kWeights, kEvents);
  EXPECT_EQ(same.dropped_pins, Pins());
}

TEST(Pins, ThatAnOptionSetsStay) {
  const Scenario weights = load_text(kPinned, {"expect.weights_sha256=" + kOther, "train.adam.lr=0.1"});
  expect_pins(weights, kOther, "dropped");
  EXPECT_EQ(weights.dropped_pins, Pins{"event_digest"});
  const Scenario events = load_text(kPinned, {"expect.event_digest=" + kOther, "cluster.network.latency=1us"});
  expect_pins(events, kWeights, kOther);
  EXPECT_EQ(events.dropped_pins, Pins());
  const Scenario both =
      load_text(kPinned, {"expect.event_digest=" + kOther, "expect.weights_sha256=" + kOther, "seed=7"});
  expect_pins(both, kOther, kOther);
  EXPECT_EQ(both.dropped_pins, Pins());
}

// Whoever asks for it gets it, though the file says the same.
TEST(Pins, ThatAnOptionSetsToWhatTheFileSaysStay) {
  const Scenario s =
      load_text(kPinned, {"seed=7", "expect.weights_sha256=" + kWeights, "expect.event_digest=" + kEvents});
  expect_pins(s, kWeights, kEvents);
  EXPECT_EQ(s.dropped_pins, Pins());
}

TEST(Pins, ThatOnlyAnOptionSetsStay) {
  const Scenario s = load_text(
      kGoodScenario, {"expect.weights_sha256=" + kOther, "expect.event_digest=" + kOther, "train.adam.lr=0.1"});
  expect_pins(s, kOther, kOther);
  EXPECT_EQ(s.dropped_pins, Pins());
}

TEST(Pins, NothingIsDroppedWhereNothingIsPinned) {
  EXPECT_EQ(load_text(kGoodScenario, {"seed=42", "train.adam.lr=0.1"}).dropped_pins, Pins());
}

// Options that change nothing give the same scenario, to the last byte.
TEST(Pins, LookingForThemLeavesNoTrace) {
  const std::string bare = good_with("expect { loss: FALLS resume_from: 10 final_step: 20 }\n", "");
  for (const std::string& text : {bare, kGoodScenario, kPinned}) {
    EXPECT_EQ(load_text(text, {"train.steps=20"}).text, load_text(text).text);
    EXPECT_EQ(load_text(text, {"train.steps=20"}).scenario_sha256, load_text(text).scenario_sha256);
  }
}

TEST(Pins, AScenarioThatLostItsPinsHasTheDigestOfOneThatNeverHadThem) {
  const std::string without = good_with("loss: FALLS resume_from: 10 final_step: 20", "");
  const std::string with = good_with("loss: FALLS resume_from: 10 final_step: 20", "event_digest: \"" + kEvents + "\"");
  EXPECT_EQ(load_text(with, {"seed=42"}).scenario_sha256, load_text(without, {"seed=42"}).scenario_sha256);
}

TEST(Pins, ThatAreNoDigestsAreRefused) {
  const std::string allowed = "; allowed: exactly 64 lower-case hex digits";
  const std::string upper(64, 'A');
  for (const std::string& bad : {std::string("abc"), upper, kEvents + "0", "sha256:" + kEvents}) {
    for (const std::string name : {"event_digest", "weights_sha256"}) {
      const std::string column = std::to_string(std::string("expect { ").size() + name.size() + 3);
      EXPECT_EQ(error_of(good_with("loss: FALLS resume_from: 10 final_step: 20", name + ": \"" + bad + "\"")),
                "dir/s.textproto:8:" + column + ": expect." + name + ": found \"" + bad + "\"" + allowed);
      EXPECT_EQ(error_of(kGoodScenario, {"expect." + name + "=" + bad}),
                "--set expect." + name + "=" + bad + ": found \"" + bad + "\"" + allowed);
    }
  }
}

}  // namespace
}  // namespace rehearse
