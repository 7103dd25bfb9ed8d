#include <algorithm>
#include <map>

#include "tools/export/report_charts.h"
#include "tools/export/svg.h"

namespace rehearse {
namespace {

constexpr const char* kUseStyles[kTimeUses] = {"compute", "comm", "save", "start"};
constexpr std::size_t kMostColumns = 240;
constexpr int kMostGanttRanks = 64;

const char* style_of(Phase phase) { return kUseStyles[static_cast<std::size_t>(use_of(phase))]; }

std::string legend_of(const std::vector<std::pair<const char*, std::string>>& items) {
  std::string legend;
  for (const auto& [style, text] : items) {
    legend += std::string("<span><i class=\"") + style + "\"></i>" + html_escaped(text) + "</span>";
  }
  return "<div class=\"legend\">" + legend + "</div>\n";
}

// Seconds of a rank on average.
double mean_seconds(Duration time, int ranks) { return time.to_seconds() / ranks; }

// Whether an attempt at a step stands: it is the newest, and the job did not end before it was done.
std::vector<bool> standing_attempts(const ReportRun& run) {
  const PhaseTimes& times = *run.input->phases;
  const auto steps = run.summary["steps"].get<std::int64_t>();
  std::map<std::int64_t, std::uint32_t> newest;
  for (const StepTimes& one : times.steps) newest[one.step] = std::max(newest[one.step], one.attempt);
  std::vector<bool> stands;
  for (const StepTimes& one : times.steps) stands.push_back(newest[one.step] == one.attempt && one.step <= steps);
  return stands;
}

}  // namespace

std::string step_chart(const ReportRun& run) {
  if (!run.input->phases.has_value()) return "";
  const PhaseTimes& times = *run.input->phases;
  std::map<std::int64_t, const StepTimes*> by_step;
  const std::vector<bool> stands = standing_attempts(run);
  for (std::size_t i = 0; i < times.steps.size(); ++i) {
    if (stands[i] && times.steps[i].step > 0) by_step[times.steps[i].step] = &times.steps[i];
  }
  if (by_step.empty()) return "";
  std::vector<const StepTimes*> steps;
  for (const auto& [step, one] : by_step) steps.push_back(one);
  const std::size_t group = (steps.size() + kMostColumns - 1) / kMostColumns;

  struct Column {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::array<double, kTimeUses> seconds{};
    double total = 0;
  };
  std::vector<Column> columns;
  double most = 0;
  for (std::size_t i = 0; i < steps.size(); i += group) {
    const std::size_t end = std::min(steps.size(), i + group);
    Column column;
    column.first = steps[i]->step;
    column.last = steps[end - 1]->step;
    for (std::size_t s = i; s < end; ++s) {
      for (int use = 0; use < kTimeUses - 1; ++use) {
        const auto u = static_cast<std::size_t>(use);
        column.seconds[u] += mean_seconds(steps[s]->times[u], times.ranks) / static_cast<double>(end - i);
      }
    }
    for (const double seconds : column.seconds) column.total += seconds;
    most = std::max(most, column.total);
    columns.push_back(column);
  }
  if (most == 0) return "";

  constexpr double kWidth = 720;
  constexpr double kHeight = 240;
  constexpr double kLeft = 72;
  constexpr double kBottom = 206;
  constexpr double kTop = 12;
  Svg svg(kWidth, kHeight, "time of each step, by what ranks did");
  const Scale y(0, most, kBottom, kTop);
  for (const double tick : time_ticks(most, 4)) {
    svg.line(kLeft, y(tick), kWidth - 8, y(tick), "grid");
    svg.text(kLeft - 6, y(tick) + 4, "end", short_time(tick));
  }
  const double pitch = (kWidth - 8 - kLeft) / static_cast<double>(columns.size());
  const std::size_t label_every = columns.size() / 12 + 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const double x = kLeft + pitch * static_cast<double>(i);
    std::string tip = column.first == column.last
                          ? "step " + std::to_string(column.first)
                          : "steps " + std::to_string(column.first) + " to " + std::to_string(column.last) + ", mean";
    tip += ": " + short_time(column.total);
    for (int use = 0; use < kTimeUses - 1; ++use) {
      const double seconds = column.seconds[static_cast<std::size_t>(use)];
      if (seconds > 0) tip += std::string("\n") + name_of(static_cast<TimeUse>(use)) + " " + short_time(seconds);
    }
    double base = kBottom;
    for (int use = 0; use < kTimeUses - 1; ++use) {
      const auto u = static_cast<std::size_t>(use);
      const double height = kBottom - y(column.seconds[u]);
      base -= height;
      svg.rect(x + pitch * 0.08, base, pitch * 0.84, height, kUseStyles[u], tip);
    }
    if (i % label_every == 0) svg.text(x + pitch / 2, kBottom + 16, "middle", std::to_string(column.first));
  }
  svg.line(kLeft, kBottom, kWidth - 8, kBottom, "axis");
  svg.text(kWidth - 8, kHeight - 2, "end", "step");
  return legend_of({{"compute", "compute"}, {"comm", "exposed communication"}, {"save", "checkpoint"}}) +
         "<div class=\"scroll\">" + svg.str() + "</div>\n";
}

