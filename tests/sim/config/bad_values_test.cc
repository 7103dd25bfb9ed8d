// What is wrong with a value, alone or beside others: refused before anything runs, at the value's own place, with what
// is allowed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

struct BadValue {
  const char* name;
  std::string text;
  std::string error;  // after the file's name
};

void PrintTo(const BadValue& test, std::ostream* out) { *out << test.name; }

class BadValueTest : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadValueTest, IsRefusedWhereItStands) {
  EXPECT_EQ(error_of(GetParam().text), "dir/s.textproto:" + GetParam().error);
}

std::string test_name(const ::testing::TestParamInfo<BadValue>& info) { return info.param.name; }

const std::string kSteps = "; allowed: whole numbers from 1 to 1000000000";

INSTANTIATE_TEST_SUITE_P(
    Number, BadValueTest,
    ::testing::Values(
        BadValue{"Octal", good_with("steps: 20", "steps: 020"),
                 "6:16: train.steps: found '020', which other readers take as octal" + kSteps},
        BadValue{"Hexadecimal", good_with("steps: 20", "steps: 0x14"),
                 "6:16: train.steps: found '0x14', which is hexadecimal" + kSteps},
        BadValue{"NotWhole", good_with("steps: 20", "steps: 20.0"),
                 "6:16: train.steps: found '20.0', which is not written as a whole number" + kSteps},
        BadValue{"Exponent", good_with("steps: 20", "steps: 2e1"),
                 "6:16: train.steps: found '2e1', which is not written as a whole number" + kSteps},
        BadValue{"Negative", good_with("steps: 20", "steps: -20"), "6:16: train.steps: found '-20'" + kSteps},
        BadValue{"Zero", good_with("steps: 20", "steps: 0"), "6:16: train.steps: found '0'" + kSteps},
        BadValue{"Beyond64Bits", good_with("steps: 20", "steps: 99999999999999999999"),
                 "6:16: train.steps: found '99999999999999999999'" + kSteps},
        BadValue{"Quoted", good_with("steps: 20", "steps: \"20\""), "6:16: train.steps: found \"20\"" + kSteps},
        BadValue{"Word", good_with("steps: 20", "steps: many"), "6:16: train.steps: found 'many'" + kSteps},
        BadValue{"Unit", good_with("steps: 20", "steps: 20k"),
                 "6:16: train.steps: found '20k', which is no decimal number" + kSteps},
        BadValue{"SeedBeyond64Bits", good_with("seed: 41", "seed: 18446744073709551616"),
                 "2:7: seed: found '18446744073709551616'; allowed: whole numbers from 0 to 18446744073709551615"},
        BadValue{"NegativeSeed", good_with("seed: 41", "seed: -1"),
                 "2:7: seed: found '-1'; allowed: whole numbers from 0 to 18446744073709551615"},
        BadValue{"Infinite", good_with("lr: 0.005", "lr: inf"),
                 "6:39: train.adam.lr: found 'inf', which is not finite; allowed: numbers above 0"},
        BadValue{"MinusInfinite", good_with("lr: 0.005", "lr: -inf"),
                 "6:39: train.adam.lr: found '-inf', which is not finite; allowed: numbers above 0"},
        BadValue{"NotANumber", good_with("lr: 0.005", "lr: nan"),
                 "6:39: train.adam.lr: found 'nan', which is not finite; allowed: numbers above 0"},
        BadValue{"BeyondDouble", good_with("lr: 0.005", "lr: 1e999"),
                 "6:39: train.adam.lr: found '1e999', which a double cannot hold; allowed: numbers above 0"},
        BadValue{"FloatSuffix", good_with("lr: 0.005", "lr: 0.005f"),
                 "6:39: train.adam.lr: found '0.005f', which is no decimal number; allowed: numbers above 0"},
        BadValue{"OctalForDouble", good_with("lr: 0.005", "lr: 010"),
                 "6:39: train.adam.lr: found '010', which other readers take as octal; allowed: numbers above 0"},
        BadValue{"BetaOfOne", good_with("lr: 0.005", "lr: 0.005 beta1: 1"),
                 "6:52: train.adam.beta1: found '1'; allowed: numbers from 0 to below 1"},
        BadValue{"Noise", good_with("noise: 0", "noise: 1.5"),
                 "5:51: data.synthetic.noise: found '1.5'; allowed: numbers from 0 to 1"},
        BadValue{"NoiseDecimals", good_with("noise: 0", "noise: 0.12345678901"),
                 "5:51: data.synthetic.noise: found more than 9 decimals; allowed: at most 9"},
        BadValue{"ZeroStage", good_with("batch: 4", "batch: 4 zero_stage: 4"),
                 "6:40: train.zero_stage: found '4'; allowed: whole numbers from 0 to 3"},
        BadValue{"NoRanks", good_with("ranks: 4", "ranks: 0"),
                 "3:18: cluster.ranks: found '0'; allowed: whole numbers from 1 to 65536"},
        BadValue{"TooManyRanks", good_with("ranks: 4", "ranks: 65537"),
                 "3:18: cluster.ranks: found '65537'; allowed: whole numbers from 1 to 65536"},
        BadValue{"UnknownEnumName", good_with("loss: FALLS", "loss: FALL"),
                 "8:16: expect.loss: found 'FALL'; did you mean 'FALLS'?"},
        BadValue{"EnumNumber", good_with("MARKOV", "1"), "5:26: data.synthetic.kind: found '1'; allowed: MARKOV"},
        BadValue{"UnknownEnumNumber", good_with("loss: FALLS", "loss: 7"),
                 "8:16: expect.loss: found '7'; allowed: FALLS"},
        BadValue{"UnreachableOutcome", good_with("loss: FALLS", "outcome: INTERRUPTED"),
                 "8:19: expect.outcome: found 'INTERRUPTED'; allowed: DONE, STOPPED, FAILED, DEADLOCK"},
        BadValue{"BoolByNumber", good_with("batch: 4", "batch: 4 schedule { cosine: 1 }"),
                 "6:47: train.schedule.cosine: found '1'; allowed: true or false"}),
    test_name);

