#pragma once

#include <string>

#include "tools/export/program_recorder.h"

namespace rehearse {

// The program as a GOAL schedule in text, as LogGOPSim's txt2bin reads it: for each rank `calc`, `send` and `recv`, and
// what requires what. Times are whole nanoseconds, rounded so that a rank's sum is right to one; sizes are bytes. The
// program is of level kMessages.
//
// Format: Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language - a flexible way to express collective
// communication, 2009.
std::string write_goal(const ProgramRecorder& program);

}  // namespace rehearse
