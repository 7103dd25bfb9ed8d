#include "core/model/cost.h"

#include <limits>
#include <string>

#include "core/base/check.h"
#include "core/base/error.h"

namespace rehearse {
namespace {

std::int64_t checked(__int128 value, const char* what) {
  if (value > std::numeric_limits<std::int64_t>::max()) {
    throw InputError(std::string("model: the ") + what + " of one stage do not fit 63 bits");
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

StageCost stage_cost(const ModelConfig& c, std::int64_t batch, int stage, Direction direction, DType dtype) {
  CHECK(batch >= 1 && batch < std::int64_t{1} << 31);
  CHECK(stage >= 0 && stage <= c.layers + 1);
  const __int128 e = c.embed;
  const __int128 r = static_cast<__int128>(batch) * c.context;
  __int128 flops = 0;
  __int128 parameters = 0;
  __int128 activations = 0;
  if (stage == 0) {
    flops = r * e;
    parameters = (static_cast<__int128>(c.vocab) + c.context) * e;
    activations = 3 * r * e;
  } else if (stage <= c.layers) {
    flops = 24 * r * e * e + 4 * r * c.context * e;
    parameters = 12 * e * e + 9 * e;
    activations = 28 * r * e + 2 * r * c.heads * c.context;
  } else {
    flops = 2 * r * e * c.vocab;
    parameters = e * (c.vocab + 2);
    activations = r * (3 * e + 2 * static_cast<__int128>(c.vocab));
  }
  const int times = direction == Direction::kForward ? 1 : 2;
  return {Flops(checked(times * flops, "operations")),
          Bytes(checked(times * (parameters + activations) * size_of(dtype), "bytes"))};
}

}  // namespace rehearse