const std::string kDuration = "; allowed: a duration such as \"5us\", with one of the suffixes ps ns us ms s min h";

INSTANTIATE_TEST_SUITE_P(
    Quantity, BadValueTest,
    ::testing::Values(
        BadValue{"WithoutUnit", good_with("\"5us\"", "\"5\""),
                 "3:39: cluster.network.latency: found \"5\", which has no unit" + kDuration},
        BadValue{"WithoutQuotes", good_with("\"5us\"", "5us"),
                 "3:39: cluster.network.latency: found '5us' without quotes; allowed: a duration such as \"5us\", in "
                 "quotes"},
        BadValue{
            "BareNumber", good_with("\"5us\"", "5"),
            "3:39: cluster.network.latency: found '5' without quotes; allowed: a duration such as \"5us\", in quotes"},
        BadValue{"NegativeDuration", good_with("\"5us\"", "\"-5us\""),
                 "3:39: cluster.network.latency: found \"-5us\", which is negative" + kDuration},
        BadValue{"BelowAPicosecond", good_with("\"5us\"", "\"0.1ps\""),
                 "3:39: cluster.network.latency: found \"0.1ps\", which is no whole number of ps" + kDuration},
        BadValue{"Overflow", good_with("\"5us\"", "\"3000h\""),
                 "3:39: cluster.network.latency: found \"3000h\", which is more than 64 bits of ps hold" + kDuration},
        BadValue{
            "ZeroBandwidth", good_with("latency: \"5us\"", "bandwidth: \"0Gbps\""),
            "3:41: cluster.network.bandwidth: found \"0Gbps\"; allowed: a bandwidth above 0 such as \"100Gbps\", in "
            "quotes"},
        BadValue{"NegativeBandwidth", good_with("latency: \"5us\"", "bandwidth: \"-1Gbps\""),
                 "3:41: cluster.network.bandwidth: found \"-1Gbps\", which is negative; allowed: a bandwidth such as "
                 "\"100Gbps\", with one of the suffixes bps Kbps Mbps Gbps Tbps GB/s TB/s"},
        BadValue{"ZeroBucket", good_with("batch: 4", "batch: 4 bucket: \"0MB\""),
                 "6:36: train.bucket: found \"0MB\"; allowed: a size above 0 such as \"25MB\", in quotes"},
        BadValue{"UnknownPreset", good_with("ranks: 4", "device { preset: \"a1000\" }"),
                 "3:28: cluster.device.preset: found \"a1000\"; did you mean 'a100'?"},
        BadValue{"EmptyText", good_with("\"good\"", "\"\""),
                 "1:7: name: found \"\", which is empty; allowed: text in quotes"},
        BadValue{"NameWithSpace", good_with("\"good\"", "\"Good one\""),
                 "1:7: name: found \"Good one\"; allowed: at most 100 lower-case letters, digits, - and _"}),
    test_name);

std::string with_device(const std::string& slowdowns) {
  return good_with("ranks: 4", "ranks: 4 device {" + slowdowns + "}");
}
std::string with_train(const std::string& fields) { return good_with("batch: 4", "batch: 4 " + fields); }
std::string with_expect(const std::string& fields) {
  return good_with("loss: FALLS resume_from: 10 final_step: 20", fields);
}

