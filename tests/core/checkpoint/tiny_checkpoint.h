#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/checkpoint/verify.h"

namespace rehearse {

// A whole checkpoint directory of two ranks and 57 parameters in two units, for tests that damage it.
//   unit 0: ln.bias [4] and head.weight [3, 6], padded 22 -> 32: rank 0 holds [0, 16), rank 1 [16, 22)
//   unit 1: embed.weight [5, 7], padded 35 -> 64: rank 0 holds [0, 32), rank 1 [32, 35)
struct TinyCheckpoint {
  TinyCheckpoint();

  // Writes run_state.json and manifest.json again after `manifest` or `run_state` was changed.
  void seal();
  CheckpointFiles views() const;
  std::string& text(const std::string& file) { return files.at(file); }

  Manifest manifest;
  RunState run_state;
  std::vector<float> master, m, v;  // flat order
  std::map<std::string, std::string> files;
};

ExpectedManifest expectation_of(const Manifest& manifest);

// Replaces the one occurrence of `from`, then gives the sealed text its right checksum again.
std::string edited_and_resealed(std::string text, const std::string& from, const std::string& to);

// The message of the InputError that `call` throws.
template <class F>
std::string refusal(F call);

}  // namespace rehearse

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace rehearse {
template <class F>
std::string refusal(F call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "was accepted";
  return "";
}
}  // namespace rehearse
