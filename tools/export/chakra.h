#pragma once

#include <string>

#include "core/base/units.h"
#include "tools/export/program_recorder.h"

namespace rehearse {

// One rank's execution trace in MLCommons Chakra's format, as ASTRA-sim's feeder reads it: GlobalMetadata, then Nodes,
// each a Protobuf message with its size before it (package ChakraProtoMsg). Computations are COMP nodes whose num_ops
// are those that take their time at `rate`, to a picosecond; collectives are COMM_COLL, messages between two ranks
// COMM_SEND and COMM_RECV, reads and writes of files MEM_LOAD and MEM_STORE; what else takes time is COMP on the CPU
// without operations. Dependencies are data_deps. Times are whole microseconds, rounded up. The program is of level
// kCollectives.
std::string write_chakra(const ProgramRecorder& program, int rank, FlopRate rate);

}  // namespace rehearse
