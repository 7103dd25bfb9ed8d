#include "tools/rehearse/checkpoint_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/checkpoint/names.h"
#include "sim/config/loader.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

// What a directory may hold before reading it is refused: enough for 65,536 shards and for a model of 4 billion
// parameters, and never more memory than a mistake is worth.
constexpr std::size_t kMaxFiles = 100'000;
constexpr Bytes kMaxBytes{std::int64_t{64} << 30};
constexpr int kMaxDepth = 4;

std::string reason(int error) { return std::generic_category().message(error); }

// The bytes of a regular file that is no symbolic link, at most `limit`.
FileData read_regular_file(const std::string& path, Bytes limit) {
  // O_NONBLOCK: a pipe in the directory must not hang the command before it is seen to be one.
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) throw InputError("cannot read " + path + ": " + reason(errno));
  struct Closer {
    int file;
    ~Closer() { close(file); }
  } closer{file};
  struct stat status = {};
  if (fstat(file, &status) != 0) throw InputError("cannot read " + path + ": " + reason(errno));
  if (!S_ISREG(status.st_mode)) throw InputError(path + ": not a regular file; a checkpoint has nothing else");
  if (status.st_size > limit.count()) {
    throw InputError(path + ": " + to_string(Bytes(status.st_size)) + " is more than a checkpoint may have (" +
                     to_string(kMaxBytes) + " in all)");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw InputError("cannot read " + path + ": " + reason(errno));
    if (got == 0) throw InputError(path + ": became shorter while it was read");
    done += static_cast<std::size_t>(got);
  }
  return FileData::copy_of(bytes);
}

void read_below(const fs::path& directory, const std::string& prefix, int depth, Bytes& left,
                std::map<std::string, FileData>& files) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string path = entry.path().string();
    const std::string name = prefix + entry.path().filename().string();
    if (entry.symlink_status().type() == fs::file_type::directory) {
      if (depth == kMaxDepth) throw InputError(path + ": deeper than any checkpoint");
      read_below(entry.path(), name + "/", depth + 1, left, files);
      continue;
    }
    if (files.size() == kMaxFiles) throw InputError(directory.string() + ": more files than any checkpoint has");
    if (entry.symlink_status().type() == fs::file_type::symlink) {
      throw InputError(path + ": a symbolic link; a checkpoint has regular files only");
    }
    const FileData data = read_regular_file(path, left);
    left -= data.size();
    files.emplace(name, data);
  }
}

}  // namespace

CheckpointOnDisk read_checkpoint_directory(const std::string& path) {
  CheckpointOnDisk checkpoint;
  try {
    const fs::file_status status = fs::status(path);
    if (status.type() == fs::file_type::not_found) throw InputError(path + ": no such directory");
    if (status.type() != fs::file_type::directory) throw InputError(path + ": not a directory; a checkpoint is one");
    if (!fs::exists(fs::path(path) / kManifestFile)) {
      const bool is_run = fs::exists(fs::path(path) / "checkpoints");
      throw InputError(path + ": not a checkpoint: " + kManifestFile + " is missing" +
                       (is_run ? "; this is the directory of a run, its checkpoints are in " +
                                     (fs::path(path) / "checkpoints").string()
                               : ""));
    }
    Bytes left = kMaxBytes;
    read_below(path, "", 0, left, checkpoint.files);
  } catch (const fs::filesystem_error& error) {
    throw InputError("cannot read " + path + ": " + error.code().message());
  }
  CheckpointFiles views;
  for (const auto& [name, data] : checkpoint.files) views.emplace(name, data.bytes());
  VerifiedCheckpoint verified = verify_checkpoint(views, path);
  checkpoint.manifest = std::move(verified.manifest);
  checkpoint.run_state = std::move(verified.run_state);
  return checkpoint;
}

Scenario load_checkpoint_scenario(const CheckpointOnDisk& checkpoint, const std::string& path) {
  const fs::path folder = fs::path(path).lexically_normal();
  const FileReader read = [&](const std::string& wanted, Bytes limit) -> std::string {
    for (const InputRecord& input : checkpoint.run_state.inputs) {
      if ((folder / input.path).lexically_normal() != fs::path(wanted)) continue;
      if (input.copy) return std::string(checkpoint.files.at(*input.copy).text());
      std::string contents = read_real_file(input.path, limit);
      check_input(input, std::as_bytes(std::span(contents)), path);
      return contents;
    }
    throw InputError("cannot read " + wanted + ": it is not in the checkpoint");
  };
  const std::string text(checkpoint.files.at(kScenarioFile).text());
  Scenario scenario = parse_scenario(text, (folder / kScenarioFile).string(), read);
  if (scenario.arithmetic_sha256 != checkpoint.manifest.arithmetic_sha256) {
    throw InputError(path + ": its scenario decides other bits than its state was made with: arithmetic_sha256 is " +
                     scenario.arithmetic_sha256 + ", in the manifest " + checkpoint.manifest.arithmetic_sha256);
  }
  return scenario;
}

}  // namespace rehearse
