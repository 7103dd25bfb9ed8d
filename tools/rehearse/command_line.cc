#include "tools/rehearse/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "sim/config/origins.h"
#include "sim/config/reshard.h"
#include "tools/rehearse/help.h"
#include "tools/rehearse/version.h"

namespace rehearse {
namespace {

constexpr std::uint64_t kMostSeeds = 1'000'000;
constexpr int kMostJobs = 1024;

namespace po = boost::program_options;

[[noreturn]] void refuse(const std::string& command, const std::string& what) {
  throw InputError(command + ": " + what + "; see 'rehearse " + command + " --help'");
}

// What a command takes besides its one argument.
struct Shape {
  std::string command;
  std::string argument;  // "SCENARIO"
  bool loads = false;    // --seed, --set
  bool writes = false;   // --out, --force
  bool checks = false;   // --check-determinism
  bool cuts = false;     // --reshard, --set
  bool sweeps = false;   // --sweep, --seeds
  bool costs = false;    // --sweep, again and again, --jobs, --format csv
  std::size_t arguments = 1;
};

std::vector<std::string> option_names(const Shape& shape) {
  std::vector<std::string> names = {"--format", "--help"};
  if (shape.loads) names.insert(names.end(), {"--seed", "--set"});
  if (shape.writes) names.insert(names.end(), {"--out", "--force"});
  if (shape.checks) names.emplace_back("--check-determinism");
  if (shape.cuts) names.insert(names.end(), {"--reshard", "--set"});
  if (shape.sweeps) names.insert(names.end(), {"--sweep", "--seeds"});
  if (shape.costs) names.insert(names.end(), {"--sweep", "--jobs"});
  return names;
}

std::uint64_t parse_seed(const std::string& command, const std::string& text, const std::string& option = "--seed") {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse(command, option + ": found '" + text + "'; allowed: a whole number from 0 to 18446744073709551615");
  }
  return seed;
}

Format parse_format(const std::string& command, const std::string& text) {
  if (text == "text") return Format::kText;
  if (text == "json") return Format::kJson;
  refuse(command, "--format: found '" + text + "'; allowed: text, json");
}

CostFormat parse_cost_format(const std::string& command, const std::string& text) {
  if (text == "text") return CostFormat::kText;
  if (text == "json") return CostFormat::kJson;
  if (text == "csv") return CostFormat::kCsv;
  refuse(command, "--format: found '" + text + "'; allowed: text, json, csv");
}

int parse_jobs(const std::string& command, const std::string& text) {
  int jobs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (error != std::errc() || end != text.data() + text.size() || jobs < 1 || jobs > kMostJobs) {
    refuse(command, "--jobs: found '" + text + "'; allowed: a whole number from 1 to " + std::to_string(kMostJobs));
  }
  return jobs;
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
  CostFormat cost_format = CostFormat::kText;
  std::vector<Sweep> sweeps;
  int jobs = 1;
};

Sweep parse_sweep(const std::string& command, const std::string& text) {
  Sweep sweep;
  const std::size_t equals = text.find('=');
  sweep.path = text.substr(0, equals);
  for (std::size_t start = equals; start != std::string::npos;) {
    const std::size_t end = text.find(',', start + 1);
    sweep.values.push_back(text.substr(start + 1, end == std::string::npos ? end : end - start - 1));
    start = end;
  }
  const bool empty = std::any_of(sweep.values.begin(), sweep.values.end(), [](const auto& one) { return one.empty(); });
  if (sweep.path.empty() || sweep.values.empty() || empty) {
    refuse(command, "--sweep: found '" + text + "'; allowed: a field and its values, as in path=a,b,c");
  }
  return sweep;
}

void parse_cost_options(const std::string& command, const po::variables_map& values, Parsed& parsed) {
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

void parse_seeds(const std::string& command, const std::string& text, Sweep& sweep) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    refuse(command, "--seeds: found '" + text + "'; allowed: the first and the last, as in 1..16");
  }
  sweep.first_seed = parse_seed(command, text.substr(0, dots), "--seeds");
  sweep.last_seed = parse_seed(command, text.substr(dots + 2), "--seeds");
  if (sweep.last_seed < *sweep.first_seed) {
    refuse(command, "--seeds: found '" + text + "'; allowed: the first and the last, as in 1..16");
  }
  if (sweep.last_seed - *sweep.first_seed >= kMostSeeds) {
    refuse(command, "--seeds: found '" + text + "'; allowed: at most " + std::to_string(kMostSeeds) + " seeds");
  }
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
  add("format", po::value<std::string>()->default_value("text"));
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
  const auto format = values["format"].as<std::string>();
  if (shape.costs) {
    parsed.cost_format = parse_cost_format(shape.command, format);
  } else {
    parsed.format = parse_format(shape.command, format);
  }
  if (values.count("argument") == 0) refuse(shape.command, "needs a " + shape.argument);
  const auto arguments = values["argument"].as<std::vector<std::string>>();
  if (shape.arguments == 1 && arguments.size() > 1) {
    refuse(shape.command, "takes one " + shape.argument + ", found '" + arguments[0] + "' and '" + arguments[1] + "'");
  }
  if (arguments.size() != shape.arguments) {
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
                                          : "SCENARIO";
  shape.arguments = command == "diff" ? 2 : 1;
  shape.checks = command == "run";
  shape.cuts = command == "resume";
  shape.sweeps = command == "run";
  shape.costs = command == "cost";
  shape.loads = command == "run" || command == "check" || command == "cost";
  shape.writes = command == "run" || command == "resume";
  return shape;
}

bool is_command(const std::string& word) {
  const std::vector<std::string>& names = command_names();
  return std::find(names.begin(), names.end(), word) != names.end();
}

}  // namespace

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

  Parsed parsed = parse(shape_of(command), {words.begin() + 1, words.end()});
  if (parsed.help) return PrintCommand{command_help(command)};
  if (command == "run") {
    return RunCommand{parsed.argument, std::move(parsed.load), parsed.out, parsed.force, parsed.check_determinism,
                      parsed.format,   std::move(parsed.sweep)};
  }
  if (command == "resume") {
    check_reshards(parsed.load.overrides);
    return ResumeCommand{parsed.argument, parsed.reshard, std::move(parsed.load.overrides),
                         parsed.out,      parsed.force,   parsed.format};
  }
  if (command == "cost") {
    return CostCommand{parsed.argument, std::move(parsed.load), parsed.cost_format, std::move(parsed.sweeps),
                       parsed.jobs};
  }
  if (command == "check") return CheckCommand{parsed.argument, std::move(parsed.load), parsed.format};
  if (command == "replay") return ReplayCommand{parsed.argument, parsed.format};
  if (command == "diff") return DiffCommand{parsed.argument, parsed.second, parsed.format};
  return InspectCommand{parsed.argument, parsed.format};
}

}  // namespace rehearse
