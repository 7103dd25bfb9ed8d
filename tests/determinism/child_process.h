#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rehearse::testing_determinism {

// How a child process is started; everything that is not set is as in this process.
struct ChildSettings {
  std::vector<std::string> words;                       // after the program's name
  std::optional<std::vector<std::string>> environment;  // "NAME=value"
  std::vector<std::string> more_environment;            // on top of either
  std::string directory;                                // to work in
  bool stdout_to_file = false;                          // else to a pipe
  std::string program_name = "rehearse";                // argv[0]
  // Called in the child before the program; false where this machine does not allow it.
  std::function<bool()> before;
};

struct ChildResult {
  int code = 0;  // of exit(); 1000 + the signal that ended it
  std::string out;
  bool not_allowed = false;  // what `before` wanted
};

// Runs the program rehearse in a process of its own, to its end.
ChildResult run_child(const ChildSettings& settings);

}  // namespace rehearse::testing_determinism
