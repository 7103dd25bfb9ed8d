#include <algorithm>
#include <map>
#include <utility>

#include "tools/rehearse/cost.h"
#include "tools/rehearse/interval_lines.h"
#include "tools/rehearse/report.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kLinksShown = 5;
constexpr std::size_t kPiecesShown = 12;

std::string percent_of(Duration part, Duration whole) {
  return whole == Duration() ? "" : percent(part.to_seconds() / whole.to_seconds());
}

std::string gigabytes(double bytes_per_second) {
  return bytes_per_second == 0 ? "" : significant(bytes_per_second / 1e9, 4);
}

// "2", "0.05": how often a step.
std::string count_text(double count) { return significant(count, 4); }

std::string split_table(const CostReport& report, const Style& style) {
  TextTable table({{"", Align::kLeft}, {"time"}, {"of the step"}});
  const TimeSplit& split = report.split;
  table.add({"computing, nothing communicated", to_string(split.computing), percent_of(split.computing, report.step)});
  table.add(
      {"communication hidden by computing", to_string(split.overlapped), percent_of(split.overlapped, report.step)});
  table.add({"exposed communication", to_string(split.exposed), percent_of(split.exposed, report.step)});
  table.add(
      {"in collectives, waiting for late ranks", to_string(split.waiting), percent_of(split.waiting, report.step)});
  table.add({"other: storage, and between", to_string(split.other), percent_of(split.other, report.step)});
  std::string out = section_title("A step of a rank: " + to_string(report.step) + ", mean of " + grouped(report.steps) +
                                      " steps and all ranks",
                                  style) +
                    table.text(style);
  if (report.shortest_step != report.longest_step) {
    out += "  from the first rank's beginning to the last one's end: " + to_string(report.shortest_step) + " to " +
           to_string(report.longest_step) + "\n";
  }
  return out;
}

std::string collective_table(const CostReport& report, const Style& style) {
  if (report.collectives.empty()) return "";
  TextTable table({{"collective", Align::kLeft},
                   {"phase", Align::kLeft},
                   {"algorithm", Align::kLeft},
                   {"calls"},
                   {"size"},
                   {"messages"},
                   {"bytes a rank"},
                   {"time"},
                   {"formula"},
                   {"off"},
                   {"algbw GB/s"},
                   {"busbw GB/s"},
                   {"of the step"}});
  std::string notes;
  for (const CollectiveCost& cost : report.collectives) {
    const std::string name = name_of(cost.operation);
    std::string off;
    if (cost.formula.has_value() && *cost.formula > Duration()) {
      const double difference = cost.time.to_seconds() / cost.formula->to_seconds() - 1;
      off = cost.difference.empty() ? "exact" : (difference >= 0 ? "+" : "") + percent(difference);
    }
    table.add({name, name_of(cost.phase), cost.algorithm, count_text(cost.calls), grouped(cost.size.count()),
               cost.messages.has_value() ? grouped(*cost.messages) : "",
               cost.bytes.has_value() ? grouped(cost.bytes->count() / report.ranks) : "", to_string(cost.time),
               cost.formula.has_value() ? to_string(*cost.formula) : "", off, gigabytes(cost.algorithm_bandwidth),
               gigabytes(cost.bus_bandwidth), percent(cost.share)});
    if (!cost.difference.empty()) {
      notes += wrapped(name + " of " + to_string(cost.size) + ", " + to_string(cost.shortest) + " to " +
                           to_string(cost.longest) + ": " + cost.difference,
                       "  ", kReportColumns);
    }
  }
  return section_title("Collectives of a step: size in bytes, time of a call from its last rank's coming to its end",
                       style) +
         table.text(style) + notes;
}

std::string link_table(const CostReport& report, const Style& style) {
  TextTable table({{"link", Align::kLeft}, {"bandwidth"}, {"bytes a step"}, {"utilisation"}});
  for (std::size_t i = 0; i < std::min(report.links.size(), kLinksShown); ++i) {
    const StepLink& link = report.links[i];
    if (link.bytes == 0) break;
    table.add({link.name, to_string(link.bandwidth), grouped(static_cast<std::int64_t>(link.bytes)),
               percent(link.utilisation)});
  }
  if (table.empty()) return "";
  return section_title("The busiest of " + grouped(static_cast<std::int64_t>(report.links.size())) + " links", style) +
         table.text(style);
}