INSTANTIATE_TEST_SUITE_P(
    Contradiction, BadValueTest,
    ::testing::Values(
        BadValue{"NoDataSource", good_with("synthetic { kind: MARKOV states: 16 noise: 0 }", ""),
                 "5:1: data: found no source; allowed: one of synthetic, text_file, tokens_file"},
        BadValue{"HeadsDoNotDivide", good_with("heads: 4", "heads: 5"),
                 "4:36: model.heads: found 5; allowed: a divisor of model.embed, which is 32"},
        BadValue{"AccumulateDoesNotDivide", with_train("accumulate: 3"),
                 "6:40: train.accumulate: found 3; allowed: a divisor of train.batch, which is 4"},
        BadValue{"StatesAboveVocab", good_with("states: 16", "states: 65"),
                 "5:41: data.synthetic.states: found 65; allowed: at most model.vocab, which is 64"},
        BadValue{"ModelTooLarge", good_with("embed: 32", "embed: 1000000"),
                 "4:1: model: found sizes that make more than 2^40 parameters; allowed: fewer layers, embed or vocab"},
        BadValue{
            "BatchTooLarge",
            good_with("batch: 4", "batch: 1048576")
                .replace(kGoodScenario.find("vocab: 64 context: 16"), 21, "vocab: 65536 context: 64"),
            "6:26: train.batch: found 1048576, which makes a tensor of more than 2^40 elements; allowed: a smaller "
            "batch or model"},
        BadValue{"KeepWithoutCheckpoints", good_with("every_steps: 10 ", ""),
                 "7:20: checkpoint.keep: found 3 without checkpoints; allowed: only with checkpoint.every_steps or "
                 "every"},
        BadValue{"AsynchronousWithoutCheckpoints", good_with("every_steps: 10 keep: 3", "asynchronous: true"),
                 "7:28: checkpoint.asynchronous: found true without checkpoints; allowed: only with "
                 "checkpoint.every_steps or every"},
        BadValue{"SavesAtNoDistance", good_with("every_steps: 10 ", "every: \"0s\" "),
                 "7:21: checkpoint.every: found \"0s\"; allowed: a duration above 0 such as \"5us\", in quotes"},
        BadValue{"CorruptionSkipped", with_train("guards { corruption: SKIP_STEP }"),
                 "6:49: train.guards.corruption: found SKIP_STEP; allowed: any other policy for this guard"},
        BadValue{"RecomputingWithoutCorruption", with_train("guards { recompute_every: 2 }"),
                 "6:54: train.guards.recompute_every: found 2 without corruption, which says what is done; allowed: "
                 "only with that guard"},
        BadValue{"RecomputingOnOneRank",
                 with_train("guards { corruption: EVICT recompute_every: 2 }")
                     .replace(kGoodScenario.find("ranks: 4"), 8, "ranks: 1"),
                 "6:72: train.guards.recompute_every: found 2 on one rank, which has no other to ask; allowed: 0, or "
                 "cluster.ranks of 2 or more"},
        BadValue{"RecomputingAtNegativeSteps", with_train("guards { corruption: EVICT recompute_every: -1 }"),
                 "6:72: train.guards.recompute_every: found '-1'; allowed: whole numbers from 0 to 1000000000"},
        BadValue{"EvictionForANan", with_train("guards { nonfinite: EVICT }"),
                 "6:48: train.guards.nonfinite: found EVICT; allowed: any other policy for this guard"},
        BadValue{"EvictionForASpike", with_train("guards { loss_spike: EVICT }"),
                 "6:49: train.guards.loss_spike: found EVICT; allowed: any other policy for this guard"},
        BadValue{"WarmupBeyondTheRun", with_train("schedule { warmup_steps: 21 }"),
                 "6:53: train.schedule.warmup_steps: found 21; allowed: at most train.steps, which is 20"},
        BadValue{"MinLrAboveLr", with_train("schedule { cosine: true min_lr: 0.1 }"),
                 "6:60: train.schedule.min_lr: found 0.1; allowed: at most train.adam.lr, which is 0.005"},
        BadValue{"MinLrWithoutCosine", with_train("schedule { min_lr: 0.001 }"),
                 "6:47: train.schedule.min_lr: found 0.001 without cosine; allowed: only where cosine is true"},
        BadValue{"SpikeBeyondTheRun", with_train("lr_spike { step: 21 factor: 1000 }"),
                 "6:45: train.lr_spike.step: found 21; allowed: 1 to train.steps, which is 20"},
        BadValue{"SlowdownOfNobody", with_device("slowdown { rank: 4 factor: 2 }"),
                 "3:45: cluster.device.slowdown[0].rank: found 4; allowed: 0 to cluster.ranks - 1 = 3"},
        BadValue{
            "SlowdownTwice", with_device("slowdown { rank: 1 factor: 2 } slowdown { rank: 1 factor: 3 }"),
            "3:76: cluster.device.slowdown[1].rank: found rank 1 a second time; allowed: one slowdown for each rank"},
        BadValue{"SlowdownOfZero", with_device("slowdown { rank: 1 factor: 0 }"),
                 "3:55: cluster.device.slowdown[0].factor: found '0'; allowed: numbers from 0.001 to 1000000"}),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    Expectation, BadValueTest,
    ::testing::Values(
        BadValue{"FinalStep", with_expect("final_step: 21"),
                 "8:22: expect.final_step: found 21; allowed: a step of the run, 1 to train.steps, which is 20"},
        BadValue{"ResumeBetweenCheckpoints", with_expect("resume_from: 12"),
                 "8:23: expect.resume_from: found 12; allowed: a step with a checkpoint, a multiple of "
                 "checkpoint.every_steps, which is 10"},
        BadValue{"ResumeBeyondTheRun", with_expect("resume_from: 30"),
                 "8:23: expect.resume_from: found 30; allowed: a step of the run, 1 to train.steps, which is 20"},
        BadValue{"ResumeWithoutCheckpoints", good_with("checkpoint { every_steps: 10 keep: 3 }", ""),
                 "8:35: expect.resume_from: found 10; allowed: only with checkpoint.every_steps or every, as "
                 "there are no "
                 "checkpoints"},
        BadValue{"EvalNeverMeasured", with_expect("eval_loss: FALLS"),
                 "8:21: expect.eval_loss: found FALLS, but the held-out loss is not measured twice; allowed: only with "
                 "train.eval_every from 1 to train.steps, which is 20"},
        BadValue{"NothingAccumulated", with_expect("max_accumulation_difference: 1e-6"),
                 "8:39: expect.max_accumulation_difference: found without accumulation; allowed: only where "
                 "train.accumulate is 2 or more"},
        BadValue{"ShortDigest", with_expect("weights_sha256: \"abc\""),
                 "8:26: expect.weights_sha256: found \"abc\"; allowed: exactly 64 lower-case hex digits"},
        BadValue{
            "ShortPrefixedDigest", with_expect("same_weights_as: \"sha256:abc\""),
            "8:27: expect.same_weights_as: found \"sha256:abc\"; allowed: \"sha256:\" and exactly 64 lower-case hex "
            "digits"},
        BadValue{"FaultFreeWithoutFaults", with_expect("same_weights_as: \"fault-free\""),
                 "8:27: expect.same_weights_as: found \"fault-free\", but the scenario has no faults to leave out; "
                 "allowed: the path of another scenario, or \"sha256:\" and 64 hex digits"},
        BadValue{"ReferenceNotThere", with_expect("same_weights_as: \"other.textproto\""),
                 "8:27: expect.same_weights_as: cannot read dir/other.textproto: No such file or directory"},
        BadValue{
            "DeadlockWithWeights", with_expect("outcome: DEADLOCK resume_from: 10"),
            "8:19: expect.outcome: found DEADLOCK together with weights, a final loss or a resume, which a run has "
            "only when it is done; allowed: one or the other"}),
    test_name);

