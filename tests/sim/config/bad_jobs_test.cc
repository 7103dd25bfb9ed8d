// Scenarios with a job { }: what they load to, and what is refused before anything runs, at the field's own place.

#include <gtest/gtest.h>

#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

const std::string kJob =
    "name: \"job\"\n"                                                                                  // 1
    "cluster { ranks: 16 }\n"                                                                          // 2
    "job { step: \"5s\" load: \"1min\" steps: 100\n"                                                   // 3
    "  checkpoint { every_steps: 10 save: \"9s\" written: \"3s\" published: \"6s\" keep: 2 } }\n"      // 4
    "faults { crash { rank: 3 time: \"50s\" } rate { preset: \"rsc1\" } }\n"                           // 5
    "expect { final_step: 100 recoveries: 1 goodput_above: 0.5 goodput_below: 0.9 lost_steps: 3 }\n";  // 6

std::string job_with(const std::string& from, const std::string& to) {
  std::string text = kJob;
  const std::size_t place = text.find(from);
  CHECK_NE(place, std::string::npos);
  return text.replace(place, from.size(), to);
}

TEST(Jobs, LoadToTheirTimes) {
  const Scenario s = load_text(kJob);
  ASSERT_TRUE(s.job.has_value());
  const JobConfig& job = *s.job;
  EXPECT_EQ(s.ranks, 16);
  EXPECT_EQ(job.step, Duration::seconds(5));
  EXPECT_EQ(job.start, Duration());
  EXPECT_EQ(job.start_again, Duration());
  EXPECT_EQ(job.load, Duration::seconds(60));
  EXPECT_EQ(job.save, Duration::seconds(9));
  EXPECT_EQ(job.written, Duration::seconds(3));
  EXPECT_EQ(job.published, Duration::seconds(6));
  EXPECT_EQ(job.steps, 100);
  EXPECT_FALSE(job.time.has_value());
  EXPECT_EQ(job.every_steps, 10);
  EXPECT_FALSE(job.every.has_value());
  EXPECT_EQ(job.keep, 2);
  EXPECT_EQ(s.faults.faults.size(), 1U);
  EXPECT_EQ(s.faults.rates.size(), 1U);
  EXPECT_EQ(s.expect.lost_steps, 3);
  EXPECT_EQ(s.expect.goodput_above, 0.5);
  EXPECT_EQ(s.expect.goodput_below, 0.9);
}

TEST(Jobs, TakeWhatIsLeftOutFromWhatIsThere) {
  const JobConfig job = *load_text(job_with("written: \"3s\" published: \"6s\" keep: 2", ""), {"job.start=2min"}).job;
  EXPECT_EQ(job.start_again, Duration::seconds(120));
  EXPECT_EQ(job.published, Duration::seconds(9));
  EXPECT_EQ(job.written, Duration::seconds(9));
  EXPECT_EQ(job.keep, 0);
}

TEST(Jobs, TakeAnotherCadenceFromTheCommandLine) {
  const JobConfig job = *load_text(kJob, {"job.checkpoint.every=10min"}).job;
  EXPECT_FALSE(job.every_steps.has_value());
  EXPECT_EQ(job.every, Duration::seconds(600));
}

TEST(Jobs, TheCanonicalTextLoadsToTheSame) {
  const Scenario s = load_text(kJob);
  const Scenario again = load_text(s.text);
  EXPECT_EQ(again.text, s.text);
  EXPECT_EQ(again.scenario_sha256, s.scenario_sha256);
  EXPECT_EQ(s.text.find("data"), std::string::npos);
}

struct BadJob {
  const char* name;
  std::string text;
  std::string error;  // after the file's name
};

void PrintTo(const BadJob& test, std::ostream* out) { *out << test.name; }

class BadJobTest : public ::testing::TestWithParam<BadJob> {};

