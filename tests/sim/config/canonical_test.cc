#include "sim/config/canonical.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "sim/config/field_value.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/text_reader.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

config::Scenario read(const std::string& text) {
  config::Scenario message;
  Origins origins("f");
  read_text(text, message, origins);
  return message;
}

TEST(CanonicalText, OfTheGoodScenario) {
  const Scenario scenario = load_text(kGoodScenario);
  EXPECT_EQ(scenario.text, R"(name: "good"
seed: 41
cluster {
  ranks: 4
  network {
    latency: "5us"
    bandwidth: "100Gbps"
    jitter: "0ps"
  }
  device {
    preset: "a100"
  }
  storage {
    latency: "100us"
    bandwidth: "16Gbps"
  }
}
model {
  layers: 2
  embed: 32
  heads: 4
  vocab: 64
  context: 16
  dtype: FLOAT32
}
data {
  synthetic {
    kind: MARKOV
    states: 16
    noise: 0
  }
}
train {
  steps: 20
  batch: 4
  accumulate: 1
  zero_stage: 1
  adam {
    lr: 0.005
    beta1: 0.9
    beta2: 0.999
    eps: 1e-08
    weight_decay: 0
    decay: ALL
  }
  schedule {
    warmup_steps: 0
    cosine: false
    min_lr: 0
  }
  eval_every: 0
  guards {
    spike_factor: 2
    median_window: 0
    max_consecutive_skips: 3
    max_rollbacks: 3
  }
}
checkpoint {
  every_steps: 10
  keep: 3
}
recovery {
  max_restarts: 8
  restart_delay: "10s"
  heartbeat_timeout: "30s"
  collective_timeout: "10min"
}
expect {
  outcome: DONE
  final_step: 20
  loss: FALLS
  resume_from: 10
}
)");
}

TEST(CanonicalText, GradientsThatAreComputedTwiceInEveryZerothStepAreNotMentioned) {
  const Scenario written = load_text(kGoodScenario, {"train.guards.recompute_every=0"});
  EXPECT_EQ(written.text, load_text(kGoodScenario).text);
  EXPECT_EQ(written.arithmetic_sha256, load_text(kGoodScenario).arithmetic_sha256);
}

TEST(CanonicalText, ReadsBackToTheSameScenario) {
  const Scenario first = load_text(kGoodScenario);
  const Scenario second = load_text(first.text);
  EXPECT_EQ(second.text, first.text);
  EXPECT_EQ(second.scenario_sha256, first.scenario_sha256);
  EXPECT_EQ(second.arithmetic_sha256, first.arithmetic_sha256);
}

TEST(CanonicalText, KeepsEveryCharacterOfAString) {
  config::Scenario message;
  message.set_name("quote \" backslash \\ line\n tab\t caf\xC3\xA9 \x7F");
  EXPECT_EQ(read(canonical_text(message)).name(), message.name());
}

// Protobuf's own reader takes what ours writes, and ours what Protobuf's writes: it is the same language.
TEST(CanonicalText, IsProtobufTextFormat) {
  const config::Scenario message = read(load_text(kGoodScenario).text);
  config::Scenario theirs;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(canonical_text(message), &theirs));
  EXPECT_EQ(canonical_text(theirs), canonical_text(message));
  std::string printed;
  ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(message, &printed));
  EXPECT_EQ(canonical_text(read(printed)), canonical_text(message));
}

// The loader checks what is written; the schema's defaults must not need it.
void check_defaults(const Descriptor& type, google::protobuf::Message& scratch) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      auto& access = *scratch.GetReflection();
      check_defaults(*field.message_type(), field.is_repeated() ? *access.AddMessage(&scratch, &field)
                                                                : *access.MutableMessage(&scratch, &field));
      continue;
    }
    if (!field.has_default_value() || field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
    TextToken token;
    token.kind = TextToken::Kind::kString;
    token.value = field.default_value_string();
    EXPECT_EQ(set_field(scratch, field, token), "") << field.full_name();
    EXPECT_EQ(scratch.GetReflection()->GetString(scratch, &field), token.value)
        << "not canonical: " << field.full_name();
  }
}

TEST(Schema, DefaultQuantitiesAreInCanonicalSpelling) {
  config::Scenario scratch;
  check_defaults(*config::Scenario::descriptor(), scratch);
}

TEST(Hashes, DefaultWrittenAndLeftOutAreTheSame) {
  const Scenario plain = load_text(kGoodScenario);
  for (const std::string& text :
       {good_with("latency: \"5us\"", "latency: \"5000ns\" bandwidth: \"100Gbps\""),
        good_with("ranks: 4", "device { preset: \"a100\" }"), good_with("noise: 0", "noise: 0.0"),
        good_with("noise: 0", ""), good_with("batch: 4", "batch: 4 accumulate: 1 schedule { }"),
        good_with("lr: 0.005", "lr: 5e-3 eps: 1e-8"), "# A comment.\n" + kGoodScenario}) {
    EXPECT_EQ(load_text(text).scenario_sha256, plain.scenario_sha256) << text;
    EXPECT_EQ(load_text(text).arithmetic_sha256, plain.arithmetic_sha256) << text;
  }
}

TEST(Hashes, ArithmeticCoversWhatDecidesBitsAndNothingElse) {
  const Scenario plain = load_text(kGoodScenario);
  for (const std::string override :
       {"name=other", "cluster.network.latency=6us", "cluster.network.jitter=1us", "cluster.device.preset=cpu",
        "cluster.storage.latency=1us", "train.overlap=true", "train.recompute_blocks=true", "checkpoint.every_steps=5",
        "checkpoint.keep=2", "expect.final_step=19"}) {
    const Scenario other = load_text(kGoodScenario, {override});
    EXPECT_EQ(other.arithmetic_sha256, plain.arithmetic_sha256) << override;
    EXPECT_NE(other.scenario_sha256, plain.scenario_sha256) << override;
  }
  for (const std::string override :
       {"seed=42", "cluster.ranks=2", "model.embed=64", "model.dtype=FLOAT64", "data.synthetic.states=8",
        "data.synthetic.noise=0.1", "train.steps=40", "train.zero_stage=0", "train.zero_stage=2", "train.zero_stage=3",
        "train.bucket=1MB", "train.adam.eps=1e-7", "train.clip_norm=1", "train.eval_every=5"}) {
    const Scenario other = load_text(kGoodScenario, {override});
    EXPECT_NE(other.arithmetic_sha256, plain.arithmetic_sha256) << override;
    EXPECT_NE(other.scenario_sha256, plain.scenario_sha256) << override;
  }
}

TEST(Hashes, FileCountsByItsContentsNotItsName) {
  const std::string text = good_with("synthetic { kind: MARKOV states: 16 noise: 0 }", "text_file: \"a.txt\"");
  const std::string tale(300, 'a');
  const Scenario a = load_text(text, {}, {{"dir/a.txt", tale}});
  const Scenario b = load_text(text, {"data.text_file=sub/b.txt"}, {{"dir/sub/b.txt", tale}});
  const Scenario c = load_text(text, {}, {{"dir/a.txt", tale + "b"}});
  EXPECT_EQ(a.arithmetic_sha256, b.arithmetic_sha256);
  EXPECT_EQ(a.scenario_sha256, b.scenario_sha256);
  EXPECT_NE(a.arithmetic_sha256, c.arithmetic_sha256);
  EXPECT_NE(a.scenario_sha256, c.scenario_sha256);
}

}  // namespace
}  // namespace rehearse
