#include "tools/export/timeline.h"

#include "core/base/check.h"

namespace rehearse {

const char* name_of(TrackKind kind) {
  switch (kind) {
    case TrackKind::kPhases:
      return "phases";
    case TrackKind::kProgram:
      return "main program waits for";
    case TrackKind::kCompute:
      return "device: compute stream";
    case TrackKind::kCopy:
      return "device: copy stream";
    case TrackKind::kCollectives:
      return "collectives";
    case TrackKind::kStorage:
      return "storage";
    case TrackKind::kOut:
      return "link: out";
    case TrackKind::kIn:
      return "link: in";
  }
  check_failed(__FILE__, __LINE__, "unknown track kind");
}

}  // namespace rehearse