TEST_P(BadJobTest, IsRefusedWhereItStands) {
  EXPECT_EQ(error_of(GetParam().text), "dir/s.textproto:" + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadJobTest,
    ::testing::Values(
        BadJob{"NoStep", job_with("step: \"5s\"", ""),
               "3:1: job.step: missing; allowed: a duration above 0 such as \"5us\", in quotes"},
        BadJob{"NoEnd", job_with("steps: 100", ""), "3:1: job: says not when it ends; allowed: steps, or time"},
        BadJob{"TwoEnds", job_with("steps: 100", "steps: 100 time: \"1h\""),
               "3:42: job.time: contradicts steps at dir/s.textproto:3:38; allowed: one of steps, time"},
        BadJob{"NoCadence", job_with("every_steps: 10", ""),
               "4:3: job.checkpoint: says not how often; allowed: every_steps, or every"},
        BadJob{"NoSave", job_with("save: \"9s\"", ""),
               "4:3: job.checkpoint.save: missing; allowed: a duration such as \"5us\", in quotes"},
        BadJob{"PublishedAfterTheSave", job_with("published: \"6s\"", "published: \"10s\""),
               "4:68: job.checkpoint.published: found \"10s\"; allowed: at most job.checkpoint.save, which is \"9s\""},
        BadJob{
            "WrittenAfterItIsPublished", job_with("written: \"3s\"", "written: \"7s\""),
            "4:52: job.checkpoint.written: found \"7s\"; allowed: at most job.checkpoint.published, which is \"6s\""},
        BadJob{"AModelBesideIt", kJob + "model { layers: 1 embed: 8 heads: 2 vocab: 16 context: 8 }\n",
               "7:1: model: found together with job, which stands for it; allowed: one of them"},
        BadJob{"CheckpointsOfATraining", kJob + "checkpoint { every_steps: 3 }\n",
               "7:1: checkpoint: found together with a job; allowed: job.checkpoint"},
        BadJob{"ADevice", job_with("ranks: 16", "ranks: 16 device { preset: \"h100\" }"),
               "2:1: cluster: found more than a job has; allowed: ranks, network { latency }, ranks_per_host, "
               "hosts_per_rack"},
        BadJob{"Jitter", job_with("ranks: 16", "ranks: 16 network { latency: \"1us\" jitter: \"1us\" }"),
               "2:1: cluster: found more than a job has; allowed: ranks, network { latency }, ranks_per_host, "
               "hosts_per_rack"},
        BadJob{"ABitFlip",
               job_with("crash { rank: 3 time: \"50s\" }",
                        "flip { rank: 3 at { step: 1 phase: REDUCE } target: GRADIENT tensor: \"x\" index: 0 bit: 0 }"),
               "5:10: faults.flip[0]: found in a scenario with a job, which has no ranks that compute; allowed: crash, "
               "hang, rate"},
        BadJob{"ACrashInAPhase", job_with("time: \"50s\"", "at { step: 5 phase: DATA }"),
               "5:10: faults.crash[0]: found a place in a step, which a job has not; allowed: time"},
        BadJob{"AnElasticJob", kJob + "recovery { mode: ELASTIC }\n",
               "7:18: recovery.mode: found ELASTIC in a job, whose steps take as long as is written; allowed: RESTART"},
        BadJob{"ACrashOfAHostThatIsNotThere", job_with("rank: 3", "host: 16"),
               "5:24: faults.crash[0].host: found 16; allowed: 0 to 15, as 16 ranks make 16 hosts"},
        BadJob{"ACrashOfNobody", job_with("rank: 3", "rank: 16"),
               "5:24: faults.crash[0].rank: found 16; allowed: 0 to cluster.ranks - 1 = 15"},
        BadJob{"AnExpectedLoss", job_with("recoveries: 1", "loss: FALLS"),
               "6:32: expect.loss: found in a scenario with a job, which has no ranks that compute; allowed: "
               "cause, event_digest, final_step, goodput_above, goodput_below, lost_steps, outcome, recoveries"},
        BadJob{"AnExpectedDeadlock", job_with("recoveries: 1", "outcome: DEADLOCK"),
               "6:35: expect.outcome: found DEADLOCK, which a job has not; allowed: DONE, FAILED"},
        BadJob{"AnExpectedGuard", job_with("recoveries: 1", "outcome: STOPPED"),
               "6:35: expect.outcome: found STOPPED, which a job has not; allowed: DONE, FAILED"},
        BadJob{"AHangInAPhase",
               job_with("crash { rank: 3 time: \"50s\" }", "hang { rank: 3 at { step: 5 phase: DATA } }"),
               "5:10: faults.hang[0]: found a place in a step, which a job has not; allowed: time"},
        BadJob{"UnsyncedFiles", job_with("time: \"50s\"", "time: \"50s\" kind: HOST unsynced: ALL_SURVIVE"),
               "5:59: faults.crash[0].unsynced: found in a scenario with a job, which has no ranks that compute; "
               "allowed: host, kind, rack, rank, time"},
        BadJob{"AHangForEver",
               job_with("crash { rank: 3 time: \"50s\" }", "hang { rank: 3 time: \"50s\" }") +
                   "recovery { collective_timeout: \"0ps\" }\n",
               "7:32: recovery.collective_timeout: found \"0ps\" in a job whose ranks may hang, and would for ever; "
               "allowed: more"},
        BadJob{"AHangForEverOfAPreset", job_with("rsc1", "llama3") + "recovery { collective_timeout: \"0ps\" }\n",
               "7:32: recovery.collective_timeout: found \"0ps\" in a job whose ranks may hang, and would for ever; "
               "allowed: more"},
        BadJob{"AHangThatNobodyWaitsFor",
               "name: \"job\" cluster { ranks: 1 } job { step: \"5s\" steps: 1 }\n"
               "faults { hang { rank: 0 time: \"50s\" } }\n",
               "1:30: cluster.ranks: found 1 in a job whose ranks may hang: nobody would wait for it; allowed: more"},
        BadJob{"AStepThatItHasNot", job_with("final_step: 100", "final_step: 101"),
               "6:22: expect.final_step: found 101; allowed: a step of the job, 1 to job.steps, which is 100"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rehearse
