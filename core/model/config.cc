#include "core/model/config.h"

#include <string>

#include "core/base/error.h"

namespace rehearse {
namespace {

constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 48;

void check_size(const char* field, std::int64_t value) {
  if (value < 1 || value > kLargestSize) {
    throw InputError("model: " + std::string(field) + " must be from 1 to " + std::to_string(kLargestSize) +
                     ", found " + std::to_string(value));
  }
}

}  // namespace

void validate(const ModelConfig& config) {
  check_size("layers", config.layers);
  check_size("embed", config.embed);
  check_size("heads", config.heads);
  check_size("vocab", config.vocab);
  check_size("context", config.context);
  if (config.embed % config.heads != 0) {
    throw InputError("model: heads must divide embed, found heads " + std::to_string(config.heads) + " and embed " +
                     std::to_string(config.embed));
  }
  const __int128 e = config.embed;
  const __int128 count =
      e * (2 * static_cast<__int128>(config.vocab) + config.context + 2) + config.layers * (12 * e * e + 9 * e);
  if (count >= kLargestCount) {
    throw InputError("model: layers " + std::to_string(config.layers) + ", embed " + std::to_string(config.embed) +
                     ", vocab " + std::to_string(config.vocab) + " and context " + std::to_string(config.context) +
                     " make 2^48 parameters or more");
  }
}

}  // namespace rehearse
