#include "tools/rehearse/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "sim/config/origins.h"
#include "sim/config/reshard.h"
#include "tools/export/field_reference.h"
#include "tools/rehearse/completion.h"
#include "tools/rehearse/fuzz_command.h"
#include "tools/rehearse/help.h"
#include "tools/rehearse/man_page.h"
#include "tools/rehearse/option_values.h"
#include "tools/rehearse/version.h"

namespace rehearse {
namespace {

namespace po = boost::program_options;

// What a command takes besides its one argument.
struct Shape {
  std::string command;
  std::string argument;   // "SCENARIO"
  bool loads = false;     // --seed, --set
  bool writes = false;    // --out, --force
  bool formats = true;    // --format
  bool draws = false;     // --out FILE
  bool checks = false;    // --check-determinism
  bool cuts = false;      // --reshard, --set
  bool sweeps = false;    // --sweep, --seeds
  bool costs = false;     // --collectives and what goes with it, --sweep, --jobs
  bool exports = false;   // --trace, --trace-steps, --tensorboard, --goal, --chakra
  bool imports = false;   // --collective, --ranks
  bool extracts = false;  // --tensor, --npy
  std::size_t arguments = 1;
  std::size_t at_least = 1;  // where fewer will do
};

std::vector<std::string> option_names(const Shape& shape) {
  std::vector<std::string> names = {"--help"};
  if (shape.formats) names.emplace_back("--format");
  if (shape.draws) names.emplace_back("--out");
  if (shape.imports) names.insert(names.end(), {"--collective", "--ranks"});
  if (shape.extracts) names.insert(names.end(), {"--tensor", "--npy"});
  if (shape.loads) names.insert(names.end(), {"--seed", "--set"});
  if (shape.writes) names.insert(names.end(), {"--out", "--force"});
  if (shape.checks) names.emplace_back("--check-determinism");
  if (shape.cuts) names.insert(names.end(), {"--reshard", "--set"});
  if (shape.sweeps) names.insert(names.end(), {"--sweep", "--seeds"});
  if (shape.costs) names.insert(names.end(), {"--sweep", "--jobs"});
  if (shape.exports) names.insert(names.end(), {"--trace", "--trace-steps", "--tensorboard", "--goal", "--chakra"});
  if (shape.costs) names.insert(names.end(), {"--collectives", "--operation", "--algorithm", "--sizes", "--factor"});
  return names;
}

Format parse_format(const Shape& shape, const std::string& text) {
  if (text == "text") return Format::kText;
  if (text == "json") return Format::kJson;
  if (text == "csv" && shape.costs) return Format::kCsv;
  refuse(shape.command, "--format: found '" + text + "'; allowed: text, json" + (shape.costs ? ", csv" : ""));
}

// The words of one command, taken apart.
struct Parsed {
  bool help = false;
  std::string argument;
  std::string second;  // where the command takes two
  LoadOptions load;
  std::string out;
  bool force = false;
  bool check_determinism = false;
  bool reshard = false;
  Format format = Format::kText;
  std::optional<Sweep> sweep;
  CollectiveWords collectives;
  std::vector<Sweep> sweeps;
  int jobs = 1;
  ExportOptions exports;
  std::map<std::string, std::string> own;  // options of one command alone, by name
};

ExportOptions parse_exports(const std::string& command, const po::variables_map& values) {
  ExportOptions exports;
  const auto path = [&](const char* option) {
    if (values.count(option) == 0) return std::string();
    const auto& text = values[option].as<std::string>();
    if (text.empty()) refuse(command, "--" + std::string(option) + ": found an empty path");
    return text;
  };
  exports.trace = path("trace");
  exports.tensorboard = path("tensorboard");
  exports.goal = path("goal");
  exports.chakra = path("chakra");
  if (values.count("trace-steps") != 0) {
    exports.trace_steps = parse_steps(command, values["trace-steps"].as<std::string>());
    if (exports.trace.empty()) refuse(command, "--trace-steps has no meaning without --trace");
  }
  return exports;
}

// What goes with --collectives.
CollectiveWords collective_words(const std::string& command, const po::variables_map& values) {
  CollectiveWords words;
  words.asked = values.count("collectives") != 0;
  const auto word = [&](const char* name) {
    if (values.count(name) == 0) return std::string();
    if (!words.asked) refuse(command, std::string("--") + name + " has no meaning without --collectives");
    return values[name].as<std::string>();
  };
  words.operation = word("operation");
  words.algorithm = word("algorithm");
  words.sizes = word("sizes");
  words.factor = word("factor");
  if (words.asked && values.count("sweep") != 0) {
    refuse(command, "--collectives takes no --sweep; allowed: --sizes and --factor, or another --set each time");
  }
  return words;
}

void parse_cost_options(const std::string& command, const po::variables_map& values, Parsed& parsed) {
  parsed.collectives = collective_words(command, values);
  if (values.count("sweep") != 0) {
    for (const std::string& text : values["sweep"].as<std::vector<std::string>>()) {
      parsed.sweeps.push_back(parse_sweep(command, text));
      const std::string& path = parsed.sweeps.back().path;
      const auto same =
          std::count_if(parsed.sweeps.begin(), parsed.sweeps.end(), [&](const Sweep& one) { return one.path == path; });
      if (same > 1) refuse(command, "--sweep " + path + " is given more than once; allowed: all its values at once");
    }
  }
  if (values.count("jobs") == 0) return;
  parsed.jobs = parse_jobs(command, values["jobs"].as<std::string>());
  if (parsed.sweeps.empty()) refuse(command, "--jobs has no meaning without --sweep");
}

[[noreturn]] void refuse_unknown(const Shape& shape, std::string option) {
  option = option.substr(0, option.find('='));
  if (shape.cuts && option == "--seed") {
    refuse(shape.command,
           "--seed is not offered: a checkpoint continues its own run and no other; to change the scenario, use "
           "'rehearse run'");
  }
  refuse(shape.command, "unknown option '" + option + "'; " + suggestion(option, option_names(shape)));
}

po::variables_map read_options(const Shape& shape, const std::vector<std::string>& words) {
  po::options_description all;
  auto add = all.add_options();
  add("help,h", "");
  if (shape.formats) add("format", po::value<std::string>()->default_value("text"));
  if (shape.draws) add("out", po::value<std::string>());
  for (const char* option : {"collective", "ranks"}) {
    if (shape.imports) add(option, po::value<std::string>());
  }
  for (const char* option : {"tensor", "npy"}) {
    if (shape.extracts) add(option, po::value<std::string>());
  }
  add("argument", po::value<std::vector<std::string>>());
  if (shape.loads) add("seed", po::value<std::string>());
  if (shape.loads || shape.cuts) add("set", po::value<std::vector<std::string>>()->composing());
  if (shape.cuts) add("reshard", "");
  if (shape.writes) {
    add("out", po::value<std::string>());
    add("force", "");
  }
  if (shape.checks) add("check-determinism", "");
  if (shape.sweeps) {
    add("sweep", po::value<std::string>());
    add("seeds", po::value<std::string>());
  }
  if (shape.costs) {
    add("sweep", po::value<std::vector<std::string>>()->composing());
    add("jobs", po::value<std::string>());
    add("collectives", "");
    for (const char* name : {"operation", "algorithm", "sizes", "factor"}) add(name, po::value<std::string>());
  }
  if (shape.exports) {
    add("trace", po::value<std::string>());
    for (const char* option : {"trace-steps", "tensorboard", "goal", "chakra"}) add(option, po::value<std::string>());
  }
  po::positional_options_description positions;
  positions.add("argument", -1);
  // No guessing from prefixes: a script that works by one would break with the next option.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(words).options(all).positional(positions).style(style).run(), values);
  } catch (const po::unknown_option& error) {
    refuse_unknown(shape, error.get_option_name());
  } catch (const po::multiple_occurrences& error) {
    refuse(shape.command, error.get_option_name() + " is given more than once");
  } catch (const po::error_with_option_name& error) {
    refuse(shape.command, error.what());
  } catch (const po::error& error) {
    refuse(shape.command, error.what());
  }
  return values;
}

Parsed parse(const Shape& shape, const std::vector<std::string>& words) {
  // Asked for help, nothing else on the line matters.
  Parsed parsed;
  parsed.help = std::find(words.begin(), words.end(), "--help") != words.end();
  if (parsed.help) return parsed;

  const po::variables_map values = read_options(shape, words);
  parsed.help = values.count("help") != 0;
  if (parsed.help) return parsed;
  if (shape.formats) parsed.format = parse_format(shape, values["format"].as<std::string>());
  if (values.count("argument") == 0) refuse(shape.command, "needs a " + shape.argument);
  const auto arguments = values["argument"].as<std::vector<std::string>>();
  if (shape.arguments == 1 && arguments.size() > 1) {
    refuse(shape.command, "takes one " + shape.argument + ", found '" + arguments[0] + "' and '" + arguments[1] + "'");
  }
  if (arguments.size() != shape.arguments && arguments.size() != shape.at_least) {
    refuse(shape.command, "takes " + shape.argument + ", found " + std::to_string(arguments.size()) + " arguments");
  }
  parsed.argument = arguments.front();
  if (arguments.size() == 2) parsed.second = arguments.back();
  for (const std::string& argument : arguments) {
    if (argument.empty()) refuse(shape.command, shape.argument + ": found an empty path");
  }
  if (values.count("seed") != 0) parsed.load.seed = parse_seed(shape.command, values["seed"].as<std::string>());
  if (values.count("set") != 0) parsed.load.overrides = values["set"].as<std::vector<std::string>>();
  if (values.count("out") != 0) {
    parsed.out = values["out"].as<std::string>();
    if (parsed.out.empty()) refuse(shape.command, "--out: found an empty path");
  }
  parsed.reshard = values.count("reshard") != 0;
  if (shape.cuts && !parsed.reshard && !parsed.load.overrides.empty()) {
    refuse(shape.command, "--set " + parsed.load.overrides.front() +
                              ": a checkpoint continues its own run, on as many ranks as it had; to continue it on "
                              "others, add --reshard; to change the scenario, use 'rehearse run'");
  }
  if (parsed.reshard && parsed.load.overrides.empty()) {
    refuse(shape.command, "--reshard needs to be told how: --set cluster.ranks=M");
  }
  if (shape.costs) {
    parse_cost_options(shape.command, values, parsed);
  } else if (values.count("sweep") != 0) {
    parsed.sweep = parse_sweep(shape.command, values["sweep"].as<std::string>());
    if (values.count("out") != 0 || values.count("check-determinism") != 0 || values.count("seed") != 0) {
      refuse(shape.command, "--sweep takes no --out, --check-determinism or --seed; allowed: --set, --seeds, --format");
    }
  }
  if (values.count("seeds") != 0) {
    if (!parsed.sweep.has_value()) refuse(shape.command, "--seeds has no meaning without --sweep");
    parse_seeds(shape.command, values["seeds"].as<std::string>(), *parsed.sweep);
  }
  parsed.exports = parse_exports(shape.command, values);
  if (parsed.sweep.has_value() && parsed.exports.any()) {
    refuse(shape.command, "--sweep takes no --trace and its like; allowed: --set, --seeds, --format");
  }
  for (const char* option : {"collective", "ranks", "tensor", "npy"}) {
    if (values.count(option) != 0) parsed.own[option] = values[option].as<std::string>();
  }
  parsed.check_determinism = values.count("check-determinism") != 0;
  parsed.force = values.count("force") != 0;
  if (parsed.force && parsed.out.empty()) refuse(shape.command, "--force has no meaning without --out");
  return parsed;
}

Shape shape_of(const std::string& command) {
  Shape shape;
  shape.command = command;
  shape.argument = command == "resume"    ? "CHECKPOINT_DIR"
                   : command == "inspect" ? "PATH"
                   : command == "replay"  ? "DIR"
                   : command == "diff"    ? "A B"
                   : command == "report"  ? "DIR, or A B"
                   : command == "import"  ? "nccl-tests FILE"
                                          : "SCENARIO";
  shape.arguments = command == "diff" || command == "report" || command == "import" ? 2 : 1;
  shape.at_least = command == "diff" || command == "import" ? 2 : 1;
  shape.imports = command == "import";
  shape.extracts = command == "inspect";
  shape.draws = command == "report";
  shape.formats = command != "report";
  shape.checks = command == "run";
  shape.cuts = command == "resume";
  shape.sweeps = command == "run";
  shape.costs = command == "cost";
  shape.exports = command == "run" || command == "replay";
  shape.loads = command == "run" || command == "check" || command == "cost";
  shape.writes = command == "run" || command == "resume";
  return shape;
}

bool is_command(const std::string& word) {
  const std::vector<std::string>& names = command_names();
  return std::find(names.begin(), names.end(), word) != names.end();
}

ImportCommand import_of(Parsed& parsed) {
  if (parsed.argument != "nccl-tests") {
    refuse("import", "found '" + parsed.argument + "'; allowed: nccl-tests FILE");
  }
  ImportCommand import;
  import.file = parsed.second;
  import.format = parsed.format;
  import.collective = parsed.own["collective"];
  const std::string& ranks = parsed.own["ranks"];
  if (ranks.empty()) return import;
  const auto [end, error] = std::from_chars(ranks.data(), ranks.data() + ranks.size(), import.ranks);
  if (error != std::errc() || end != ranks.data() + ranks.size() || import.ranks < 2 || import.ranks > 65536) {
    refuse("import", "--ranks: found '" + ranks + "'; allowed: 2 to 65536");
  }
  return import;
}

// Commands that print something about rehearse itself.
bool prints(const std::string& command) { return command == "fields" || command == "completion" || command == "man"; }

PrintCommand printed(const std::string& command, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") return PrintCommand{command_help(command)};
  }
  for (const std::string& argument : arguments) {
    if (!argument.starts_with('-')) continue;
    refuse(command, "unknown option '" + argument + "'; " + suggestion(argument, {"--help"}));
  }
  const std::size_t most = command == "man" ? 0 : 1;
  if (arguments.size() > most) refuse(command, "takes no '" + arguments[most] + "'");
  if (command == "man") return PrintCommand{man_page()};
  if (command == "fields") return PrintCommand{field_reference(arguments.empty() ? "" : arguments.front())};
  const std::string shell = arguments.empty() ? "" : arguments.front();
  if (shell == "bash") return PrintCommand{bash_completion()};
  if (shell == "zsh") return PrintCommand{zsh_completion()};
  refuse(command, "found " + (shell.empty() ? "nothing" : "'" + shell + "'") + "; allowed: bash, zsh");
}

}  // namespace

