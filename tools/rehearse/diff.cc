#include "tools/rehearse/diff.h"

#include <filesystem>

#include "core/checkpoint/names.h"
#include "tools/rehearse/commands.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

enum class Kind { kRun, kCheckpoint, kTensors };

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kRun:
      return "a recorded run";
    case Kind::kCheckpoint:
      return "a checkpoint";
    case Kind::kTensors:
      return "a safetensors file";
  }
  return "";
}

Kind kind_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    throw InputError("cannot read " + path + ": no such file or directory");
  if (status.type() == fs::file_type::regular) return Kind::kTensors;
  if (status.type() != fs::file_type::directory) {
    throw InputError("cannot read " + path + ": " + (error ? error.message() : "neither a file nor a directory"));
  }
  if (is_recording(path)) return Kind::kRun;
  if (fs::exists(fs::path(path) / kManifestFile, error)) return Kind::kCheckpoint;
  throw InputError(path + ": it has neither events.bin nor " + kManifestFile +
                   "; allowed: a directory that a run left with --out, a checkpoint directory, or a safetensors file");
}

DiffReport compare(const DiffCommand& command, const Style& style) {
  const Kind kind = kind_of(command.a);
  const Kind other = kind_of(command.b);
  if (kind != other) {
    throw InputError("diff: " + command.a + " is " + name_of(kind) + ", " + command.b + " is " + name_of(other) +
                     "; allowed: two of a kind");
  }
  if (kind == Kind::kRun) return diff_runs(read_recording(command.a), read_recording(command.b), style);
  if (kind == Kind::kCheckpoint) return diff_checkpoints(command.a, command.b, style);
  return diff_tensor_files(command.a, command.b, style);
}

}  // namespace

ExitCode execute_diff(const DiffCommand& command, Console& console) {
  const Style style(console.colors);
  DiffReport report = compare(command, style);
  if (command.format == Format::kJson) {
    Json json;
    json["identical"] = report.identical;
    json.update(report.json);
    console.out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  } else {
    console.out << report.text << (report.identical ? style.good("identical") + "\n" : "");
  }
  return report.identical ? ExitCode::kDone : ExitCode::kExpectationFailed;
}

}  // namespace rehearse
