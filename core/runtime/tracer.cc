#include "core/runtime/tracer.h"

namespace rehearse {

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kStart:
      return "start";
    case Phase::kData:
      return "data";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kReduce:
      return "reduce";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kGather:
      return "gather";
    case Phase::kCheckpoint:
      return "checkpoint";
    case Phase::kLoad:
      return "load";
    case Phase::kEnd:
      return "end";
  }
  check_failed(__FILE__, __LINE__, "unknown phase");
}

}  // namespace rehearse
