#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace rehearse::tidy {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

}  // namespace

std::string_view SourceFile::name() const {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : std::string_view(path).substr(slash + 1);
}

std::string_view SourceFile::directory() const {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string_view() : std::string_view(path).substr(0, slash);
}

bool SourceFile::is_under(std::string_view folder) const {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

SourceTree load_source_tree(const std::string& root) {
  SourceTree tree;
  const auto add = [&](const fs::path& path) {
    tree.push_back({path.lexically_relative(root).generic_string(), read_file(path)});
  };
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    // In a second working tree `.git` is a file; it is git's, not ours.
    if (entry.is_regular_file() && entry.path().filename() != ".git") add(entry.path());
  }
  for (const char* folder : {"core", "sim", "scenarios", "tests", "tools", ".ci"}) {
    if (!fs::is_directory(fs::path(root) / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
      const bool python_cache = entry.path().parent_path().filename() == "__pycache__";
      if (entry.is_regular_file() && !python_cache) add(entry.path());
    }
  }
  std::sort(tree.begin(), tree.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return tree;
}

}  // namespace rehearse::tidy
