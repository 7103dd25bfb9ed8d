#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "core/base/error.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/verify.h"
#include "tests/determinism/resumed_job.h"

// D4: a checkpoint holds everything that influences what follows. Each part of it is dropped in turn, in a job where it
// matters, and sealed again; the run that continues from it must differ, and the first state that differs must be what
// was dropped. The moments are in checkpoint_moments_test.cc.

namespace rehearse::testing_determinism {
namespace {

using ::testing::HasSubstr;

// Every checkpoint of the scenarios that have some, continued to the end: no state differs, and none is missing.
TEST(CheckpointParts, WithAllOfThemEveryStateIsThatOfTheUninterruptedRun) {
  int checkpoints = 0;
  std::int64_t states = 0;
  for (const char* name : {"capstone", "seven_ranks", "one_rank"}) {
    const Scenario scenario = shipped(name, {"checkpoint.keep=0", "checkpoint.every_steps=2"});
    const RecordedRun whole = run_recorded(scenario);
    for (const CheckpointRecord& checkpoint : whole.record.checkpoints) {
      SCOPED_TRACE(std::string(name) + ", " + checkpoint.directory);
      const RecordedRun continued = run_recorded(scenario, EditedCheckpoint(checkpoint).as_step(checkpoint.step));
      const Wanted wanted = [&](const EventRecord& state) {
        return state.step > checkpoint.step ||
               (state.step == checkpoint.step && state.component == StateComponent::kParameters);
      };
      const auto difference = first_difference_of(whole, continued, wanted);
      EXPECT_FALSE(difference.has_value()) << text_of(difference);
      EXPECT_EQ(count_states(continued, wanted), count_states(whole, wanted));
      EXPECT_EQ(continued.record.weights_sha256, whole.record.weights_sha256);
      states += count_states(continued, wanted);
      ++checkpoints;
    }
  }
  EXPECT_EQ(checkpoints, 10 + 6 + 5);
  std::printf("%d checkpoints continued, %lld states equal\n", checkpoints, static_cast<long long>(states));
}

// One element of each tensor, the last, in master weights and model alike.
TEST(CheckpointParts, OneMasterWeightIsSeenInTheTensorItBelongsTo) {
  const ResumedJob job("capstone", {}, 10);
  const Manifest manifest = job.edit().manifest;
  std::int64_t flat = 0;
  int edited_elements = 0;
  for (std::size_t t = 0; t < manifest.parameters.size(); ++t) {
    SCOPED_TRACE(manifest.parameters[t].name);
    flat += manifest.parameters[t].numel();
    const ShardPlace place = place_of(manifest, flat - 1);
    EditedCheckpoint edited = job.edit();
    EditedCheckpoint::ShardState state = edited.shard(place.rank);
    float& master = state.master[static_cast<std::size_t>(place.index)];
    auto model = edited.model();
    ASSERT_EQ(model.at(manifest.parameters[t].name).back(), master);
    master += 0.25F;
    edited.set_shard(place.rank, state);

    // The shards and the model must agree: whoever reads a directory looks.
    const ResumeFrom one_sided = edited.as_step(10);
    CheckpointFiles views;
    for (const auto& [name, data] : one_sided.files) views.emplace(name, data.bytes());
    std::string refusal = "not refused";
    try {
      verify_checkpoint(views, "edited");
    } catch (const InputError& error) {
      refusal = error.what();
    }
    EXPECT_THAT(refusal, HasSubstr("\"" + manifest.parameters[t].name + "\" differs from the master weights"));

    model.at(manifest.parameters[t].name).back() = master;
    edited.set_model(model);
    expect_named(job.difference_at_start(edited.as_step(10)), 10, StateComponent::kParameters, 0, static_cast<int>(t));
    const auto after = job.difference_after(edited.as_step(10));
    ASSERT_TRUE(after.has_value());
    EXPECT_EQ(after->step, 11) << text_of(after);
    ++edited_elements;
  }
  EXPECT_EQ(edited_elements, static_cast<int>(manifest.parameters.size()));
  std::printf("%d master weights changed\n", edited_elements);
}

TEST(CheckpointParts, AnotherStepIsRefusedWhereTheDirectoryOrTheCountersSayOtherwise) {
  const ResumedJob job("capstone", {}, 10);
  EditedCheckpoint edited = job.edit();
  edited.manifest.step = 11;
  EXPECT_THAT(job.refusal_of(edited.as_step(10)), HasSubstr("the manifest's step, schedule or guards are not those"));
  EXPECT_THAT(job.refusal_of(job.edit().as_step(11)),
              HasSubstr("the manifest's step, schedule or guards are not those"));
}

TEST(CheckpointParts, AStepThatIsShortIsRefusedByAppliedSteps) {
  const ResumedJob job("capstone", {}, 10);
  EditedCheckpoint edited = job.edit();
  edited.edit_manifest_text("\"step\": 10,", "\"step\": 9,");
  EXPECT_THAT(job.refusal_of(edited.as_step(9)), HasSubstr("applied_steps: found 10, allowed is at most step 9"));
}

// Renamed as well, so that name and manifest agree: the steps after it have the batches of the steps before.
TEST(CheckpointParts, AStepTooFarIsSeenInTheBatchIndex) {
  const ResumedJob job("capstone", {}, 10);
  EditedCheckpoint edited = job.edit();
  edited.manifest.step = 11;
  expect_named(job.difference_after(edited.as_step(11)), 12, StateComponent::kBatchIndex, 0, -1);
}

TEST(CheckpointParts, BatchIndexIsSeenAndTrainsOnOtherData) {
  const ResumedJob job("capstone", {}, 10);
  for (const std::int64_t index : {0, 9, 11, 1000}) {
    SCOPED_TRACE(index);
    EditedCheckpoint edited = job.edit();
    ASSERT_EQ(edited.manifest.batch_index, 10);
    edited.manifest.batch_index = index;
    const ResumeFrom resume = edited.as_step(10);
    expect_named(job.difference_after(resume), 11, StateComponent::kBatchIndex, 0, -1);
    const RecordedRun continued = run_recorded(job.scenario(), resume);
    EXPECT_NE(continued.record.weights_sha256, job.run().record.weights_sha256);
    EXPECT_NE(continued.record.steps.front().report.loss, job.run().record.steps[10].report.loss);
  }
}

// With a constant learning rate, Adam's bias correction is what it decides.
TEST(CheckpointParts, AppliedStepsAreSeenAndDecideTheBiasCorrection) {
  const ResumedJob job("capstone", {}, 10);
  for (const std::int64_t applied : {0, 9}) {
    SCOPED_TRACE(applied);
    EditedCheckpoint edited = job.edit();
    ASSERT_EQ(edited.manifest.applied_steps, 10);
    edited.manifest.applied_steps = applied;
    const ResumeFrom resume = edited.as_step(10);
    expect_named(job.difference_after(resume), 11, StateComponent::kAppliedSteps, 0, -1);
    const RecordedRun continued = run_recorded(job.scenario(), resume);
    EXPECT_NE(continued.record.weights_sha256, job.run().record.weights_sha256);
    EXPECT_EQ(continued.record.steps.front().report.loss, job.run().record.steps[10].report.loss);
    EXPECT_NE(continued.record.steps.front().parameters, job.run().record.steps[10].parameters);
  }
}

TEST(CheckpointParts, AppliedStepsAreSeenInTheLearningRateOfAWarmUp) {
  const ResumedJob job("capstone", {"train.schedule.warmup_steps=15", "train.schedule.cosine=true"}, 10);
  EditedCheckpoint edited = job.edit();
  edited.manifest.applied_steps = 9;
  expect_named(job.difference_after(edited.as_step(10)), 11, StateComponent::kLearningRate, 0, -1);
}

TEST(CheckpointParts, AnotherScheduleIsRefused) {
  const ResumedJob job("capstone",
                       {"train.schedule.warmup_steps=15", "train.lr_spike.step=12", "train.lr_spike.factor=2"}, 10);
  const std::vector<std::function<void(ScheduleRecord&)>> edits = {
      [](ScheduleRecord& schedule) { schedule.lr = 0.004; },
      [](ScheduleRecord& schedule) { schedule.warmup_steps = 0; },
      [](ScheduleRecord& schedule) { schedule.cosine = true; },
      [](ScheduleRecord& schedule) { schedule.min_lr = 0.001; },
      [](ScheduleRecord& schedule) { schedule.total_steps = 21; },
      [](ScheduleRecord& schedule) { schedule.lr_spike.reset(); },
      [](ScheduleRecord& schedule) { schedule.lr_spike->factor = 3; },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    EditedCheckpoint edited = job.edit();
    edits[i](edited.manifest.schedule);
    EXPECT_THAT(job.refusal_of(edited.as_step(10)), HasSubstr("the manifest's step, schedule or guards are not those"))
        << i;
  }
}

// Data, initial weights and network jitter are functions of their keys: no stream is drawn from in sequence, so none
// has a position to save. Whoever adds one to the manifest adds it to the tests above.
TEST(CheckpointParts, NoRandomStreamIsDrawnFromInSequence) {
  int manifests = 0;
  for (const char* name : {"capstone", "seven_ranks", "one_rank"}) {
    const RecordedRun whole = run_recorded(shipped(name, {"checkpoint.every_steps=1", "data.synthetic.noise=0.1"}));
    for (const CheckpointRecord& checkpoint : whole.record.checkpoints) {
      EXPECT_TRUE(EditedCheckpoint(checkpoint).manifest.random_streams.empty()) << checkpoint.directory;
      ++manifests;
    }
  }
  EXPECT_GT(manifests, 6);
}

TEST(CheckpointParts, ARandomStreamThatNobodyDrawsFromIsRefused) {
  const ResumedJob job("capstone", {}, 10);
  EditedCheckpoint edited = job.edit();
  RandomStreamRecord stream;
  stream.name = "dropout";
  stream.key = 7;
  stream.position = 3;
  edited.manifest.random_streams.push_back(stream);
  EXPECT_THAT(job.refusal_of(edited.as_step(10)), HasSubstr("random stream \"dropout\""));
}

}  // namespace
}  // namespace rehearse::testing_determinism
