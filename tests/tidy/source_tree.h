#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The files of the repository as the rules see them; a test may also build one in memory.

namespace rehearse::tidy {

struct SourceFile {
  std::string path;  // from the root, with '/'
  std::string text;

  std::string_view name() const;       // after the last '/'
  std::string_view directory() const;  // before the last '/', "" at the root
  bool has_extension(std::string_view extension) const { return path.ends_with(extension); }
  bool is_under(std::string_view folder) const;  // "core" or "core/base", at any depth
  bool is_cpp() const { return has_extension(".h") || has_extension(".cc"); }
  bool is_cmake_list() const { return name() == "CMakeLists.txt"; }
};

using SourceTree = std::vector<SourceFile>;

// Reads the files at the root and everything under the folders of the tracked layout (core, sim, scenarios, tests,
// tools, .ci), sorted by path. Build folders and whatever else lies in the working tree are not looked at.
SourceTree load_source_tree(const std::string& root);

}  // namespace rehearse::tidy
