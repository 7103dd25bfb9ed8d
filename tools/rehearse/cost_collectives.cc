#include "tools/rehearse/cost_collectives.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "sim/config/loader.h"
#include "sim/config/origins.h"
#include "sim/config/units_parser.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/cost.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

constexpr std::int64_t kElement = 4;
constexpr std::int64_t kMostFactor = 1'000'000;

[[noreturn]] void refuse(const std::string& what) {
  throw InputError("cost: " + what + "; see 'rehearse cost --help'");
}

Bytes parse_one_size(const std::string& text) {
  Bytes size;
  try {
    size = parse_size(text);
  } catch (const InputError& error) {
    refuse("--sizes: " + std::string(error.what()));
  }
  if (size.count() == 0 || size.count() % kElement != 0) {
    refuse("--sizes: found '" + text + "'; allowed: whole float32 elements, 4 bytes each, at least one");
  }
  return size;
}

std::int64_t parse_factor(const std::string& text) {
  if (text.empty()) return 2;
  std::int64_t factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc() || end != text.data() + text.size() || factor < 2 || factor > kMostFactor) {
    refuse("--factor: found '" + text + "'; allowed: a whole number from 2 to " + std::to_string(kMostFactor));
  }
  return factor;
}

std::vector<Bytes> parse_sizes(const CollectiveWords& words) {
  const std::string text = words.sizes.empty() ? "1KiB..1GiB" : words.sizes;
  const std::int64_t factor = parse_factor(words.factor);
  const std::size_t dots = text.find("..");
  const Bytes first = parse_one_size(text.substr(0, dots));
  const Bytes last = dots == std::string::npos ? first : parse_one_size(text.substr(dots + 2));
  if (last < first) refuse("--sizes: found '" + text + "'; allowed: the smallest and the largest, as in 1KiB..1GiB");
  std::vector<Bytes> sizes;
  for (Bytes size = first; size <= last; size = Bytes(size.count() * factor)) {
    sizes.push_back(size);
    if (size.count() > std::numeric_limits<std::int64_t>::max() / factor) break;
  }
  return sizes;
}

std::vector<Operation> parse_operation(const std::string& text) {
  if (text.empty()) return {Operation::kAllReduce};
  if (text == "all") return benched_operations();
  std::vector<std::string> names;
  for (const Operation operation : benched_operations()) {
    names.emplace_back(name_of(operation));
    if (text == names.back()) return {operation};
  }
  names.emplace_back("all");
  refuse("--operation: found '" + text + "'; " + suggestion(text, names));
}

double gigabytes_per_second(Bandwidth bandwidth) { return static_cast<double>(bandwidth.bits_per_second()) / 8e9; }
double microseconds(Duration time) { return static_cast<double>(time.ps()) / 1e6; }

// Simulated over closed form, minus 1.
double over_closed_form(const CollectiveTiming& timing) {
  const Duration form = *timing.closed_form;
  return form == Duration() ? 0 : microseconds(timing.run.time) / microseconds(form) - 1;
}

std::string closed_form_cell(const CollectiveTiming& timing) {
  return timing.closed_form.has_value() ? decimals(microseconds(*timing.closed_form), 2) : "-";
}
std::string difference_cell(const CollectiveTiming& timing) {
  if (!timing.closed_form.has_value()) return "-";
  if (timing.run.time == *timing.closed_form) return "exact";
  return (over_closed_form(timing) > 0 ? "+" : "") + significant(100 * over_closed_form(timing), 2) + "%";
}

std::string table_text(const std::vector<CollectiveTiming>& timings, const Style& style) {
  TextTable table({{"size"},
                   {"time us"},
                   {"algbw GB/s"},
                   {"busbw GB/s"},
                   {"messages"},
                   {"bytes a rank"},
                   {"formula us"},
                   {"off it"},
                   {"busiest link", Align::kLeft},
                   {"busy"}});
  for (const CollectiveTiming& timing : timings) {
    const LinkUse& link = timing.run.bottleneck;
    table.add({to_string(timing.size), decimals(microseconds(timing.run.time), 2),
               decimals(gigabytes_per_second(timing.algbw), 2), decimals(gigabytes_per_second(timing.busbw), 2),
               grouped(timing.run.messages), grouped(timing.run.bytes_of_a_rank.count()), closed_form_cell(timing),
               difference_cell(timing), link.messages == 0 ? "-" : link.name,
               link.messages == 0 ? "-" : decimals(static_cast<double>(link.utilisation_ppb) / 1e7, 1) + "%"});
  }
  return table.text(style);
}

