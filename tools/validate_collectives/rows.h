#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/communicator.h"
#include "sim/cost/gpu_stack.h"

namespace rehearse {

enum class Split { kFit, kPredict, kApart };
const char* name_of(Split split);

// One published measurement (tests/data/published/README.md).
struct PublishedRow {
  std::string table;
  std::string gpu;
  std::string network;
  std::string notes;
  std::string collective;
  Operation operation = Operation::kAllReduce;
  Bytes size;
  int gpus = 0;
  double microseconds = 0;
  Split split = Split::kPredict;
  // Nothing where there are no presets for the hardware.
  std::optional<StackSite> site;
  std::string stack;  // "H100, EFA v2"; "H100" for one host
};

// Reads a file of rows. Throws InputError that names file, line, field, what was found and what is allowed, and
// RealIoError.
std::vector<PublishedRow> load_published(const std::string& path);

}  // namespace rehearse
