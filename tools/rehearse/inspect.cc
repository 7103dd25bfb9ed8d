#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/formats/safetensors.h"
#include "sim/config/loader.h"
#include "sim/config/origins.h"
#include "tools/export/npy.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/inspect.h"
#include "tools/rehearse/real_files.h"
#include "tools/rehearse/report_header.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

// Eight bytes of length and an opening brace: no scenario begins like that, its ninth byte would follow a NUL.
bool looks_like_safetensors(const std::string& path, const std::string& contents) {
  if (path.ends_with(".safetensors")) return true;
  return contents.size() > 8 && contents[7] == '\0' && contents[8] == '{';
}

std::string write_tensor(const std::string& contents, const InspectCommand& command) {
  if (!looks_like_safetensors(command.path, contents)) {
    throw InputError("inspect: --tensor takes a tensor out of a safetensors file, and " + command.path + " is none");
  }
  const SafetensorsFile file = SafetensorsFile::parse(std::as_bytes(std::span(contents)), command.path);
  const TensorView* tensor = file.find(command.tensor);
  if (tensor == nullptr) {
    std::vector<std::string> names;
    for (const TensorView& one : file.tensors()) names.push_back(one.name);
    throw InputError(command.path + ": has no tensor '" + command.tensor + "'; " + suggestion(command.tensor, names));
  }
  write_file_atomically(command.npy, write_npy(*tensor));
  return field_line("npy", command.npy + ": " + command.tensor + " " + shape_text(tensor->shape));
}

std::string inspect_file(const InspectCommand& command, const Style& style) {
  const std::string& path = command.path;
  const Format format = command.format;
  const std::string contents = read_real_file(path, kInputFileLimit);
  if (!command.npy.empty()) return write_tensor(contents, command);
  if (looks_like_safetensors(path, contents)) return inspect_tensors(contents, path, format, style);
  return inspect_scenario(load_scenario(path), format, style);
}

}  // namespace

ExitCode execute_inspect(const InspectCommand& command, Console& console) {
  const Style style(console.colors);
  std::error_code error;
  const fs::file_status status = fs::status(command.path, error);
  switch (status.type()) {
    case fs::file_type::directory:
      if (!command.npy.empty()) {
        throw InputError("inspect: --tensor takes a tensor out of a safetensors file, and " + command.path +
                         " is a directory");
      }
      console.out << inspect_checkpoint(command.path, command.format, style);
      return ExitCode::kDone;
    case fs::file_type::regular:
      console.out << inspect_file(command, style);
      return ExitCode::kDone;
    case fs::file_type::not_found:
      throw InputError("cannot read " + command.path + ": no such file or directory");
    default:
      throw InputError("cannot read " + command.path + ": " +
                       (error ? error.message() : std::string("neither a file nor a directory")));
  }
}

}  // namespace rehearse
