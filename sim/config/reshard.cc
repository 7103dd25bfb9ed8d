#include "sim/config/reshard.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "core/base/check.h"
#include "core/base/error.h"
#include "sim/config/canonical.h"
#include "sim/config/loader.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/text_reader.h"

namespace rehearse {
namespace {

// Computing gradients twice is in it because one rank alone cannot. Overlap and recomputation decide no bit anyway.
constexpr std::array<std::string_view, 6> kCuts = {"cluster.ranks",          "train.zero_stage",
                                                   "train.bucket",           "train.overlap",
                                                   "train.recompute_blocks", "train.guards.recompute_every"};

// What is expected of bits that the cut decides; the names of what was there.
std::vector<std::string> drop_bits(config::Expect& expect) {
  std::vector<std::string> dropped;
  if (expect.has_weights_sha256()) dropped.emplace_back("weights_sha256");
  if (expect.has_event_digest()) dropped.emplace_back("event_digest");
  if (expect.has_same_weights_as()) dropped.emplace_back("same_weights_as");
  if (expect.has_resume_from()) dropped.emplace_back("resume_from");
  expect.clear_weights_sha256();
  expect.clear_event_digest();
  expect.clear_same_weights_as();
  expect.clear_resume_from();
  return dropped;
}

}  // namespace

Scenario reshard_scenario(const Scenario& scenario, const std::vector<std::string>& overrides) {
  config::Scenario message;
  Origins origins(scenario.file_path);
  read_text(scenario.text, message, origins);
  message.mutable_train()->set_data_ranks(scenario.train.data_ranks);
  std::vector<std::string> dropped = drop_bits(*message.mutable_expect());

  const std::filesystem::path folder = std::filesystem::path(scenario.file_path).parent_path();
  const FileReader read = [&](const std::string& wanted, Bytes) -> std::string {
    for (const InputFile& input : scenario.inputs) {
      if ((folder / input.path).lexically_normal().string() == wanted) return *input.contents;
    }
    throw InputError("cannot read " + wanted + ": the scenario was loaded without it");
  };
  LoadOptions options;
  options.overrides = overrides;
  Scenario cut = parse_scenario(canonical_text(message), scenario.file_path, read, options);
  cut.story = scenario.story;
  cut.dropped_pins = std::move(dropped);
  return cut;
}

void check_reshards(const std::vector<std::string>& overrides) {
  for (const std::string& override : overrides) {
    const std::string path = override.substr(0, override.find('='));
    if (std::find(kCuts.begin(), kCuts.end(), path) != kCuts.end()) continue;
    throw InputError(
        "--set " + override + ": found " + path +
        "; allowed with --reshard, which changes how a job is cut and nothing else: cluster.ranks, "
        "train.zero_stage, train.bucket, train.overlap, train.recompute_blocks, train.guards.recompute_every");
  }
}

std::string job_sha256(const Scenario& scenario) {
  config::Scenario message;
  Origins origins(scenario.file_path);
  read_text(scenario.text, message, origins);
  auto input = scenario.inputs.begin();
  for_each_file(message, [&](google::protobuf::Message& group, const google::protobuf::FieldDescriptor& field,
                             const std::string&) {
    if (field.options().GetExtension(config::rule).file() != config::Rule::INPUT) return;
    CHECK(input != scenario.inputs.end());
    group.GetReflection()->SetString(&group, &field, "sha256:" + input->sha256);
    ++input;
  });
  message.mutable_cluster()->set_ranks(1);
  message.mutable_train()->set_data_ranks(scenario.train.data_ranks);
  message.mutable_train()->clear_zero_stage();
  message.mutable_train()->clear_bucket();
  message.mutable_train()->clear_collectives();
  message.mutable_train()->mutable_guards()->clear_recompute_every();
  return arithmetic_digest(message);
}

}  // namespace rehearse
