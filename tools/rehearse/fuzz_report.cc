#include "tools/rehearse/fuzz_report.h"

#include <algorithm>

#include "sim/fuzz/fault_kinds.h"
#include "tools/rehearse/interval_lines.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kMostShown = 20;
const std::vector<std::string> kPhases = {"DATA",      "FORWARD", "BACKWARD",   "REDUCE",
                                          "OPTIMIZER", "GATHER",  "CHECKPOINT", "LOAD"};

// A table of kinds by `columns`, transposed where there are more columns than a line holds: each kind has a row.
template <class Count>
std::string kinds_table(const std::vector<std::string>& columns, const Count& count, const Style& style) {
  std::vector<TextTable::Column> titles;
  titles.emplace_back("kind", Align::kLeft);
  for (const std::string& column : columns) {
    std::string title = column;
    std::transform(title.begin(), title.end(), title.begin(), [](char c) { return c == '_' ? ' ' : c | 0x20; });
    titles.emplace_back(title);
  }
  TextTable table(std::move(titles));
  for (int i = 0; i < kFaultNames; ++i) {
    const std::string kind = name_of(static_cast<FaultName>(i));
    std::vector<std::string> cells = {kind};
    for (const std::string& column : columns) {
      const std::int64_t runs = count(kind, column);
      cells.push_back(runs == 0 ? "-" : grouped(runs));
    }
    table.add(std::move(cells));
  }
  return table.text(style);
}

std::vector<std::string> columns_of(const std::set<std::string>& seen) { return {seen.begin(), seen.end()}; }

std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + grouped(count) + " " + name;
  return text;
}

std::string share(std::int64_t part, std::int64_t whole) {
  return grouped(part) + " (" +
         percent(static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1))) + ")";
}

}  // namespace

std::string fuzz_text(const FuzzTotals& totals, const Style& style) {
  std::vector<std::string> phases = kPhases;
  phases.emplace_back("TIME");
  std::string text = section_title("Runs in which a kind of fault struck in a phase", style);
  text += kinds_table(
      phases, [&](const auto& kind, const auto& phase) { return totals.reached.strikes(kind, phase); }, style);
  const std::vector<std::string> paths = columns_of(totals.reached.paths_seen());
  constexpr std::size_t kWide = 9;
  for (std::size_t first = 0; first < paths.size(); first += kWide) {
    const auto begin = paths.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = paths.begin() + static_cast<std::ptrdiff_t>(std::min(first + kWide, paths.size()));
    text += section_title("Runs in which a kind of fault struck and this was done", style);
    text += kinds_table(
        std::vector<std::string>(begin, end),
        [&](const auto& kind, const auto& path) { return totals.reached.paths(kind, path); }, style);
  }
  text += section_title("Runs", style);
  text += field_line("seeds", grouped(totals.seeds));
  text += field_line("struck", share(totals.struck, totals.seeds));
  text += field_line("recovered", share(totals.recovered, totals.seeds));
  text += field_line("outcomes", counts_text(totals.outcomes));
  text += field_line("weights of", counts_text(totals.references));
  text += field_line("found", totals.failing.empty() ? style.good("nothing")
                                                     : style.bad(grouped(std::ssize(totals.failing)) + " seeds") +
                                                           ": " + counts_text(totals.found));
  for (std::size_t i = 0; i < std::min(totals.failing.size(), kMostShown); ++i) {
    const SeedResult& one = totals.failing[i];
    const Finding& finding = one.result.findings.front();
    text += wrapped("seed " + std::to_string(one.seed) + ", " + finding.invariant + ": " + finding.detail, "  ", 110);
  }
  return text;
}

std::string fuzz_json(const FuzzTotals& totals) {
  Json json;
  json["seeds"] = totals.seeds;
  json["struck"] = totals.struck;
  json["recovered"] = totals.recovered;
  json["outcomes"] = totals.outcomes;
  json["references"] = totals.references;
  json["found"] = totals.found;
  json["failing"] = Json::array();
  for (const SeedResult& one : totals.failing) json["failing"].push_back(Json::parse(line_of(one)));
  json["strikes"] = Json::object();
  json["paths"] = Json::object();
  for (int i = 0; i < kFaultNames; ++i) {
    const std::string kind = name_of(static_cast<FaultName>(i));
    for (const std::string& phase : totals.reached.phases_seen()) {
      const std::int64_t runs = totals.reached.strikes(kind, phase);
      if (runs > 0) json["strikes"][kind][phase] = runs;
    }
    for (const std::string& path : totals.reached.paths_seen()) {
      const std::int64_t runs = totals.reached.paths(kind, path);
      if (runs > 0) json["paths"][kind][path] = runs;
    }
  }
  return json.dump(2) + "\n";
}

std::string plan_result_text(const PlanResult& result, const Style& style) {
  std::string strikes;
  for (const auto& [kind, phase] : result.reached.strikes)
    strikes += (strikes.empty() ? "" : ", ") + kind + " in " + phase;
  std::string paths;
  for (const std::string& path : result.reached.paths) paths += (paths.empty() ? "" : ", ") + path;
  std::string text = section_title("What came of it", style);
  text += field_line("outcome", name_of(result.outcome));
  text += field_line("struck", strikes.empty() ? "nothing" : strikes);
  text += field_line("recovery", paths.empty() ? "none" : paths);
  text += field_line("weights of", result.reference.empty() ? "nothing, as it has no final weights" : result.reference);
  text += field_line("events", grouped(static_cast<std::int64_t>(result.events)) + ", " + result.event_digest);
  for (const Finding& finding : result.findings) {
    text += "  " + style.bad("FAILED") + "  " + finding.invariant + ": " + finding.detail + "\n";
  }
  if (result.findings.empty()) text += "  " + style.good("all invariants hold") + "\n";
  return text;
}

}  // namespace rehearse
