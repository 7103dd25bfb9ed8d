#include <algorithm>
#include <map>

#include "tools/export/report_charts.h"
#include "tools/export/svg.h"

namespace rehearse {
namespace {

constexpr std::size_t kMostMemoryRanks = 64;
constexpr int kMostHeatCells = 64;
constexpr std::size_t kMostMarks = 400;

struct MemoryBar {
  const char* field;
  const char* name;
};
constexpr MemoryBar kMemoryBars[] = {{"parameters", "parameters"},
                                     {"gradients", "gradients"},
                                     {"optimizer", "optimizer"},
                                     {"activations_peak", "activations (peak)"},
                                     {"communication_buffers", "communication buffers (peak)"}};

}  // namespace

std::string memory_chart(const ReportRun& run) {
  if (!run.has("memory")) return "";
  const Json& per_rank = run.summary["memory"]["per_rank"];
  const std::size_t shown = std::min(per_rank.size(), kMostMemoryRanks);
  double most = 0;
  for (const Json& rank : per_rank) {
    double sum = 0;
    for (const MemoryBar& kind : kMemoryBars) sum += rank[kind.field].get<double>();
    most = std::max(most, sum);
  }
  if (most == 0) return "";
  const double row = shown > 16 ? 14 : 24;
  const double height = 28 + row * static_cast<double>(shown);
  Svg svg(720, height, "memory of each rank");
  const Scale x(0, most, 64, 700);
  // Round numbers of KiB, MiB, ...
  constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB"};
  double unit = 1;
  std::size_t unit_name = 0;
  for (; most / unit >= 1024 && unit_name + 1 < std::size(kUnits); ++unit_name) unit *= 1024;
  for (const double part : round_ticks(0, most / unit, 5)) {
    const double tick = part * unit;
    svg.line(x(tick), 2, x(tick), height - 22, "grid");
    svg.text(x(tick), height - 8, "middle", short_number(part) + kUnits[unit_name]);
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const Json& rank = per_rank[i];
    const double top = 2 + row * static_cast<double>(i);
    svg.text(58, top + row * 0.68, "end", "rank " + rank["rank"].dump());
    double left = 64;
    for (std::size_t k = 0; k < std::size(kMemoryBars); ++k) {
      const auto bytes = rank[kMemoryBars[k].field].get<std::int64_t>();
      const double width = x(static_cast<double>(bytes)) - 64;
      svg.rect(left, top + row * 0.1, width, row * 0.8, "m" + std::to_string(k),
               "rank " + rank["rank"].dump() + ", " + kMemoryBars[k].name + ": " + with_groups(bytes) + " bytes");
      left += width;
    }
  }
  std::string legend;
  for (std::size_t k = 0; k < std::size(kMemoryBars); ++k) {
    legend += "<span><i class=\"m" + std::to_string(k) + "\"></i>" + kMemoryBars[k].name + "</span>";
  }
  std::string note;
  if (shown < per_rank.size()) {
    note = "<p><small>The first " + std::to_string(shown) + " of " + std::to_string(per_rank.size()) +
           " ranks.</small></p>\n";
  }
  return "<div class=\"legend\">" + legend + "</div>\n<div class=\"scroll\">" + svg.str() + "</div>\n" + note;
}

std::string heat_map(const ReportRun& run) {
  if (!run.input->phases.has_value() || run.input->phases->bytes.empty()) return "";
  const PhaseTimes& times = *run.input->phases;
  const int group = (times.ranks + kMostHeatCells - 1) / kMostHeatCells;
  const int cells = (times.ranks + group - 1) / group;
  std::map<std::pair<int, int>, std::int64_t> bytes;
  for (const auto& [pair, count] : times.bytes) bytes[{pair.first / group, pair.second / group}] += count;
  std::int64_t most = 0;
  for (const auto& [cell, count] : bytes) most = std::max(most, count);
  const double size = std::min(44.0, 600.0 / cells);
  const double edge = size * cells;
  Svg svg(720, edge + 48, "bytes from each rank to each other");
  const auto name = [&](int cell) {
    const int first = cell * group;
    const int last = std::min(times.ranks, first + group) - 1;
    return first == last ? "rank " + std::to_string(first)
                         : "ranks " + std::to_string(first) + " to " + std::to_string(last);
  };
  const int label_every = cells > 16 ? cells / 8 : 1;
  for (int cell = 0; cell < cells; cell += label_every) {
    svg.text(76, 22 + size * cell + size / 2 + 4, "end", std::to_string(cell * group));
    svg.text(82 + size * cell + size / 2, 16, "middle", std::to_string(cell * group));
  }
  svg.text(82, edge + 40, "start",
           "rows: who sends; columns: who receives; the darkest is " + with_groups(most) + " bytes");
  for (int source = 0; source < cells; ++source) {
    for (int target = 0; target < cells; ++target) {
      const double x = 82 + size * target;
      const double y = 22 + size * source;
      const auto found = bytes.find({source, target});
      if (found != bytes.end() && found->second > 0) {
        const double part = static_cast<double>(found->second) / static_cast<double>(most);
        svg.rect(x, y, size, size, "heat",
                 name(source) + " to " + name(target) + ": " + with_groups(found->second) + " bytes",
                 0.12 + 0.88 * part);
      }
      if (cells <= 32) svg.rect(x, y, size, size, "cell");
    }
  }
  return "<div class=\"scroll\">" + svg.str() + "</div>\n";
}

std::string event_chart(const ReportRun& run) {
  const Json none = Json::array();
  const Json faults = run.summary.value("faults", none);
  const Json recoveries = run.summary.value("recoveries", none);
  const Json guards = run.summary.value("guards", none);
  const double whole = run.summary["simulated_seconds"].get<double>();
  if (whole <= 0 || (faults.empty() && recoveries.empty() && guards.empty())) return "";
  Svg svg(720, 118, "faults, guards and recoveries over the simulated time");
  const Scale x(0, whole, 76, 708);
  svg.text(70, 24, "end", "faults");
  svg.text(70, 50, "end", "guards");
  svg.text(70, 76, "end", "down");
  for (const double tick : time_ticks(whole, 6)) {
    svg.line(x(tick), 6, x(tick), 92, "grid");
    svg.text(x(tick), 110, "middle", short_time(tick));
  }
  for (std::size_t i = 0; i < std::min(recoveries.size(), kMostMarks); ++i) {
    const Json& one = recoveries[i];
    const double failed = one["failed_seconds"].get<double>();
    const double resumed = one.value("resumed_seconds", one["restarted_seconds"].get<double>());
    std::string tip = one["kind"].get<std::string>() + ": " + one["cause"].get<std::string>() + "\nfailed at " +
                      short_time(failed) + ", trained again after " + short_time(std::max(0.0, resumed - failed));
    if (one.contains("resumed_step")) tip += "\nfrom step " + one["resumed_step"].dump();
    svg.rect(x(failed), 62, std::max(2.5, x(resumed) - x(failed)), 20, "down", tip);
  }
  for (std::size_t i = 0; i < std::min(faults.size(), kMostMarks); ++i) {
    const Json& one = faults[i];
    const double time = one["seconds"].get<double>();
    const std::string who = one.contains("rank") ? "rank " + one["rank"].dump() + ": " : "";
    svg.circle(x(time), 20, 5, "lost", short_time(time) + "\n" + who + one["what"].get<std::string>());
  }
  for (std::size_t i = 0; i < std::min(guards.size(), kMostMarks); ++i) {
    const Json& one = guards[i];
    const double time = one["seconds"].get<double>();
    svg.circle(x(time), 46, 5, "comm",
               short_time(time) + ", step " + one["step"].dump() + "\n" + one["reaction"].get<std::string>() + ": " +
                   one["reason"].get<std::string>());
  }
  return "<div class=\"scroll\">" + svg.str() + "</div>\n";
}

}  // namespace rehearse
