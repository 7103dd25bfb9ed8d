#include "core/checkpoint/verify.h"

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/checkpoint/names.h"

namespace rehearse {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Which files a checkpoint has, and what each is for.
std::map<std::string, std::string> wanted_files(const Manifest& manifest, const RunState& run_state) {
  std::map<std::string, std::string> wanted = {{kManifestFile, "the manifest"},
                                               {kRunStateFile, "the state of the run"},
                                               {manifest.model.file, "the model"},
                                               {run_state.scenario.file, "the scenario"}};
  for (const ShardRecord& shard : manifest.shards) {
    wanted.emplace(shard.file.file, "the shard of rank " + std::to_string(shard.rank));
  }
  for (const InputRecord& input : run_state.inputs) {
    if (input.copy) wanted.emplace(*input.copy, "the copy of input " + input.path);
  }
  return wanted;
}

std::span<const std::byte> file_or_throw(const CheckpointFiles& files, const std::string& name,
                                         const std::string& source) {
  const auto found = files.find(name);
  if (found == files.end()) throw InputError(source + ": not a whole checkpoint: " + name + " is missing");
  return found->second;
}

}  // namespace

void check_file_names(const Manifest& manifest, const RunState& run_state, const std::set<std::string>& paths,
                      const std::string& source) {
  const std::map<std::string, std::string> wanted = wanted_files(manifest, run_state);
  for (const auto& [name, what] : wanted) {
    if (!paths.contains(name)) {
      throw InputError(source + ": not a whole checkpoint: " + name + ", " + what + ", is missing");
    }
  }
  for (const std::string& path : paths) {
    if (!wanted.contains(path)) {
      throw InputError(source + ": " + path + " does not belong to this checkpoint of " +
                       std::to_string(manifest.world_size) + " ranks");
    }
  }
}

RunState parse_run_state_of(std::string_view manifest_text, std::string_view text, const std::string& source) {
  RunState state = parse_run_state(text, source);
  const std::string found = sha256_hex(manifest_text);
  if (state.manifest_sha256 != found) {
    throw InputError(source + ": manifest_sha256 is " + state.manifest_sha256 + ", but the manifest beside it has " +
                     found + "; the files are of two checkpoints");
  }
  return state;
}

void check_input(const InputRecord& input, std::span<const std::byte> bytes, const std::string& source) {
  FileRecord record;
  record.file = input.path;
  record.sha256 = input.sha256;
  record.bytes = input.bytes;
  check_file(record, bytes, source);
}

VerifiedCheckpoint verify_checkpoint(const CheckpointFiles& files, const std::string& source) {
  const auto place = [&source](const std::string& name) { return source + "/" + name; };
  const std::string_view manifest_text = text_of(file_or_throw(files, kManifestFile, source));
  VerifiedCheckpoint checkpoint;
  checkpoint.manifest = parse_manifest(manifest_text, place(kManifestFile));
  checkpoint.run_state =
      parse_run_state_of(manifest_text, text_of(file_or_throw(files, kRunStateFile, source)), place(kRunStateFile));
  const Manifest& manifest = checkpoint.manifest;
  const RunState& run_state = checkpoint.run_state;
  std::set<std::string> paths;
  for (const auto& [path, bytes] : files) paths.insert(path);
  check_file_names(manifest, run_state, paths, source);

  check_file(run_state.scenario, files.at(run_state.scenario.file), place(run_state.scenario.file));
  for (const InputRecord& input : run_state.inputs) {
    if (input.copy) check_input(input, files.at(*input.copy), place(*input.copy));
  }
  const std::vector<FlatRange> all = {FlatRange(0, manifest.numel())};
  std::vector<StateView> shards;
  for (const ShardRecord& shard : manifest.shards) {
    shards.push_back(parse_shard_file(shard, manifest.dtype, files.at(shard.file.file), place(shard.file.file)));
  }
  // Allocated only now that every size was seen in a file.
  checkpoint.state = State(static_cast<std::size_t>(manifest.numel() * size_of(manifest.dtype)));
  for (std::size_t i = 0; i < shards.size(); ++i) {
    copy_overlap(manifest, manifest.shards[i], shards[i], all, checkpoint.state);
  }
  check_model_file(manifest, files.at(manifest.model.file), checkpoint.state.master, place(manifest.model.file));
  return checkpoint;
}

}  // namespace rehearse
