#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/config/loader.h"

namespace rehearse {

enum class Format { kText, kJson, kCsv };  // kCsv: of cost alone

// What the user typed, read and checked as far as that goes without opening a file.

// --sweep path=a,b,c, and --seeds A..B.
struct Sweep {
  std::string path;
  std::vector<std::string> values;
  std::optional<std::uint64_t> first_seed;  // nothing: the scenario's own seed
  std::uint64_t last_seed = 0;
};

// Files for other tools, beside those of --out.
struct ExportOptions {
  // The first and the last, both counted.
  struct Steps {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  std::string trace;  // empty: none
  std::optional<Steps> trace_steps;
  std::string tensorboard;  // a directory
  std::string goal;
  std::string chakra;  // what the files' names begin with

  bool any() const { return !trace.empty() || !tensorboard.empty() || !goal.empty() || !chakra.empty(); }
};

struct RunCommand {
  std::string scenario;
  LoadOptions load;
  std::string out;  // empty: no files
  bool force = false;
  bool check_determinism = false;
  Format format = Format::kText;
  std::optional<Sweep> sweep;
  ExportOptions exports;
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
  ExportOptions exports;
};

struct DiffCommand {
  std::string a;
  std::string b;
  Format format = Format::kText;
};

struct InspectCommand {
  std::string path;
  Format format = Format::kText;
  std::string tensor;  // to be written as a NumPy file
  std::string npy;     // that file
};

// An HTML page of one run, or of two.
struct ReportCommand {
  std::string a;
  std::string b;    // empty: of one
  std::string out;  // the file; empty: report.html in the run's directory, of two comparison.html here
};

// What another tool measured.
struct ImportCommand {
  std::string file;
  std::string collective;  // empty: as the file says
  int ranks = 0;           // 0: as the file says
  Format format = Format::kText;
};

struct CheckCommand {
  std::string scenario;
  LoadOptions load;
  Format format = Format::kText;
};

// --collectives, and what goes with it, as typed; empty where it was not.
struct CollectiveWords {
  bool asked = false;  // --collectives
  std::string operation;
  std::string algorithm;
  std::string sizes;
  std::string factor;
};

struct CostCommand {
  std::string scenario;
  LoadOptions load;
  Format format = Format::kText;
  CollectiveWords collectives;
  std::vector<Sweep> sweeps;  // every combination of their values
  int jobs = 1;               // processes
};

struct FuzzCommand {
  std::uint64_t first_seed = 0;
  std::uint64_t last_seed = 0;
  int jobs = 1;                         // processes
  std::optional<std::int64_t> minutes;  // no round begins later
  std::string out;                      // results, or with `replay` a scenario; empty: no file
  std::string replay;                   // a seed or a scenario's path; empty: a campaign
  Format format = Format::kText;
};

// Something to print and nothing to do.
struct PrintCommand {
  std::string text;
};

using Command = std::variant<RunCommand, ResumeCommand, ReplayCommand, DiffCommand, InspectCommand, CheckCommand,
                             CostCommand, FuzzCommand, ReportCommand, ImportCommand, PrintCommand>;

// The options that a command takes: "--out".
std::vector<std::string> options_of(const std::string& command);

// `words` are the arguments without the program's name, at least one. Throws InputError that says what is wrong and
// what would be right.
Command parse_command_line(const std::vector<std::string>& words);

}  // namespace rehearse
