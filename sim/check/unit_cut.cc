#include "sim/check/unit_cut.h"

namespace rehearse {

std::vector<PaddedUnit> cut_units(const ParameterLayout& layout, const TrainConfig& config, int ranks) {
  const std::int64_t multiple = std::int64_t{16} * ranks;
  const std::int64_t bucket = config.bucket_bytes / size_of(config.gradient_dtype.value_or(config.dtype));
  std::vector<PaddedUnit> units;
  std::int64_t open = 0;
  for (int tensor = static_cast<int>(layout.tensors().size()) - 1; tensor >= 0; --tensor) {
    const std::int64_t numel = layout.tensors()[static_cast<std::size_t>(tensor)].numel;
    if (units.empty() || (bucket > 0 && open + numel > bucket)) {
      units.emplace_back();
      open = 0;
    }
    open += numel;
    units.back().padded = (open + multiple - 1) / multiple * multiple;
    units.back().stages.insert(layout.stage_of(tensor));
  }
  return units;
}

}  // namespace rehearse
