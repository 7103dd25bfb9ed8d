#pragma once

#include "core/base/error.h"
#include "tools/rehearse/command_line.h"
#include "tools/rehearse/console.h"

namespace rehearse {

// Throws RealIoError where something written to `console.out` so far is lost.
void check_written(Console& console);

// One function a command; what it throws is the command's error, what it returns the command's exit code.
ExitCode execute_run(const RunCommand& command, Console& console);
// Of a scenario with a job; `repeat` is the command that runs it again.
ExitCode execute_job(const RunCommand& command, const Scenario& scenario, const std::string& repeat, Console& console);
// A command with --sweep.
ExitCode execute_sweep(const RunCommand& command, Console& console);
ExitCode execute_resume(const ResumeCommand& command, Console& console);
ExitCode execute_check(const CheckCommand& command, Console& console);
ExitCode execute_cost(const CostCommand& command, Console& console);
// A command with --collectives.
ExitCode execute_cost_collectives(const CostCommand& command, Console& console);
ExitCode execute_fuzz(const FuzzCommand& command, Console& console);
ExitCode execute_replay(const ReplayCommand& command, Console& console);
ExitCode execute_diff(const DiffCommand& command, Console& console);
ExitCode execute_report(const ReportCommand& command, Console& console);
ExitCode execute_import(const ImportCommand& command, Console& console);
ExitCode execute_inspect(const InspectCommand& command, Console& console);

}  // namespace rehearse