Json timing_json(const CollectiveTiming& timing) {
  const LinkUse& link = timing.run.bottleneck;
  Json json;
  json["operation"] = name_of(timing.algorithm.operation);
  json["algorithm"] = name_of(timing.algorithm);
  json["size"] = timing.size.count();
  json["seconds"] = json_number(seconds_of(timing.run.time));
  json["algbw_bytes_per_second"] = json_number(static_cast<double>(timing.algbw.bits_per_second()) / 8);
  json["busbw_bytes_per_second"] = json_number(static_cast<double>(timing.busbw.bits_per_second()) / 8);
  json["messages"] = timing.run.messages;
  json["bytes"] = timing.run.bytes.count();
  json["bytes_of_a_rank"] = timing.run.bytes_of_a_rank.count();
  if (timing.closed_form.has_value()) json["formula_seconds"] = json_number(seconds_of(*timing.closed_form));
  if (link.messages > 0) {
    json["bottleneck"] = Json{{"link", link.name},
                              {"messages", link.messages},
                              {"bytes", link.bytes.count()},
                              {"busy_seconds", json_number(seconds_of(link.busy))},
                              {"utilisation", json_number(static_cast<double>(link.utilisation_ppb) / 1e9)}};
  }
  return json;
}

std::string csv_row(const CollectiveTiming& timing) {
  const LinkUse& link = timing.run.bottleneck;
  const bool used = link.messages > 0;
  const auto bytes_per_second = [](Bandwidth rate) {
    return shortest_text(static_cast<double>(rate.bits_per_second()) / 8);
  };
  return csv_line({name_of(timing.algorithm.operation), name_of(timing.algorithm), std::to_string(timing.size.count()),
                   shortest_text(seconds_of(timing.run.time)), bytes_per_second(timing.algbw),
                   bytes_per_second(timing.busbw), std::to_string(timing.run.messages),
                   std::to_string(timing.run.bytes_of_a_rank.count()),
                   timing.closed_form.has_value() ? shortest_text(seconds_of(*timing.closed_form)) : "",
                   used ? link.name : "", used ? shortest_text(static_cast<double>(link.utilisation_ppb) / 1e9) : ""});
}

}  // namespace

CollectiveTable collective_table(const CollectiveWords& words, int ranks, const AlgorithmOptions& options) {
  CollectiveTable table;
  table.sizes = parse_sizes(words);
  std::vector<std::string> names;
  for (const Operation operation : parse_operation(words.operation)) {
    for (const BenchedAlgorithm& algorithm : algorithms_of(operation)) {
      names.push_back(name_of(algorithm));
      if (!words.algorithm.empty() && words.algorithm != names.back()) continue;
      // Without hosts it would be the ring under another name.
      const bool needs_hosts =
          algorithm == BenchedAlgorithm(Operation::kAllReduce, static_cast<int>(AllReduceAlgorithm::kHierarchical));
      if (can_do(algorithm, ranks, options) && (!needs_hosts || options.ranks_per_host > 1)) {
        table.algorithms.push_back(algorithm);
      } else if (!words.algorithm.empty()) {
        refuse("--algorithm: " + words.algorithm + " cannot do " + std::to_string(ranks) + " ranks on hosts of " +
               std::to_string(options.ranks_per_host) + "; allowed: full hosts of 2 ranks or more");
      }
    }
  }
  if (table.algorithms.empty()) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    refuse("--algorithm: found '" + words.algorithm + "'; " + suggestion(words.algorithm, names));
  }
  return table;
}

ExitCode execute_cost_collectives(const CostCommand& command, Console& console) {
  const Scenario scenario = load_scenario(command.scenario, command.load);
  if (scenario.job.has_value()) {
    throw InputError("cost: " + command.scenario +
                     " has a job { }, whose messages are not simulated; allowed: a "
                     "scenario with a model");
  }
  AlgorithmOptions options = scenario.train.collectives.options;
  options.ranks_per_host = scenario.hosts.ranks_per_host;
  const CollectiveTable table = collective_table(command.collectives, scenario.ranks, options);
  const BenchCluster cluster = bench_cluster(scenario);
  const Style style(console.colors);

  Json rows = Json::array();
  if (command.format == Format::kText) {
    console.out << title_report(scenario, style)
                << field_line("ranks", std::to_string(scenario.ranks) + hosts_text(scenario))
                << network_field(scenario);
  } else if (command.format == Format::kCsv) {
    console.out << "operation,algorithm,size,seconds,algbw_bytes_per_second,busbw_bytes_per_second,messages,"
                   "bytes_of_a_rank,formula_seconds,bottleneck,utilisation\n";
  }
  for (const BenchedAlgorithm& algorithm : table.algorithms) {
    std::vector<CollectiveTiming> timings;
    for (const Bytes size : table.sizes) {
      if (console.interrupted()) return ExitCode::kInterrupted;
      timings.push_back(time_collective(cluster, algorithm, size, options));
      // A barrier has no size to vary.
      if (algorithm.operation == Operation::kBarrier) break;
    }
    if (command.format == Format::kText) {
      console.out << section_title(std::string(name_of(algorithm.operation)) + ", " + name_of(algorithm), style)
                  << table_text(timings, style);
    }
    for (const CollectiveTiming& timing : timings) {
      if (command.format == Format::kCsv) console.out << csv_row(timing);
      if (command.format == Format::kJson) rows.push_back(timing_json(timing));
    }
  }
  if (command.format == Format::kJson) {
    Json json;
    json["scenario"] = scenario.name;
    json["scenario_sha256"] = scenario.scenario_sha256;
    json["ranks"] = scenario.ranks;
    json["collectives"] = std::move(rows);
    console.out << json.dump(2) << "\n";
  }
  return ExitCode::kDone;
}

}  // namespace rehearse
