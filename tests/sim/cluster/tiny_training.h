#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "sim/config/loader.h"

namespace rehearse {

// A job of two ranks, as small as one can be: six steps, a checkpoint after every second, of which two are kept.
// `more` are further groups of the scenario: its faults.
inline Scenario tiny_training(const std::string& more, const std::vector<std::string>& overrides = {}) {
  const std::string text =
      "name: \"tiny\"\n"
      "seed: 5\n"
      "cluster { ranks: 2 network { latency: \"5us\" } storage { latency: \"10us\" } }\n"
      "model { layers: 1 embed: 8 heads: 1 vocab: 8 context: 4 }\n"
      "data { synthetic { kind: MARKOV states: 4 } }\n"
      "train { steps: 6 batch: 1 adam { lr: 0.01 } }\n"
      "checkpoint { every_steps: 2 keep: 2 }\n"
      "recovery { restart_delay: \"1ms\" heartbeat_timeout: \"2ms\" }\n" +
      more;
  const FileReader no_files = [](const std::string& path, Bytes) -> std::string {
    throw InputError("cannot read " + path);
  };
  LoadOptions options;
  options.overrides = overrides;
  return parse_scenario(text, "tiny.textproto", no_files, options);
}

}  // namespace rehearse
