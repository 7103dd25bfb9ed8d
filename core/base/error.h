#pragma once

#include <stdexcept>
#include <string>

namespace rehearse {

// Exit codes of the command, design section 4.
enum class ExitCode : int {
  kDone = 0,
  kExpectationFailed = 1,
  kBadInput = 2,
  kDeadlock = 3,
  kRealIo = 4,
  kInterrupted = 130,
};

// What a user, a file, a disk or a network can cause. The message names the file, line and field where there is one,
// the value found and the values allowed; `exit_code` is what the command ends with when nobody handles it.
class Error : public std::runtime_error {
 public:
  Error(ExitCode exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

// A bad command line, scenario, checkpoint or other input file.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(ExitCode::kBadInput, message) {}
};

// Reading or writing real files failed.
class RealIoError : public Error {
 public:
  explicit RealIoError(const std::string& message) : Error(ExitCode::kRealIo, message) {}
};

}  // namespace rehearse
