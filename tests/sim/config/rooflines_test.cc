// Devices with a roofline: presets, what may be written besides, what is refused, and how near they come to published
// times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/model/block_kernels.h"
#include "tests/sim/config/loading.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

std::string with(const std::string& roofline) {
  return good_with("ranks: 4", "ranks: 4 device { roofline { " + roofline + " } }");
}

Roofline roofline_of(const std::string& text) { return load_text(with(text)).device.roofline.value(); }
Roofline preset(const std::string& name) { return roofline_of("preset: \"" + name + "\""); }

TEST(Rooflines, PresetsHaveTheirDataSheets) {
  EXPECT_EQ(preset("cpu").float32.per_second(), 117'000'000'000);
  EXPECT_EQ(preset("cpu").bfloat16.per_second(), 0);
  EXPECT_EQ(preset("a100").bfloat16.per_second(), 312'000'000'000'000);
  EXPECT_EQ(preset("a100").memory_bandwidth.bits_per_second(), std::int64_t{8} * 2'039'000'000'000);
  EXPECT_EQ(preset("h100").float32.per_second(), 67'000'000'000'000);
  EXPECT_EQ(preset("h100").float16.per_second(), 989'000'000'000'000);
  EXPECT_EQ(preset("h200").memory_bandwidth.bits_per_second(), std::int64_t{8} * 4'800'000'000'000);
  EXPECT_EQ(preset("h200").multiprocessors, 132);
}

TEST(Rooflines, WhatIsWrittenBesidesAPresetCounts) {
  const std::string text = with("preset: \"h100\" memory_bandwidth: \"2400GB/s\" launch_overhead: \"0ps\" fill: 0");
  const Scenario s = load_text(text);
  EXPECT_EQ(s.device.roofline->memory_bandwidth.bits_per_second(), std::int64_t{8} * 2'400'000'000'000);
  EXPECT_EQ(s.device.roofline->launch_overhead, Duration());
  EXPECT_EQ(s.device.roofline->fill, 0);
  EXPECT_EQ(s.device.roofline->tile_n, 256);
  const Scenario again = load_text(s.text);
  EXPECT_EQ(again.text, s.text);
  EXPECT_EQ(again.scenario_sha256, s.scenario_sha256);
  EXPECT_EQ(s.arithmetic_sha256, load_text(kGoodScenario).arithmetic_sha256);
}

TEST(Rooflines, WithoutAPresetEveryOperationCountsAsItIs) {
  const Roofline roofline = roofline_of("float32: \"1TFLOPS\" memory_bandwidth: \"1GB/s\"");
  DeviceKernel kernel;
  kernel.m = 10;
  kernel.n = 20;
  kernel.k = 30;
  EXPECT_EQ(roofline.time_of(kernel), Duration::picoseconds(12'000));
}

TEST(Rooflines, BandwidthsOfBytesAreThoseOfBits) {
  const std::string bits = load_text(with("float32: \"1TFLOPS\" memory_bandwidth: \"26800Gbps\"")).text;
  EXPECT_EQ(load_text(with("float32: \"1TFLOPS\" memory_bandwidth: \"3350GB/s\"")).text, bits);
  EXPECT_EQ(load_text(with("float32: \"1TFLOPS\" memory_bandwidth: \"3.35TB/s\"")).text, bits);
}

TEST(Rooflines, AnOptionWithAPresetOfWhichNothingWouldCountIsRefused) {
  const std::string written = load_text(with("preset: \"a100\"")).text;
  for (const char* name : {"cpu", "h100"}) {
    EXPECT_THAT(error_of(written, {"cluster.device.roofline.preset=" + std::string(name)}),
                HasSubstr("nothing of it would count"));
  }
}

struct BadRoofline {
  const char* name;
  std::string text;
  std::string error;
};

class BadRooflines : public testing::TestWithParam<BadRoofline> {};

TEST_P(BadRooflines, NamesTheFieldAndWhatIsAllowed) {
  EXPECT_THAT(error_of(GetParam().text), HasSubstr(GetParam().error));
}

std::string half_on(const std::string& roofline) {
  return good_with("context: 16", "context: 16 dtype: FLOAT16")
      .replace(0, 0, "mode: COST ")
      .replace(std::string("mode: COST name: \"good\"\nseed: 41\ncluster { ").size(), 0,
               "device { roofline { " + roofline + " } } ");
}

const std::string kPath = "cluster.device.roofline";

INSTANTIATE_TEST_SUITE_P(
    Fields, BadRooflines,
    testing::Values(
        BadRoofline{"UnknownPreset", with("preset: \"h101\""),
                    "3:48: " + kPath + ".preset: found \"h101\"; did you mean 'h100'"},
        BadRoofline{"NoPeak", with("memory_bandwidth: \"1GB/s\""),
                    "3:29: " + kPath + ".float32: missing; allowed: a flop rate such as \"19.5TFLOPS\", or a preset"},
        BadRoofline{"NoBandwidth", with("float32: \"1TFLOPS\""),
                    "3:29: " + kPath + ".memory_bandwidth: missing; allowed: a bandwidth such as \"2039GB/s\""},
        BadRoofline{"NoPeakOfTheModelsType", half_on("preset: \"cpu\""),
                    kPath + ".float16: missing, but model.dtype is FLOAT16; allowed: a flop rate such as"},
        BadRoofline{"NegativeBandwidth", with("preset: \"cpu\" memory_bandwidth: \"-1GB/s\""),
                    kPath + ".memory_bandwidth: found \"-1GB/s\", which is negative"},
        BadRoofline{"ZeroBandwidth", with("preset: \"cpu\" memory_bandwidth: \"0GB/s\""),
                    kPath + ".memory_bandwidth: found \"0GB/s\"; allowed: a bandwidth above 0"},
        BadRoofline{"NoUnit", with("preset: \"cpu\" float32: \"100\""),
                    kPath + ".float32: found \"100\", which has no unit"},
        BadRoofline{"HugePeak", with("preset: \"cpu\" float32: \"100000PFLOPS\""),
                    "which is more than 64 bits of FLOPS hold"},
        BadRoofline{"Efficiency", with("preset: \"cpu\" efficiency: 1.5"),
                    kPath + ".efficiency: found '1.5'; allowed: numbers from 1e-06 to 1"},
        BadRoofline{"ZeroEfficiency", with("preset: \"cpu\" efficiency: 0"),
                    kPath + ".efficiency: found '0'; allowed: numbers from 1e-06 to 1"},
        BadRoofline{"Decimals", with("preset: \"cpu\" efficiency: 0.1234567891"),
                    kPath + ".efficiency: found more than 9 decimals; allowed: at most 9"},
        BadRoofline{"NoMultiprocessors", with("preset: \"cpu\" multiprocessors: 0"),
                    kPath + ".multiprocessors: found '0'"},
        BadRoofline{"Tile", with("preset: \"cpu\" tile_m: 100000"), kPath + ".tile_m: found '100000'"},
        BadRoofline{"Fill", with("preset: \"cpu\" fill: -1"), kPath + ".fill: found '-1'"},
        BadRoofline{"Launch", with("preset: \"cpu\" launch_overhead: \"1\""), kPath + ".launch_overhead: found \"1\""}),
    [](const auto& test) { return test.param.name; });

double tflops(const Roofline& roofline, std::int64_t m, std::int64_t n, std::int64_t k) {
  DeviceKernel kernel;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.dtype = DType::kBFloat16;
  const Duration time = roofline.time_of(kernel) - roofline.launch_overhead;
  return 2e-12 * static_cast<double>(m * n) * static_cast<double>(k) / time.to_seconds();
}

// What the efficiencies were fitted to (sim/config/roofline_presets.cc): the largest rates that a search over shapes
// found. Sizes that do not fit tiles are slower, as they are in truth.
TEST(Rooflines, ReachTheLargestRatesThatWereMeasured) {
  EXPECT_NEAR(tflops(preset("a100"), 1024, 10240, 5120), 271.2, 0.001);
  EXPECT_NEAR(tflops(preset("h100"), 2048, 2048, 13312), 794.5, 0.001);
  EXPECT_LT(tflops(preset("a100"), 1024, 10369, 5120), 250);
  EXPECT_LT(tflops(preset("a100"), 1025, 10240, 5120), 250);
}

// Korthikanti et al. (arXiv:2205.05198), table 4: a layer of the 22B model (E 6144, 64 heads, T 2048, 4 sequences) on
// 8 A100s with tensor parallelism took 7.7 ms forward and 11.9 ms backward (its reduction beside the gradients of
// weights). Nothing was fitted to it. Each direction sums R E elements twice over 8 ranks, at the 235 GB/s (busbw) that
// a ring reaches on such a host.
TEST(Rooflines, ALayerTakesFourFifthsOfThePublishedTime) {
  BlockShape layer;
  layer.batch = 4;
  layer.positions = 2048;
  layer.embed = 6144;
  layer.heads = 64 / 8;
  layer.kv_heads = 64 / 8;
  layer.head_dim = 96;
  layer.ffn = 4 * 6144 / 8;
  layer.attention_bias = true;
  layer.dtype = DType::kFloat16;
  layer.gradients = DType::kFloat32;
  const Roofline a100 = preset("a100");
  const auto milliseconds = [&](const std::vector<DeviceKernel>& kernels) {
    return a100.time_of(kernels).to_seconds() * 1e3;
  };
  const double sums = 2 * (2.0 * 7 / 8) * (4.0 * 2048 * 6144 * 2) / 235e9 * 1e3;
  const double forward = milliseconds(block_forward_kernels(layer)) + sums;
  const double backward = milliseconds(block_backward_kernels(layer));
  RecordProperty("forward_us", static_cast<int>(forward * 1e3));
  RecordProperty("backward_us", static_cast<int>(backward * 1e3));
  // A bound: 17% and 22% below. What is not in it: dropout, which that job had at three places of a layer, memory that
  // is slower than its data sheet, and products that are slower than the best that a search finds.
  EXPECT_NEAR(forward, 6.36, 0.01);
  EXPECT_NEAR(backward, 9.33, 0.01);
  EXPECT_LT(forward, 7.7);
  EXPECT_LT(backward, 11.9);
}

}  // namespace
}  // namespace rehearse
