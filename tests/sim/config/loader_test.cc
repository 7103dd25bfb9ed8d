#include "sim/config/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/digest.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

TEST(Loader, FillsTheStructsOfTheFolders) {
  const Scenario s = load_text(good_with("train { steps: 20 batch: 4 adam { lr: 0.005 } }",
                                         "train { steps: 20 batch: 4 accumulate: 2 zero_stage: 0 bucket: \"25MB\" "
                                         "clip_norm: 0.5 adam { lr: 0.005 beta1: 0.8 "
                                         "beta2: 0.99 eps: 1e-7 weight_decay: 0.1 decay: MATRICES } schedule { "
                                         "warmup_steps: 3 cosine: true min_lr: 0.001 } "
                                         "lr_spike { step: 13 factor: 1000 } eval_every: 5 }"));
  EXPECT_EQ(s.name, "good");
  EXPECT_EQ(s.file_path, "dir/s.textproto");
  EXPECT_EQ(s.seed, 41U);
  EXPECT_EQ(s.train.seed, 41U);
  EXPECT_EQ(s.ranks, 4);
  EXPECT_EQ(s.train.model, (ModelConfig{2, 32, 4, 64, 16}));
  EXPECT_EQ(std::get<MarkovConfig>(s.train.data).states, 16);
  EXPECT_EQ(s.train.dtype, DType::kFloat32);
  EXPECT_EQ(s.train.steps, 20);
  EXPECT_EQ(s.train.batch, 4);
  EXPECT_EQ(s.train.accumulate, 2);
  EXPECT_EQ(s.train.zero_stage, 0);
  EXPECT_EQ(s.train.bucket_bytes, 25'000'000);
  EXPECT_EQ(s.train.clip_norm, 0.5);
  EXPECT_EQ(s.train.adam.lr, 0.005);
  EXPECT_EQ(s.train.adam.beta1, 0.8);
  EXPECT_EQ(s.train.adam.beta2, 0.99);
  EXPECT_EQ(s.train.adam.eps, 1e-7);
  EXPECT_EQ(s.train.adam.weight_decay, 0.1);
  EXPECT_EQ(s.train.adam.decay, Decay::kMatrices);
  EXPECT_EQ(s.train.schedule.warmup_steps, 3);
  EXPECT_TRUE(s.train.schedule.cosine);
  EXPECT_EQ(s.train.schedule.min_lr, 0.001);
  EXPECT_EQ(s.train.lr_spike->step, 13);
  EXPECT_EQ(s.train.lr_spike->factor, 1000);
  EXPECT_EQ(s.train.eval_every, 5);
  EXPECT_EQ(s.train.checkpoint.every_steps, 10);
  EXPECT_EQ(s.train.checkpoint.keep, 3);
  EXPECT_EQ(s.network.latency, Duration::microseconds(5));
  EXPECT_EQ(s.network.bandwidth, Bandwidth::bits_per_second(100'000'000'000));
  EXPECT_EQ(s.device.rate, FlopRate::per_second(19'500'000'000'000));
  EXPECT_EQ(s.device_name, "a100");
  EXPECT_EQ(s.storage.latency, Duration::microseconds(100));
  EXPECT_TRUE(s.expect.loss_falls);
  EXPECT_FALSE(s.expect.eval_loss_falls);
  EXPECT_EQ(s.expect.resume_from, 10);
  EXPECT_EQ(s.expect.final_step, 20);
  EXPECT_EQ(s.expect.outcome, Outcome::kDone);
}

TEST(Loader, DefaultsAreTheSchemas) {
  const Scenario s = load_text(
      "name: \"small\" model { layers: 1 embed: 8 heads: 2 vocab: 10 context: 4 } data { synthetic { kind: MARKOV "
      "states: 3 "
      "noise: 0.25 } } train { steps: 1 batch: 1 adam { lr: 1 } }");
  EXPECT_EQ(s.seed, 1U);
  EXPECT_EQ(s.ranks, 4);
  EXPECT_EQ(std::get<MarkovConfig>(s.train.data).noise_ppb, 250'000'000);
  EXPECT_EQ(s.train.zero_stage, 1);
  EXPECT_EQ(s.train.bucket_bytes, 0);
  EXPECT_EQ(s.train.clip_norm, std::nullopt);
  EXPECT_FALSE(s.train.lr_spike);
  EXPECT_EQ(s.train.checkpoint.every_steps, 0);
  EXPECT_FALSE(expects_weights_or_number(s.expect));
}

TEST(Loader, SeedOfTheCommandLineWins) {
  LoadOptions options;
  options.overrides = {"seed=7"};
  options.seed = 8;
  const Scenario s = parse_scenario(kGoodScenario, "s", reader_of({}), options);
  EXPECT_EQ(s.train.seed, 8U);
  EXPECT_THAT(s.text, ::testing::HasSubstr("seed: 8\n"));
}

TEST(Loader, StoryIsTheCommentAtTheTop) {
  EXPECT_EQ(load_text("# One.\n#\n#  Two.\n" + kGoodScenario + "# Not this.\n").story, "One.\n\n Two.");
  EXPECT_EQ(load_text(kGoodScenario).story, "");
}

TEST(Loader, InputsAreReadRelativeToTheScenarioAndHashed) {
  const std::string text = good_with("synthetic { kind: MARKOV states: 16 noise: 0 }", "text_file: \"../a.txt\"");
  const std::string tale(300, 'a');
  const Scenario s = load_text(text, {}, {{"a.txt", tale}});
  ASSERT_EQ(s.inputs.size(), 1U);
  EXPECT_EQ(s.inputs[0].path, "../a.txt");
  EXPECT_EQ(s.inputs[0].sha256, sha256_hex(tale));
  EXPECT_EQ(*std::get<TextConfig>(s.train.data).file.contents, tale);
}

std::string with_reference(const std::string& path) {
  return good_with("loss: FALLS", "loss: FALLS same_weights_as: \"" + path + "\"");
}

TEST(Loader, ReferenceScenarioIsLoadedWithoutItsExpectations) {
  // Two scenarios may name each other: an expectation is about its own run.
  const Scenario s =
      load_text(with_reference("other.textproto"), {}, {{"dir/other.textproto", with_reference("s.textproto")}});
  ASSERT_TRUE(s.expect.same_weights_as);
  EXPECT_EQ(s.expect.same_weights_as->text, "other.textproto");
  ASSERT_NE(s.expect.same_weights_as->scenario, nullptr);
  EXPECT_FALSE(s.expect.same_weights_as->scenario->expect.same_weights_as);
  EXPECT_EQ(s.expect.same_weights_as->scenario->seed, 41U);
}

TEST(Loader, ReferenceScenarioTakesTheCommandLinesSeedButNoOverrides) {
  LoadOptions options;
  options.overrides = {"train.steps=40"};
  options.seed = 8;
  const Scenario s = parse_scenario(with_reference("o"), "dir/s", reader_of({{"dir/o", kGoodScenario}}), options);
  EXPECT_EQ(s.expect.same_weights_as->scenario->seed, 8U);
  EXPECT_EQ(s.expect.same_weights_as->scenario->train.steps, 20);
}

TEST(Loader, ErrorInTheReferenceScenarioNamesThatFile) {
  EXPECT_EQ(error_of(with_reference("o.textproto"), {}, {{"dir/o.textproto", good_with("steps: 20", "steps: 0")}}),
            "dir/o.textproto:6:16: train.steps: found '0'; allowed: whole numbers from 1 to 1000000000");
}

TEST(Loader, DigestAsReferenceIsKept) {
  const std::string digest(64, 'a');
  const Scenario s = load_text(with_reference("sha256:" + digest));
  EXPECT_EQ(s.expect.same_weights_as->sha256, digest);
  EXPECT_EQ(s.expect.same_weights_as->scenario, nullptr);
}

TEST(RealFiles, UnreadableOnesAreInputErrors) {
  const auto error = [](const std::string& path) -> std::string {
    try {
      load_scenario(path);
    } catch (const InputError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("no/such.textproto"), "cannot read no/such.textproto: No such file or directory");
  EXPECT_THAT(error(std::filesystem::temp_directory_path().string()), ::testing::HasSubstr("Is a directory"));
  // Nothing that could wait for a writer, or never end.
  EXPECT_EQ(error("/dev/zero"), "cannot read /dev/zero: it is no regular file");
  const std::string pipe = std::filesystem::temp_directory_path() / ("rehearse_pipe_" + std::to_string(getpid()));
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error(pipe), "cannot read " + pipe + ": it is no regular file");
  std::filesystem::remove(pipe);
  EXPECT_THROW(read_real_file(std::string(REHEARSE_SOURCE_DIR) + "/CMakeLists.txt", Bytes(10)), InputError);
}

}  // namespace
}  // namespace rehearse
