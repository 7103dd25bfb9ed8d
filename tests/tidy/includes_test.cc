#include "tests/tidy/includes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rehearse::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The message of the one finding; "" if there is none.
std::string layer_message(const std::string& path, const std::string& text) {
  const std::vector<Finding> findings = check_layers({path, text});
  EXPECT_LE(findings.size(), 1u) << to_string(findings);
  return findings.empty() ? "" : findings[0].message;
}

TEST(Layers, LowerNeverIncludesUpper) {
  EXPECT_THAT(layer_message("core/base/a.h", "#include \"sim/net/b.h\"\n"), HasSubstr("core never includes sim"));
  EXPECT_THAT(layer_message("core/base/a.h", "#include <sim/net/b.h>\n"), HasSubstr("core never includes sim"));
  EXPECT_THAT(layer_message("sim/net/a.cc", "  #  include \"tools/b.h\"\n"), HasSubstr("never include tools"));
  EXPECT_THAT(layer_message("sim/net/a.cc", "#include \"tests/b.h\"\n"), HasSubstr("never include tests"));
  EXPECT_EQ(layer_message("sim/net/a.cc", "#include \"core/base/b.h\"\n"), "");
  EXPECT_EQ(layer_message("tools/a.cc", "#include \"sim/net/b.h\"\n"), "");
  EXPECT_EQ(layer_message("core/base/a.h", "// #include \"sim/net/b.h\"\nf(\"#include \\\"sim/b.h\\\"\");\n"), "");
  EXPECT_EQ(layer_message("core/base/a.h", "#include \"simple/b.h\"\n"), "");
}

TEST(Layers, TrainingKnowsNoCollectives) {
  EXPECT_THAT(layer_message("core/train/a.cc", "#include \"core/comm/ring.h\"\n"), HasSubstr("training loop"));
  EXPECT_THAT(layer_message("core/train/a.cc", "#include \"core/transport/t.h\"\n"), HasSubstr("training loop"));
  EXPECT_EQ(layer_message("core/parallel/a.cc", "#include \"core/comm/ring.h\"\n"), "");
}

TEST(Layers, AsioStaysBehindTask) {
  for (const char* folder : {"core/comm", "core/parallel", "core/train"}) {
    EXPECT_THAT(layer_message(folder + std::string("/a.h"), "#include <boost/asio/awaitable.hpp>\n"),
                HasSubstr("core/runtime/task.h"));
  }
  EXPECT_EQ(layer_message("sim/kernel/a.h", "#include <boost/asio/awaitable.hpp>\n"), "");
}

TEST(Layers, QuotedIncludesComeFromTheRoot) {
  EXPECT_THAT(layer_message("tools/a.cc", "#include \"b.h\"\n"), HasSubstr("from the root"));
  EXPECT_EQ(layer_message("tools/a.cc", "#include <vector>\n"), "");
}

SourceTree small_tree() {
  return {{"core/base/CMakeLists.txt", "rehearse_library(core/base LINK OpenSSL::Crypto)\n"},
          {"core/runtime/CMakeLists.txt", "# why\nrehearse_library(core/runtime DEPS core/base LINK Boost::headers)\n"},
          {"core/comm/CMakeLists.txt", "rehearse_library(core/comm USES_TASK\n  DEPS core/runtime # core/data\n)\n"}};
}

TEST(DeclaredDeps, AreReadWithTheirOwn) {
  const FolderDeps deps = read_folder_deps(small_tree());
  EXPECT_TRUE(deps.at("core/base").empty());
  EXPECT_THAT(deps.at("core/runtime"), ElementsAre("core/base"));
  EXPECT_THAT(deps.at("core/comm"), ElementsAre("core/base", "core/runtime"));
}

TEST(DeclaredDeps, AnUndeclaredIncludeIsFound) {
  const FolderDeps deps = read_folder_deps(small_tree());
  const auto check = [&](const char* text) {
    return to_string(check_declared_deps({"core/runtime/deep/a.h", text}, deps));
  };
  EXPECT_EQ(check("#include \"core/base/b.h\"\n#include \"core/runtime/task.h\"\n#include <core/comm/x.h>\n"), "");
  EXPECT_EQ(check("\n#include \"core/comm/ring.h\"\n"),
            "core/runtime/deep/a.h:2: includes core/comm/ring.h, but core/comm is not among the DEPS of "
            "core/runtime/CMakeLists.txt\n");
  EXPECT_TRUE(check_declared_deps({"tools/a.cc", "#include \"core/comm/ring.h\"\n"}, deps).empty());
}

TEST(LibraryCalls, NameTheirFolderAndKnownDependencies) {
  EXPECT_TRUE(check_library_calls(small_tree()).empty());
  EXPECT_THAT(to_string(check_library_calls({{"core/a/CMakeLists.txt", "rehearse_library(core/b)\n"}})),
              HasSubstr("stands in another folder"));
  EXPECT_THAT(to_string(check_library_calls({{"core/a/CMakeLists.txt", "\nrehearse_library(core/a DEPS core/z)\n"}})),
              HasSubstr("core/a/CMakeLists.txt:2: DEPS names core/z, no library"));
  EXPECT_THAT(to_string(check_library_calls({{"core/a/CMakeLists.txt", "rehearse_library(core/a DEPS core/b)\n"},
                                             {"core/b/CMakeLists.txt", "rehearse_library(core/b DEPS core/a)\n"}})),
              HasSubstr("core/a depends on itself in a circle"));
}

}  // namespace
}  // namespace rehearse::tidy
