#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/config/loader.h"

namespace rehearse {

enum class Format { kText, kJson };

// What the user typed, read and checked as far as that goes without opening a file.

// --sweep path=a,b,c, and --seeds A..B.
struct Sweep {
  std::string path;
  std::vector<std::string> values;
  std::optional<std::uint64_t> first_seed;  // nothing: the scenario's own seed
  std::uint64_t last_seed = 0;
};

struct RunCommand {
  std::string scenario;
  LoadOptions load;
  std::string out;  // empty: no files
  bool force = false;
  bool check_determinism = false;
  Format format = Format::kText;
  std::optional<Sweep> sweep;
};

struct ResumeCommand {
  std::string checkpoint;
  bool reshard = false;
  std::vector<std::string> overrides;  // of how the job is cut; with reshard alone
  std::string out;
  bool force = false;
  Format format = Format::kText;
};

struct ReplayCommand {
  std::string directory;
  Format format = Format::kText;
};

struct DiffCommand {
  std::string a;
  std::string b;
  Format format = Format::kText;
};

struct InspectCommand {
  std::string path;
  Format format = Format::kText;
};

struct CheckCommand {
  std::string scenario;
  LoadOptions load;
  Format format = Format::kText;
};

enum class CostFormat { kText, kJson, kCsv };

struct CostCommand {
  std::string scenario;
  LoadOptions load;
  CostFormat format = CostFormat::kText;
  std::vector<Sweep> sweeps;  // every combination of their values
  int jobs = 1;               // processes
};

// Something to print and nothing to do.
struct PrintCommand {
  std::string text;
};

using Command = std::variant<RunCommand, ResumeCommand, ReplayCommand, DiffCommand, InspectCommand, CheckCommand,
                             CostCommand, PrintCommand>;

// `words` are the arguments without the program's name, at least one. Throws InputError that says what is wrong and
// what would be right.
Command parse_command_line(const std::vector<std::string>& words);

}  // namespace rehearse
