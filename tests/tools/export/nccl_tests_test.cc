#include "tools/export/nccl_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using testing_command::Ran;
using testing_command::TemporaryDirectory;
using testing_command::write_file;

constexpr const char* kHeading =
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";

// A line as nccl-tests prints it (common.cu).
std::string row(long long size, double microseconds, double factor, int wrong = 0) {
  const double algbw = static_cast<double>(size) / microseconds / 1e3;
  char text[256];
  std::snprintf(text, sizeof text,
                "%12lld  %12lld  %8s  %6s  %6s  %7.2f  %6.2f  %6.2f  %5d  %7.2f  %6.2f  %6.2f  %5d\n", size, size / 4,
                "float", "sum", "-1", microseconds, algbw, algbw * factor, wrong, microseconds, algbw, algbw * factor,
                0);
  return text;
}

// What all_reduce_perf would print on 8 ranks of a ring with this latency and bandwidth.
std::string all_reduce_table(double latency_us, double gbps, int ranks = 8) {
  std::string text =
      "# nThread 1 nGpus 8 minBytes 1024 maxBytes 1073741824 step: 4(factor) warmup iters: 5 iters: 20\n#\n";
  text += "# Using devices\n";
  for (int rank = 0; rank < ranks; ++rank) {
    text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid   4242 on     node0 device  " + std::to_string(rank) +
            " [0x07] NVIDIA A100-SXM4-40GB\n";
  }
  text += "#\n" + std::string(kHeading);
  const double steps = 2.0 * (ranks - 1);
  for (long long size = 1024; size <= 1 << 30; size *= 4) {
    const double bytes_per_us = gbps * 1e3 / 8;
    const double time = steps * (latency_us + static_cast<double>(size) / ranks / bytes_per_us);
    text += row(size, time, steps / ranks);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 7.2\n#\n";
}

TEST(NcclTests, FindTheNetworkThatTheTimesAreOf) {
  for (const auto& [latency, gbps] : {std::pair{2.7, 200.0}, {0.6, 2400.0}, {50.0, 10.0}}) {
    const NcclTable table = read_nccl_table(all_reduce_table(latency, gbps), "table");
    EXPECT_EQ(table.ranks, 8);
    EXPECT_EQ(table.rows.size(), 11U);
    const NetworkFit fit = fit_network(table, NcclCollective::kAllReduce, table.ranks, "table");
    EXPECT_NEAR(fit.latency_us, latency, latency * 0.005);
    EXPECT_NEAR(fit.bandwidth_gbps, gbps, gbps * 0.005);
    EXPECT_LT(fit.largest_error, 0.005);
  }
}

TEST(NcclTests, AreOfTheCollectiveThatTheFileNames) {
  const std::string text = "# Collective test starting: all_gather_perf\n" + std::string(kHeading) +
                           row(4096, 10 + 4096 * 0.001, 0.75) + row(65536, 10 + 65536 * 0.001, 0.75);
  const NcclTable table = read_nccl_table(text, "table");
  EXPECT_EQ(table.collective, NcclCollective::kAllGather);
  const NetworkFit fit = fit_network(table, table.collective, 4, "table");
  // 3 (latency + S / (4 b)) = 10 + 0.001 S
  EXPECT_NEAR(fit.latency_us, 10.0 / 3, 0.02);
  EXPECT_NEAR(fit.bandwidth_gbps, 3 / (4 * 0.001) * 8 / 1e3, 0.02);
}

TEST(NcclTests, ResidualsSayWhatTheFormulaMisses) {
  std::string text = kHeading;
  // Twice the time for one size in the middle.
  for (const long long size : {1024LL, 4096LL, 16384LL, 65536LL, 262144LL}) {
    text += row(size, (20 + static_cast<double>(size) * 0.001) * (size == 16384 ? 2 : 1), 1.75);
  }
  const NetworkFit fit = fit_network(read_nccl_table(text, "table"), NcclCollective::kAllReduce, 8, "table");
  ASSERT_EQ(fit.points.size(), 5U);
  EXPECT_LT(fit.points[2].error(), -0.2);
  EXPECT_NEAR(fit.largest_error, std::abs(fit.points[2].error()), 1e-12);
  for (const NetworkFit::Point& point : fit.points) {
    EXPECT_NEAR(point.error(), (point.fitted_us - point.measured_us) / point.measured_us, 1e-12);
  }
}

TEST(NcclTests, RefuseWhatIsNoTable) {
  const auto error = [](const std::string& text) {
    try {
      read_nccl_table(text, "t.txt");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  const std::string heading = kHeading;
  EXPECT_THAT(error(""), HasSubstr("t.txt: is no output of nccl-tests"));
  EXPECT_THAT(error("hello\n"), HasSubstr("t.txt:1: is no output of nccl-tests"));
  EXPECT_THAT(error(heading), HasSubstr("the table has no rows"));
  EXPECT_THAT(error(heading + "1024 256 float\n"), HasSubstr("t.txt:4: a row has 3 columns"));
  EXPECT_THAT(error(heading + row(1024, 20, 1.75, 3)), HasSubstr("#wrong is 3"));
  EXPECT_THAT(error(heading + "1024 256 float sum -1 fast 0.05 0.09 0 20 0.05 0.09 0\n"),
              HasSubstr("time: found 'fast'"));
  EXPECT_THAT(error(heading + "1024 256 float sum -1 0 0.05 0.09 0 20 0.05 0.09 0\n"), HasSubstr("allowed: above 0"));
  EXPECT_THAT(error(heading + "1048576 256 float sum -1 20 1.00 1.75 0 20 0.05 0.09 0\n"), HasSubstr("algbw is 1.00"));
  EXPECT_THAT(error(heading + "-5 256 float sum -1 20 1.00 1.75 0 20 0.05 0.09 0\n"), HasSubstr("size: found '-5'"));
  EXPECT_THAT(error("# Collective test starting: sendrecv_perf\n"), HasSubstr("is of sendrecv_perf; allowed"));
}

TEST(NcclTests, RefuseAFitThatIsNone) {
  const auto error = [](const std::string& rows, int ranks) {
    try {
      fit_network(read_nccl_table(kHeading + rows, "t.txt"), NcclCollective::kAllReduce, ranks, "t.txt");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_THAT(error(row(65536, 20, 1.75), 8), HasSubstr("one size alone"));
  EXPECT_THAT(error(row(65536, 20, 1.75) + row(131072, 20, 1.75) + row(1 << 20, 15, 1.75), 8),
              HasSubstr("does not fit"));
  // Of 8 ranks, and not of 4.
  EXPECT_THAT(error(row(65536, 20, 1.75) + row(1 << 20, 40, 1.75), 4), HasSubstr("is no all_reduce on 4 ranks"));
}

TEST(ImportNcclTests, GivesANetworkThatAScenarioTakes) {
  const TemporaryDirectory directory;
  const std::string file = directory / "all_reduce.txt";
  write_file(file, all_reduce_table(2.7, 200));
  const Ran unnamed = testing_command::rehearse({"import", "nccl-tests", file});
  EXPECT_EQ(unnamed.code, 2);
  EXPECT_THAT(unnamed.err, HasSubstr("add --collective all_reduce"));
  const std::vector<std::string> words = {"import", "nccl-tests", file, "--collective", "all_reduce"};
  const Ran text = testing_command::rehearse(words);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("all_reduce on 8 ranks"));
  std::vector<std::string> json_words = words;
  json_words.insert(json_words.end(), {"--format", "json"});
  const Json json = parse_json(testing_command::rehearse(json_words).out);
  EXPECT_NEAR(json["latency_us"].get<double>(), 2.7, 0.02);
  EXPECT_EQ(json["points"].size(), 11U);
  std::string scenario = testing_command::small_scenario_with("expect { final_step: 6 }\n");
  const auto network = json["network"].get<std::string>();
  scenario.replace(scenario.find("{ ranks: 2 }"), 12, "{ ranks: 2 " + network + " }");
  write_file(directory / "s.textproto", scenario);
  const Ran ran = testing_command::rehearse({"run", directory / "s.textproto"});
  EXPECT_EQ(ran.code, 0) << network << ran.err;
}

TEST(ImportNcclTests, RefusesOtherWords) {
  EXPECT_THAT(testing_command::rehearse({"import", "gloo", "x"}).err, HasSubstr("allowed: nccl-tests FILE"));
  EXPECT_THAT(testing_command::rehearse({"import", "nccl-tests", "x", "--ranks", "1"}).err, HasSubstr("allowed: 2 to"));
  EXPECT_THAT(testing_command::rehearse({"import", "nccl-tests"}).err, HasSubstr("takes nccl-tests FILE"));
  EXPECT_EQ(testing_command::rehearse({"import", "nccl-tests", "/no/such/file"}).code, 2);
}

}  // namespace
}  // namespace rehearse