// Files that a scenario names.

std::string with_data(const std::string& source) {
  return good_with("synthetic { kind: MARKOV states: 16 noise: 0 }", source);
}

TEST(ScenarioInputs, MissingFileIsRefusedAtTheFieldThatNamesIt) {
  EXPECT_EQ(error_of(with_data("text_file: \"no.txt\"")),
            "dir/s.textproto:5:19: data.text_file: cannot read dir/no.txt: No such file or directory");
}

TEST(ScenarioInputs, DataThatDoNotFitAreRefusedAtTheFieldThatNamesThem) {
  EXPECT_EQ(
      error_of(with_data("text_file: \"t.txt\""), {}, {{"dir/t.txt", "short"}}),
      "dir/s.textproto:5:19: data.text_file 't.txt': the first nine tenths, which training reads, have 5 characters; "
      "a sequence needs model.context + 1 = 17");
  EXPECT_EQ(
      error_of(with_data("text_file: \"t.txt\""), {}, {{"dir/t.txt", "ab\xFF"}}),
      "dir/s.textproto:5:19: data.text_file 't.txt': byte 2 (counted from 0) does not start a UTF-8 character; the "
      "text must be valid UTF-8");
  EXPECT_THAT(error_of(with_data("tokens_file: \"t\""), {}, {{"dir/t", "garbage"}}),
              ::testing::StartsWith("dir/s.textproto:5:21: t: "));
}

TEST(ScenarioInputs, InitialWeightsThatDoNotFitAreRefusedAtTheFieldThatNamesThem) {
  EXPECT_THAT(error_of(good_with("context: 16", "context: 16 init_file: \"w\""), {}, {{"dir/w", "garbage"}}),
              ::testing::StartsWith("dir/s.textproto:4:71: model.init_file: w: "));
}

}  // namespace
}  // namespace rehearse
