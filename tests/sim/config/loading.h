#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/config/loader.h"

// Scenarios in memory for the tests of this folder.

namespace rehearse {

// A valid scenario, one group a line; tests replace parts of it, so that an error's line says what it was about.
inline const std::string kGoodScenario =
    "name: \"good\"\n"                                                // 1
    "seed: 41\n"                                                      // 2
    "cluster { ranks: 4 network { latency: \"5us\" } }\n"             // 3
    "model { layers: 2 embed: 32 heads: 4 vocab: 64 context: 16 }\n"  // 4
    "data { synthetic { kind: MARKOV states: 16 noise: 0 } }\n"       // 5
    "train { steps: 20 batch: 4 adam { lr: 0.005 } }\n"               // 6
    "checkpoint { every_steps: 10 keep: 3 }\n"                        // 7
    "expect { loss: FALLS resume_from: 10 final_step: 20 }\n";        // 8

// kGoodScenario with the one place where `from` stands replaced.
inline std::string good_with(const std::string& from, const std::string& to) {
  std::string text = kGoodScenario;
  const std::size_t place = text.find(from);
  CHECK_NE(place, std::string::npos);
  CHECK_EQ(text.find(from, place + 1), std::string::npos);
  return text.replace(place, from.size(), to);
}

using Files = std::map<std::string, std::string>;

inline FileReader reader_of(const Files& files) {
  return [files](const std::string& path, Bytes limit) {
    const auto file = files.find(path);
    if (file == files.end()) throw InputError("cannot read " + path + ": No such file or directory");
    CHECK_LE(static_cast<std::int64_t>(file->second.size()), limit.count());
    return file->second;
  };
}

inline Scenario load_text(const std::string& text, const std::vector<std::string>& overrides = {},
                          const Files& files = {}) {
  return parse_scenario(text, "dir/s.textproto", reader_of(files), LoadOptions{overrides, std::nullopt});
}

// The error's message, or "no error".
inline std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {},
                            const Files& files = {}) {
  try {
    load_text(text, overrides, files);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace rehearse
