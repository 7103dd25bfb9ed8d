#include "tools/export/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/formats/safetensors.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;
using testing_command::Ran;
using testing_command::read_file;
using testing_command::shipped_scenario;
using testing_command::TemporaryDirectory;

struct Npy {
  std::string header;
  std::string data;
};

// By NEP 1: magic, version, the header's size as a little-endian 16-bit number, the header, data.
Npy read_npy(const std::string& file) {
  EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t size = static_cast<unsigned char>(file[8]) + 256U * static_cast<unsigned char>(file[9]);
  EXPECT_EQ((10 + size) % 64, 0U);
  Npy npy{file.substr(10, size), file.substr(10 + size)};
  EXPECT_EQ(npy.header.back(), '\n');
  return npy;
}

TEST(Npy, SaysTypeAndShapeAsPythonWritesThem) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  TensorView tensor;
  tensor.data = std::as_bytes(std::span(values));
  tensor.shape = {2, 3};
  const Npy matrix = read_npy(write_npy(tensor));
  EXPECT_THAT(matrix.header, testing::StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  ASSERT_EQ(matrix.data.size(), 24U);
  EXPECT_EQ(std::memcmp(matrix.data.data(), values.data(), 24), 0);
  tensor.shape = {6};
  EXPECT_THAT(read_npy(write_npy(tensor)).header, HasSubstr("'shape': (6,), }"));
  tensor.shape = {};
  tensor.data = tensor.data.first(4);
  EXPECT_THAT(read_npy(write_npy(tensor)).header, HasSubstr("'shape': (), }"));
}

TEST(Npy, HasALetterForEachType) {
  TensorView tensor;
  tensor.shape = {0};
  tensor.dtype = DType::kFloat64;
  EXPECT_THAT(write_npy(tensor), HasSubstr("'<f8'"));
  tensor.dtype = DType::kInt32;
  EXPECT_THAT(write_npy(tensor), HasSubstr("'<i4'"));
}

TEST(InspectNpy, WritesATensorOfACheckpoint) {
  const TemporaryDirectory directory;
  ASSERT_EQ(testing_command::rehearse({"run", shipped_scenario("capstone"), "--out", directory / "out"}).code, 0);
  const std::string model = directory / "out/checkpoints/step_000020/model.safetensors";
  const Ran ran =
      testing_command::rehearse({"inspect", model, "--tensor", "pos_embed.weight", "--npy", directory / "pos.npy"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string contents = read_file(model);
  const SafetensorsFile file = SafetensorsFile::parse(std::as_bytes(std::span(contents)), model);
  const TensorView* tensor = file.find("pos_embed.weight");
  ASSERT_NE(tensor, nullptr);
  const Npy npy = read_npy(read_file(directory / "pos.npy"));
  EXPECT_THAT(npy.header, HasSubstr("'shape': (16, 32), }"));
  ASSERT_EQ(npy.data.size(), tensor->data.size());
  EXPECT_EQ(std::memcmp(npy.data.data(), tensor->data.data(), npy.data.size()), 0);

  const auto error = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "inspect");
    const Ran refused = testing_command::rehearse(words);
    EXPECT_EQ(refused.code, 2);
    return refused.err;
  };
  const std::string out = directory / "x.npy";
  EXPECT_THAT(error({model, "--tensor", "pos_embed", "--npy", out}), HasSubstr("has no tensor 'pos_embed'"));
  EXPECT_THAT(error({model, "--tensor", "pos_embed.weight"}), HasSubstr("go together"));
  EXPECT_THAT(error({directory / "out", "--tensor", "a", "--npy", out}), HasSubstr("is a directory"));
  EXPECT_THAT(error({shipped_scenario("ddp"), "--tensor", "a", "--npy", out}), HasSubstr("is none"));
}

}  // namespace
}  // namespace rehearse