std::string piece_text(const PathPiece& piece) {
  const std::string rank = "rank " + std::to_string(piece.rank);
  switch (piece.kind) {
    case PathPiece::Kind::kCompute:
      return rank + " computes";
    case PathPiece::Kind::kCollective:
      return std::string(name_of(piece.operation)) + ", ended on " + rank;
    case PathPiece::Kind::kOther:
      break;
  }
  return rank + ": storage, and between";
}

// The pieces in the order of time, alike ones that follow each other as one.
std::string path_lines(const CostReport& report, const Style& style) {
  std::vector<PathPiece> pieces;
  Duration whole;
  for (auto piece = report.path.rbegin(); piece != report.path.rend(); ++piece) {
    whole = whole + piece->time;
    PathPiece* last = pieces.empty() ? nullptr : &pieces.back();
    const bool alike = last != nullptr && last->kind == piece->kind && last->operation == piece->operation &&
                       (last->rank == piece->rank || piece->kind == PathPiece::Kind::kCollective);
    if (!alike) {
      pieces.push_back(*piece);
      continue;
    }
    last->time = last->time + piece->time;
    last->rank = piece->rank;
  }
  if (pieces.empty()) return "";
  TextTable table({{"what held up the end of the step", Align::kLeft}, {"time"}, {"of the path"}});
  const std::size_t shown = pieces.size() <= kPiecesShown ? pieces.size() : kPiecesShown - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    table.add({piece_text(pieces[i]), to_string(pieces[i].time), percent_of(pieces[i].time, whole)});
  }
  Duration rest;
  for (std::size_t i = shown; i < pieces.size(); ++i) rest = rest + pieces[i].time;
  if (shown < pieces.size()) {
    table.add({"and " + std::to_string(pieces.size() - shown) + " more", to_string(rest), percent_of(rest, whole)});
  }
  return section_title("Critical path of step " + std::to_string(report.path_step) + ": " + to_string(whole), style) +
         table.text(style);
}

std::string totals(const Scenario& scenario, const CostReport& report) {
  std::string out = "\n";
  const auto priced = [&](double hours, const std::optional<double>& price) {
    std::string text = significant(hours, 4) + " rank-hours";
    if (price.has_value())
      text += ", " + significant(*price, 4) + " at " + significant(*scenario.price_per_rank_hour, 6);
    return text;
  };
  if (report.steps > 0) {
    out += field_line("tokens", significant(report.tokens_per_second, 4) + " a second, of all ranks");
    out += field_line("speed", significant(report.flops_per_second / 1e12, 4) +
                                   " TFLOP/s a rank: the model's products once, over the whole step");
    out += field_line("a step", priced(report.rank_hours_per_step, report.price_per_step));
  }
  out += field_line("the run", priced(report.rank_hours, report.price) + ": " +
                                   to_string(report.record.simulated.since_start()) + " on " +
                                   std::to_string(scenario.ranks) + " ranks, saves and restarts included");
  return out;
}

}  // namespace

std::string cost_text(const Scenario& scenario, const CostReport& report, const Style& style) {
  std::string out;
  if (report.steps == 0) {
    out += "\n  " + style.bad("no step was ended by all ranks") + "\n";
  } else {
    out += split_table(report, style) + collective_table(report, style) + link_table(report, style) +
           path_lines(report, style);
  }
  out += totals(scenario, report);
  if (report.record.outcome != Outcome::kDone) {
    out += "  " + style.bad(name_of(report.record.outcome)) + ": " + report.record.failure + "\n";
  }
  if (!report.record.recoveries.empty()) {
    out += "  " + grouped(static_cast<std::int64_t>(report.record.recoveries.size())) +
           " recoveries; steps that they cut short are not in the means\n";
  }
  return out;
}

}  // namespace rehearse