std::vector<std::string> options_of(const std::string& command) {
  if (prints(command)) return {"--help"};
  if (command == "fuzz") return fuzz_option_names();
  std::vector<std::string> names = option_names(shape_of(command));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Command parse_command_line(const std::vector<std::string>& words) {
  const std::string& command = words.front();
  if (command == "--version") return PrintCommand{std::string("rehearse ") + version() + "\n"};
  if (command == "--help" || command == "-h" || command == "help") {
    if (words.size() > 1 && is_command(words[1])) return PrintCommand{command_help(words[1])};
    return PrintCommand{general_help()};
  }
  if (!is_command(command)) {
    std::vector<std::string> known = command_names();
    known.insert(known.end(), {"--help", "--version"});
    const std::string kind = command.starts_with('-') ? "option" : "command";
    throw InputError("unknown " + kind + " '" + command + "'; " + suggestion(command, known) +
                     "; see 'rehearse --help'");
  }

  if (prints(command)) return printed(command, {words.begin() + 1, words.end()});
  if (command == "fuzz") {
    const std::optional<FuzzCommand> fuzz = parse_fuzz({words.begin() + 1, words.end()});
    if (fuzz.has_value()) return *fuzz;
    return PrintCommand{command_help(command)};
  }
  Parsed parsed = parse(shape_of(command), {words.begin() + 1, words.end()});
  if (parsed.help) return PrintCommand{command_help(command)};
  if (command == "run") {
    return RunCommand{parsed.argument,
                      std::move(parsed.load),
                      parsed.out,
                      parsed.force,
                      parsed.check_determinism,
                      parsed.format,
                      std::move(parsed.sweep),
                      std::move(parsed.exports)};
  }
  if (command == "resume") {
    check_reshards(parsed.load.overrides);
    return ResumeCommand{parsed.argument, parsed.reshard, std::move(parsed.load.overrides),
                         parsed.out,      parsed.force,   parsed.format};
  }
  if (command == "cost") {
    return CostCommand{
        parsed.argument, std::move(parsed.load), parsed.format, std::move(parsed.collectives), std::move(parsed.sweeps),
        parsed.jobs};
  }
  if (command == "check") return CheckCommand{parsed.argument, std::move(parsed.load), parsed.format};
  if (command == "replay") return ReplayCommand{parsed.argument, parsed.format, std::move(parsed.exports)};
  if (command == "report") return ReportCommand{parsed.argument, parsed.second, parsed.out};
  if (command == "diff") return DiffCommand{parsed.argument, parsed.second, parsed.format};
  if (command == "import") return import_of(parsed);
  if (parsed.own.contains("npy") != parsed.own.contains("tensor")) {
    refuse(command, "--tensor NAME and --npy FILE go together");
  }
  return InspectCommand{parsed.argument, parsed.format, parsed.own["tensor"], parsed.own["npy"]};
}

}  // namespace rehearse
