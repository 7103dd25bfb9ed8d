#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/formats/json.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_command {

class Diff : public ::testing::Test {
 protected:
  // Records the run of a text; gives its directory.
  std::string record(const std::string& name, const std::string& text, const std::vector<std::string>& more = {}) {
    write_file(folder_ / (name + ".textproto"), text);
    std::vector<std::string> words = {"run", folder_ / (name + ".textproto"), "--out", folder_ / name};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = rehearse(words);
    EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
    return folder_ / name;
  }
  std::string record_small(const std::string& name, const std::vector<std::string>& more = {}) {
    return record(name, small_scenario("final_step: 6"), more);
  }
  // The capstone, which expects nothing of its numbers, with faults or without.
  std::string record_capstone(const std::string& name, const std::string& faults = "") {
    std::string text = read_file(shipped_scenario("capstone"));
    text.resize(text.find("\nexpect {") + 1);
    return record(name, text + faults + "expect { final_step: 20 }\n");
  }

  // Both formats agree on what there is.
  Json difference(const std::string& a, const std::string& b) {
    const Ran ran = rehearse({"diff", a, b, "--format", "json"});
    const Ran text = rehearse({"diff", a, b});
    EXPECT_THAT(ran.err + text.err, ::testing::IsEmpty());
    text_ = text.out;
    const auto result = parse_json(ran.out);
    EXPECT_EQ(ran.code, result["identical"] ? 0 : 1);
    EXPECT_EQ(text.code, ran.code);
    if (result["identical"]) {
      EXPECT_THAT(text_, ::testing::HasSubstr("identical\n"));
    } else {
      EXPECT_THAT(text_, ::testing::Not(::testing::HasSubstr("identical\n")));
    }
    return result;
  }
  std::string refusal_of(const std::string& a, const std::string& b) {
    const Ran ran = rehearse({"diff", a, b, "--format", "json"});
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.out, ::testing::IsEmpty());
    return ran.err;
  }

  TemporaryDirectory folder_;
  std::string text_;
};

}  // namespace rehearse::testing_command
