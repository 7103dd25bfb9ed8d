#include <gtest/gtest.h>

#include <functional>

#include "tests/tidy/banned_calls.h"
#include "tests/tidy/coroutine_statements.h"
#include "tests/tidy/file_rules.h"
#include "tests/tidy/includes.h"
#include "tests/tidy/source_tree.h"
#include "tests/tidy/tree_rules.h"

// Each rule over the whole repository. That a rule can fail is proven by the test of its file.

namespace rehearse::tidy {
namespace {

const SourceTree& tree() {
  static const SourceTree kTree = load_source_tree(REHEARSE_SOURCE_DIR);
  return kTree;
}

void expect_none(const std::vector<Finding>& findings) {
  EXPECT_TRUE(findings.empty()) << findings.size() << " finding(s):\n" << to_string(findings);
}

void expect_none_in_each_file(const std::function<std::vector<Finding>(const SourceFile&)>& rule) {
  std::vector<Finding> all;
  for (const SourceFile& file : tree()) {
    const std::vector<Finding> findings = rule(file);
    all.insert(all.end(), findings.begin(), findings.end());
  }
  expect_none(all);
}

TEST(Tidy, NoBannedCalls) {
  expect_none_in_each_file(
      [](const SourceFile& file) { return file.is_cpp() ? check_banned_calls(file) : std::vector<Finding>(); });
}

TEST(Tidy, NoBannedFlags) {
  expect_none_in_each_file([](const SourceFile& file) {
    const bool cmake = file.is_cmake_list() || file.has_extension(".cmake") || file.path == "CMakePresets.json";
    return cmake ? check_banned_flags(file) : std::vector<Finding>();
  });
}

TEST(Tidy, LayersHold) {
  expect_none_in_each_file(
      [](const SourceFile& file) { return file.is_cpp() ? check_layers(file) : std::vector<Finding>(); });
}

TEST(Tidy, IncludesAreDeclared) {
  const FolderDeps deps = read_folder_deps(tree());
  EXPECT_TRUE(deps.contains("core/base"));
  expect_none(check_library_calls(tree()));
  expect_none_in_each_file(
      [&](const SourceFile& file) { return file.is_cpp() ? check_declared_deps(file, deps) : std::vector<Finding>(); });
}

TEST(Tidy, TestsAreRegistered) { expect_none(check_tests_are_registered(tree())); }

TEST(Tidy, Layout) { expect_none_in_each_file(check_layout); }

TEST(Tidy, ScenariosAreListed) { expect_none(check_scenarios_are_listed(tree())); }

TEST(Tidy, FoldersHaveReadmes) { expect_none(check_folders_have_readmes(tree())); }

TEST(Tidy, CoroutineStatements) {
  expect_none_in_each_file([](const SourceFile& file) {
    return file.is_cpp() ? check_coroutine_statements(file.path, file.text) : std::vector<Finding>();
  });
}

TEST(Tidy, ScenariosTellAStoryAndExpectSomething) { expect_none_in_each_file(check_scenario); }

TEST(Tidy, HeadersStartWithPragmaOnce) { expect_none_in_each_file(check_pragma_once); }

TEST(Tidy, SourcesAreShort) { expect_none_in_each_file(check_source_length); }

TEST(Tidy, FilesAreSmallAndNameNoMachine) { expect_none_in_each_file(check_contents); }

TEST(Tidy, NoReminders) { expect_none_in_each_file(check_reminders); }

}  // namespace
}  // namespace rehearse::tidy
