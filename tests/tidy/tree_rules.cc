#include "tests/tidy/tree_rules.h"

#include <set>
#include <string>

namespace rehearse::tidy {
namespace {

std::set<std::string> all_paths(const SourceTree& tree) {
  std::set<std::string> paths;
  for (const SourceFile& file : tree) paths.insert(file.path);
  return paths;
}

}  // namespace

std::vector<Finding> check_tests_are_registered(const SourceTree& tree) {
  std::vector<Finding> findings;
  for (const SourceFile& test : tree) {
    if (!test.has_extension("_test.cc")) continue;
    const std::string list_path = std::string(test.directory()) + "/CMakeLists.txt";
    bool named = false;
    for (const SourceFile& list : tree) {
      if (list.path != list_path) continue;
      for (const std::string_view line : split_lines(list.text)) {
        named = named || contains_word(line.substr(0, line.find('#')), test.name());
      }
    }
    if (!named) findings.push_back({test.path, 0, "no rehearse_test() in " + list_path + " names this test"});
  }
  return findings;
}

std::vector<Finding> check_folders_have_readmes(const SourceTree& tree) {
  const std::set<std::string> paths = all_paths(tree);
  std::set<std::string> folders;
  for (const SourceFile& file : tree) {
    for (const char* top : {"core", "sim", "scenarios", "tests", "tools"}) {
      if (file.is_under(top) && !file.is_under("tests/data")) folders.insert(std::string(file.directory()));
    }
  }
  std::vector<Finding> findings;
  const std::string tests = "tests/";
  for (const std::string& folder : folders) {
    const bool mirrors = folder.starts_with(tests) && paths.contains(folder.substr(tests.size()) + "/README.md");
    if (!mirrors && !paths.contains(folder + "/README.md")) {
      findings.push_back(
          {folder + "/README.md", 0, "is missing: what does the folder promise, where to start reading?"});
    }
  }
  return findings;
}

std::vector<Finding> check_scenarios_are_listed(const SourceTree& tree) {
  const std::string list_path = "scenarios/README.md";
  const std::string ending = ".textproto";
  std::set<std::string> listed;
  for (const SourceFile& file : tree) {
    if (file.path != list_path) continue;
    for (const std::string_view line : split_lines(file.text)) {
      if (!line.starts_with("| ")) continue;
      for (std::size_t at = line.find('`'); at != std::string_view::npos; at = line.find('`', at + 1)) {
        const std::size_t end = line.find('`', at + 1);
        if (end == std::string_view::npos) break;
        listed.insert(std::string(line.substr(at + 1, end - at - 1)));
        at = end;
      }
    }
  }
  std::vector<Finding> findings;
  for (const SourceFile& file : tree) {
    if (file.directory() != "scenarios" || !file.has_extension(ending)) continue;
    const std::string name(file.name().substr(0, file.name().size() - ending.size()));
    if (listed.erase(name) == 0) findings.push_back({file.path, 0, "is not in the table of " + list_path});
  }
  for (const std::string& name : listed) findings.push_back({list_path, 0, "there is no scenario '" + name + "'"});
  return findings;
}

}  // namespace rehearse::tidy
