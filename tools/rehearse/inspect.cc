#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "sim/config/loader.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/inspect.h"

namespace rehearse {
namespace {

namespace fs = std::filesystem;

// Eight bytes of length and an opening brace: no scenario begins like that, its ninth byte would follow a NUL.
bool looks_like_safetensors(const std::string& path, const std::string& contents) {
  if (path.ends_with(".safetensors")) return true;
  return contents.size() > 8 && contents[7] == '\0' && contents[8] == '{';
}

std::string inspect_file(const std::string& path, Format format, const Style& style) {
  const std::string contents = read_real_file(path, kInputFileLimit);
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
      console.out << inspect_checkpoint(command.path, command.format, style);
      return ExitCode::kDone;
    case fs::file_type::regular:
      console.out << inspect_file(command.path, command.format, style);
      return ExitCode::kDone;
    case fs::file_type::not_found:
      throw InputError("cannot read " + command.path + ": no such file or directory");
    default:
      throw InputError("cannot read " + command.path + ": " +
                       (error ? error.message() : std::string("neither a file nor a directory")));
  }
}

}  // namespace rehearse
