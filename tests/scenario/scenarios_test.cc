#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tools/rehearse/rehearse.h"

// Every scenario that ships is a test: it runs, and all that it expects holds.

namespace rehearse {
namespace {

const std::string kFolder = std::string(REHEARSE_SOURCE_DIR) + "/scenarios/";

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".textproto") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Scenarios : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenarios, EverythingItExpectsHolds) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err);
  EXPECT_EQ(rehearse_main({"run", kFolder + GetParam() + ".textproto"}, console), 0) << err.str() << out.str();
  EXPECT_EQ(err.str(), "");
}

INSTANTIATE_TEST_SUITE_P(Shipped, Scenarios, ::testing::ValuesIn(scenario_names()),
                         [](const auto& scenario) { return scenario.param; });

}  // namespace
}  // namespace rehearse
