#include "core/formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace rehearse {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> file_of(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  const std::uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

void expect_refused(const std::vector<std::byte>& bytes, const std::string& part_of_message) {
  try {
    SafetensorsFile::parse(bytes, "weights.safetensors");
    ADD_FAILURE() << "accepted; expected: " << part_of_message;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("weights.safetensors: "));
    EXPECT_THAT(error.what(), HasSubstr(part_of_message));
  }
}

void expect_refused(const std::string& header, std::size_t data_bytes, const std::string& part_of_message) {
  expect_refused(file_of(header, data_bytes), part_of_message);
}

std::vector<std::byte> small_file() {
  static const float a[6] = {1, 2, 3, 4, 5, 6};
  static const double b[1] = {7};
  const std::vector<TensorView> tensors = {
      {"z", DType::kFloat32, {2, 3}, std::as_bytes(std::span(a))},
      {"empty", DType::kInt32, {0, 4}, {}},
      {"b \"quoted\" \xc3\xa9", DType::kFloat64, {}, std::as_bytes(std::span(b))},
  };
  return write_safetensors(tensors, {{"step", "10"}});
}

TEST(Safetensors, WhatIsWrittenReadsBack) {
  const auto bytes = small_file();
  const auto file = SafetensorsFile::parse(bytes, "x");
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[0].name, "z");
  EXPECT_EQ(file.metadata().at("step"), "10");
  const TensorView* z = file.find("z");
  ASSERT_NE(z, nullptr);
  EXPECT_EQ(z->shape, (std::vector<std::int64_t>{2, 3}));
  float last = 0;
  std::memcpy(&last, z->data.data() + 20, 4);
  EXPECT_EQ(last, 6);
  const TensorView* b = file.find("b \"quoted\" \xc3\xa9");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, DType::kFloat64);
  EXPECT_TRUE(b->shape.empty());
  EXPECT_EQ(file.find("missing"), nullptr);
}

TEST(Safetensors, ALayoutIsGivenByItsInput) {
  EXPECT_EQ(small_file(), small_file());
  const float one = 1;
  const std::vector<TensorView> tensors = {{"a", DType::kFloat32, {1}, std::as_bytes(std::span(&one, 1))}};
  const auto bytes = write_safetensors(tensors);
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()) + 8, header.size()), header);
  EXPECT_EQ((bytes.size() - 4) % 8, 0U);
}

TEST(Safetensors, AnEmptyFileHasNoTensors) {
  EXPECT_TRUE(SafetensorsFile::parse(write_safetensors({}), "x").tensors().empty());
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const auto bytes = small_file();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> shorter(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THROW(SafetensorsFile::parse(shorter, "x"), InputError) << size;
  }
}

TEST(Safetensors, ByteFlipsNeverCrash) {
  const auto bytes = small_file();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      auto flipped = bytes;
      flipped[i] ^= static_cast<std::byte>(1 << bit);
      try {
        SafetensorsFile::parse(flipped, "x");
      } catch (const InputError&) {  // many flips only change a value or a name
      }
    }
  }
}

TEST(Safetensors, BadFramesAreRefused) {
  expect_refused(std::vector<std::byte>(7), "truncated: 7 bytes");
  auto bytes = file_of("{}", 0);
  bytes[0] = std::byte{3};
  expect_refused(bytes, "the header takes 3 bytes, but only 2 follow");
  bytes[7] = std::byte{0x80};
  expect_refused(bytes, "over the limit of 100000000");
  expect_refused("", 0, "begin with '{'");
  expect_refused(" {}", 0, "begin with '{'");
  expect_refused("{}", 3, "3 trailing bytes");
}

TEST(Safetensors, BadJsonIsRefused) {
  expect_refused("{", 0, "not JSON");
  expect_refused("{} x", 0, "not JSON");
  expect_refused("{\"\xff\":1}", 0, "not JSON in UTF-8");
  expect_refused(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":1})", 0, "\"a\" appears twice");
  expect_refused(R"({"a":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 0,
                 "\"dtype\" appears twice");
  expect_refused(R"({"a":{"b":{"c":{}}}})", 0, "nested");
}

TEST(Safetensors, BadMetadataIsRefused) {
  expect_refused(R"({"__metadata__":[]})", 0, "__metadata__ must be an object");
  expect_refused(R"({"__metadata__":{"a":1}})", 0, "must hold a string, found 1");
}

TEST(Safetensors, BadEntriesAreRefused) {
  expect_refused(R"({"a":3})", 0, "tensor \"a\" must be an object");
  expect_refused(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4, "has no dtype");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4, "unknown key \"x\"");
  expect_refused(R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,4]}})", 4, "dtype \"F8\"; allowed are F32");
  expect_refused(R"({"a":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})", 4, "dtype 32");
  expect_refused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4, "found -1");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4, "found 1.0");
  expect_refused(R"({"a":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4]}})", 4, "shape must hold");
  expect_refused(R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}})", 4, "shape must hold");
  expect_refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})", 4, "63-bit");
  expect_refused(R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", 4, "must be a list");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})", 4, "[begin, end]");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4, "[begin, end]");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4, "hold 4 bytes, but shape [2]");
}

TEST(Safetensors, OverlapsGapsAndDataPastTheEndAreRefused) {
  const std::string a = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)";
  expect_refused(a + R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8, "tensors overlap: tensor \"b\"");
  expect_refused(a + R"("b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})", 16, "a gap between tensors");
  expect_refused(a + R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 8, "ends at data byte 12");
}

TEST(Safetensors, AWriterRefusesNamesThatAreNotUtf8) {
  const std::vector<TensorView> tensors = {{"\xff", DType::kFloat32, {0}, {}}};
  EXPECT_THROW(write_safetensors(tensors), InputError);
}

}  // namespace
}  // namespace rehearse
