#include "tools/rehearse/rehearse.h"

#include <exception>
#include <new>
#include <variant>

#include "core/base/error.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/help.h"

namespace rehearse {
namespace {

int execute(const std::vector<std::string>& words, Console& console) {
  if (words.empty()) {
    console.err << general_help();
    return static_cast<int>(ExitCode::kBadInput);
  }
  const Command command = parse_command_line(words);
  ExitCode code = ExitCode::kDone;
  if (const auto* run = std::get_if<RunCommand>(&command)) {
    code = execute_run(*run, console);
  } else if (const auto* resume = std::get_if<ResumeCommand>(&command)) {
    code = execute_resume(*resume, console);
  } else if (const auto* check = std::get_if<CheckCommand>(&command)) {
    code = execute_check(*check, console);
  } else if (const auto* cost = std::get_if<CostCommand>(&command)) {
    code = execute_cost(*cost, console);
  } else if (const auto* fuzz = std::get_if<FuzzCommand>(&command)) {
    code = execute_fuzz(*fuzz, console);
  } else if (const auto* replay = std::get_if<ReplayCommand>(&command)) {
    code = execute_replay(*replay, console);
  } else if (const auto* diff = std::get_if<DiffCommand>(&command)) {
    code = execute_diff(*diff, console);
  } else if (const auto* report = std::get_if<ReportCommand>(&command)) {
    code = execute_report(*report, console);
  } else if (const auto* import = std::get_if<ImportCommand>(&command)) {
    code = execute_import(*import, console);
  } else if (const auto* inspect = std::get_if<InspectCommand>(&command)) {
    code = execute_inspect(*inspect, console);
  } else {
    console.out << std::get<PrintCommand>(command).text;
  }
  check_written(console);
  return static_cast<int>(code);
}

}  // namespace

void check_written(Console& console) {
  console.out.flush();
  if (!console.out) throw RealIoError("cannot write to standard output; what was to stand there is not all there");
}

int rehearse_main(const std::vector<std::string>& words, Console& console) {
  try {
    return execute(words, console);
  } catch (const Error& error) {
    console.out.flush();
    console.err << "rehearse: " << error.what() << std::endl;
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    console.out.flush();
    console.err << "rehearse: out of memory: the scenario or file needs more than there is; 'rehearse check' says how "
                   "much a scenario takes"
                << std::endl;
    return static_cast<int>(ExitCode::kBadInput);
  } catch (const std::exception& error) {
    console.out.flush();
    console.err << "rehearse: unexpected: " << error.what() << std::endl;
    return static_cast<int>(ExitCode::kExpectationFailed);
  }
}

}  // namespace rehearse
