#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/scenario.h"

namespace rehearse {

// A training job without a simulator: the same kernels on the same data in plain loops, rank by rank, with the hashing that
// a run does (digests and norms of every rank's parameters after every step, SHA-256 of checkpoint files when they are
// saved and again when they are loaded). What a run of the same scenario takes beyond this is the price of simulating.
// Float32, zero_stage 1, one unit, no clipping.
class PlainLoop {
 public:
  explicit PlainLoop(const Scenario& scenario);

  // Trains the scenario's steps; then, with resume_from, again from that step's files. Returns the final weights_sha256.
  std::string run();

 private:
  struct Replica {
    std::vector<float> parameters;  // flat, padded
    std::vector<float> gradients;
    std::vector<float> master;  // one chunk
    std::vector<float> m;
    std::vector<float> v;
  };
  struct Saved {
    std::vector<std::vector<std::byte>> shards;
    std::vector<std::byte> model;
    std::vector<std::string> sha256;
  };

  void train(std::int64_t from, std::int64_t to);
  void reduce();
  Saved save() const;
  void load(const Saved& saved);

  const Scenario& scenario_;
  std::int64_t padded_ = 0;
  std::int64_t chunk_ = 0;
  std::vector<Replica> replicas_;
  Saved at_resume_step_;
};

}  // namespace rehearse
