#include "tests/core/checkpoint/tiny_checkpoint.h"

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/checkpoint/names.h"
#include "core/checkpoint/shard_file.h"

namespace rehearse {
namespace {

std::string as_text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

FileRecord record_of(const std::string& name, const std::string& contents) {
  FileRecord record;
  record.file = name;
  record.sha256 = sha256_hex(contents);
  record.bytes = static_cast<std::int64_t>(contents.size());
  return record;
}

}  // namespace

TinyCheckpoint::TinyCheckpoint() {
  manifest.world_size = 2;
  manifest.layout.data = 2;
  manifest.zero_stage = 1;
  manifest.step = 10;
  manifest.batch_index = 11;
  manifest.applied_steps = 9;
  manifest.schedule.lr = 0.005;
  manifest.schedule.cosine = true;
  manifest.schedule.min_lr = 1e-05;
  manifest.schedule.total_steps = 20;
  manifest.schedule.lr_spike = LrSpikeRecord{12, 1000.0};
  manifest.arithmetic_sha256 = sha256_hex("arithmetic");
  manifest.random_streams = {RandomStreamRecord{"dropout", 0xfedcba9876543210U, 7}};
  manifest.parameters = {{"embed.weight", {5, 7}}, {"ln.bias", {4}}, {"head.weight", {3, 6}}};
  manifest.units = {{"ln.bias", 2, 22, 32}, {"embed.weight", 1, 35, 64}};
  manifest.shards.resize(2);
  manifest.shards[0].ranges = {ShardRange(0, 0, 16), ShardRange(1, 0, 32)};
  manifest.shards[1].ranges = {ShardRange(0, 16, 6), ShardRange(1, 32, 3)};
  for (int i = 0; i < 57; ++i) {
    master.push_back(static_cast<float>(i) + 0.5F);
    m.push_back(static_cast<float>(i) * 0.01F);
    v.push_back(static_cast<float>(i) * 0.0001F);
  }
  for (int rank = 0; rank < 2; ++rank) {
    ShardRecord& shard = manifest.shards[static_cast<std::size_t>(rank)];
    std::vector<float> own[3];
    for (const ShardRange& range : shard.ranges) {
      const std::int64_t begin = (range.unit == 0 ? 35 : 0) + range.param_shard_offset;
      for (int part = 0; part < 3; ++part) {
        const std::vector<float>& all = part == 0 ? master : part == 1 ? m : v;
        own[part].insert(own[part].end(), all.begin() + begin, all.begin() + begin + range.param_shard_numel);
      }
    }
    const StateView state(std::as_bytes(std::span(own[0])), std::as_bytes(std::span(own[1])),
                          std::as_bytes(std::span(own[2])));
    const std::string contents = as_text(write_shard_file(DType::kFloat32, state));
    shard.rank = rank;
    shard.coordinates.data = rank;
    shard.file = record_of(shard_file_name(rank), contents);
    files[shard.file.file] = contents;
  }
  std::vector<TensorView> tensors;
  std::size_t offset = 0;
  for (const ParameterRecord& parameter : manifest.parameters) {
    const auto count = static_cast<std::size_t>(parameter.numel());
    tensors.push_back(
        {parameter.name, DType::kFloat32, parameter.shape, std::as_bytes(std::span(master).subspan(offset, count))});
    offset += count;
  }
  files[kModelFile] = as_text(write_model_file(tensors));
  manifest.model = record_of(kModelFile, files[kModelFile]);
  files[kScenarioFile] = "name: \"tiny\"\n";
  files["inputs/00_text.txt"] = "to be or not to be\n";
  run_state.simulated_time = TimePoint::at(Duration::microseconds(1234));
  run_state.generation = 1;
  run_state.scenario_sha256 = sha256_hex("scenario");
  run_state.scenario = record_of(kScenarioFile, files[kScenarioFile]);
  InputRecord text;
  text.path = "data/text.txt";
  text.sha256 = sha256_hex(files["inputs/00_text.txt"]);
  text.bytes = static_cast<std::int64_t>(files["inputs/00_text.txt"].size());
  text.copy = "inputs/00_text.txt";
  InputRecord large;
  large.path = "/data/tokens.safetensors";
  large.sha256 = sha256_hex("tokens");
  large.bytes = kInputCopyLimit + 1;
  run_state.inputs = {text, large};
  seal();
}

void TinyCheckpoint::seal() {
  files[kManifestFile] = write_manifest(manifest);
  run_state.manifest_sha256 = sha256_hex(files[kManifestFile]);
  files[kRunStateFile] = write_run_state(run_state);
}

CheckpointFiles TinyCheckpoint::views() const {
  CheckpointFiles views;
  for (const auto& [name, contents] : files) views.emplace(name, std::as_bytes(std::span(contents)));
  return views;
}

ExpectedManifest expectation_of(const Manifest& manifest) {
  ExpectedManifest expected;
  expected.world_size = manifest.world_size;
  expected.layout = manifest.layout;
  expected.zero_stage = manifest.zero_stage;
  expected.dtype = manifest.dtype;
  expected.arithmetic_sha256 = manifest.arithmetic_sha256;
  expected.parameters = manifest.parameters;
  return expected;
}

std::string edited_and_resealed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  CHECK(at != std::string::npos && text.find(from, at + 1) == std::string::npos);
  text.replace(at, from.size(), to);
  const std::size_t tail = text.rfind("  \"checksum\"");
  text.resize(tail);
  return text + "  \"checksum\": \"" + sha256_hex(text) + "\"\n}\n";
}

}  // namespace rehearse