std::string time_table(const ReportRun& run) {
  if (!run.input->phases.has_value()) return "";
  const PhaseTimes& times = *run.input->phases;
  const double whole = run.summary["simulated_seconds"].get<double>();
  if (whole <= 0) return "";
  std::array<double, kTimeUses> seconds{};
  double lost = 0;
  const std::vector<bool> stands = standing_attempts(run);
  for (std::size_t i = 0; i < times.steps.size(); ++i) {
    for (int use = 0; use < kTimeUses; ++use) {
      const auto u = static_cast<std::size_t>(use);
      const double time = mean_seconds(times.steps[i].times[u], times.ranks);
      const bool counts = stands[i] || static_cast<TimeUse>(use) == TimeUse::kStart;
      (counts ? seconds[u] : lost) += time;
    }
  }
  double down = whole - lost;
  for (const double one : seconds) down -= one;
  down = std::max(0.0, down);
  struct Part {
    const char* style;
    std::string name;
    double seconds;
  };
  std::vector<Part> parts;
  for (int use = 0; use < kTimeUses; ++use) {
    const auto u = static_cast<std::size_t>(use);
    parts.push_back(Part{kUseStyles[u], name_of(static_cast<TimeUse>(use)), seconds[u]});
  }
  parts.push_back(Part{"lost", "steps that were done again", lost});
  parts.push_back(Part{"down", "not running: failed, stopped or restarting", down});

  Svg svg(720, 34, "simulated time by use");
  std::string table = "<table><tr><th class=\"l\">time of a rank, on average</th><th>in all</th><th>share</th></tr>\n";
  double x = 0;
  for (const Part& part : parts) {
    const double width = part.seconds / whole * 720;
    const std::string text = part.name + ": " + short_time(part.seconds) + ", " + share_text(part.seconds / whole);
    if (width > 0) svg.rect(x, 2, width, 30, part.style, text);
    x += width;
    table += std::string("<tr><td class=\"l key\"><i class=\"") + part.style + "\"></i>" + html_escaped(part.name) +
             "</td><td>" + short_time(part.seconds) + "</td><td>" + share_text(part.seconds / whole) + "</td></tr>\n";
  }
  return "<div class=\"scroll\">" + svg.str() + "</div>\n" + table + "</table>\n";
}

std::string gantt_chart(const ReportRun& run) {
  if (!run.input->phases.has_value() || run.input->phases->detail.empty()) return "";
  const PhaseTimes& times = *run.input->phases;
  TimePoint begin = times.detail.front().begin;
  TimePoint end = begin;
  for (const PhaseSpan& span : times.detail) {
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
  }
  if (begin == end) return "";
  const int shown = std::min(times.ranks, kMostGanttRanks);
  const double row = shown > 16 ? 14 : 24;
  const double height = 30 + row * shown;
  Svg svg(720, height, "phases of each rank in step " + std::to_string(times.detailed_step));
  const Scale x(0, (end - begin).to_seconds(), 64, 712);
  for (const double tick : time_ticks((end - begin).to_seconds(), 6)) {
    svg.line(x(tick), 4, x(tick), height - 24, "grid");
    svg.text(x(tick), height - 8, "middle", short_time(tick));
  }
  for (int rank = 0; rank < shown; ++rank) {
    svg.text(58, 4 + row * rank + row * 0.68, "end", "rank " + std::to_string(rank));
  }
  for (const PhaseSpan& span : times.detail) {
    if (span.rank >= shown || span.begin == span.end) continue;
    const double left = x((span.begin - begin).to_seconds());
    const double width = x((span.end - begin).to_seconds()) - left;
    svg.rect(left, 4 + row * span.rank + row * 0.1, std::max(width, 0.4), row * 0.8, style_of(span.phase),
             "rank " + std::to_string(span.rank) + ", " + name_of(span.phase) + ": " +
                 short_time((span.end - span.begin).to_seconds()));
  }
  return legend_of(
             {{"compute", "data, forward, backward, optimizer"}, {"comm", "reduce, gather"}, {"save", "checkpoint"}}) +
         "<div class=\"scroll\">" + svg.str() + "</div>\n";
}

}  // namespace rehearse
