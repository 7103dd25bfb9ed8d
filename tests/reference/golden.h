#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/reference/trainer.h"

namespace rehearse::reference {

// The bytes of a file on the real disk; a missing file fails a CHECK.
std::vector<std::byte> read_bytes(const std::string& path);

// One folder of golden PyTorch data (tests/data/reference/README.md).
struct Golden {
  std::string folder;  // absolute
  ModelConfig config;
  Tokens tokens;
  std::vector<float> init;             // flat, layout order
  std::vector<double> first_gradient;  // of the variant ""
  std::vector<double> first_params;
  std::vector<double> final_params;
};

inline constexpr const char* kGoldenNames[] = {"golden_a", "golden_b", "golden_torch_init"};
// "" is plain Adam.
inline constexpr const char* kGoldenVariants[] = {"",      "accum", "clip", "adamw", "adamw_matrices",
                                                  "sched", "spike", "all"};

// `data` is the folder that holds the golden folders.
Golden load_golden(const std::string& data, const std::string& name);

struct GoldenVariant {
  Options options;
  std::vector<Step> steps;  // computed in float64
};
GoldenVariant load_variant(const Golden& golden, const std::string& variant);

// |a - b| / |b| over vectors of equal size.
template <class T>
double relative_l2(const std::vector<T>& a, const std::vector<double>& b);
template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<double>& b);

}  // namespace rehearse::reference
