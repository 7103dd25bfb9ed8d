#include <algorithm>
#include <map>

#include "tools/export/report_charts.h"
#include "tools/export/svg.h"

namespace rehearse {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 260;
constexpr double kLeft = 56;
constexpr double kRight = 12;
constexpr double kTop = 34;
constexpr double kBottom = 34;
// More would be denser than the picture's points.
constexpr std::size_t kMostPoints = 1500;
constexpr std::size_t kMostHits = 300;

struct Range {
  double low = 0;
  double high = 0;
  bool any = false;
  void add(double value) {
    low = any ? std::min(low, value) : value;
    high = any ? std::max(high, value) : value;
    any = true;
  }
};

std::string legend_item(const char* style, const std::string& text) {
  return std::string("<span><i class=\"") + style + "\"></i>" + text + "</span>";
}

// The frame of steps and losses that curves stand in.
class Frame {
 public:
  Frame(Range steps, Range losses, const std::string& label) : svg_(kWidth, kHeight, label) {
    if (losses.high == losses.low) losses.high = losses.low + 1;
    if (steps.high == steps.low) steps.high = steps.low + 1;
    x_.emplace(steps.low, steps.high, kLeft, kWidth - kRight);
    y_.emplace(losses.low, losses.high, kHeight - kBottom, kTop);
    for (const double tick : round_ticks(losses.low, losses.high, 5)) {
      svg_.line(kLeft, y(tick), kWidth - kRight, y(tick), "grid");
      svg_.text(kLeft - 6, y(tick) + 4, "end", short_number(tick));
    }
    for (const double tick : round_ticks(steps.low, steps.high, 8)) {
      if (tick == static_cast<double>(static_cast<std::int64_t>(tick))) {
        svg_.text(x(tick), kHeight - kBottom + 18, "middle", short_number(tick));
      }
    }
    svg_.line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "axis");
    svg_.text(kWidth - kRight, kHeight - 2, "end", "step");
    svg_.text(kLeft - 6, kTop - 14, "end", "loss");
  }
  double x(double step) const { return (*x_)(step); }
  double y(double loss) const { return (*y_)(loss); }
  Svg& svg() { return svg_; }
  std::string done() const { return "<div class=\"scroll\">" + svg_.str() + "</div>\n"; }

 private:
  Svg svg_;
  std::optional<Scale> x_;
  std::optional<Scale> y_;
};

std::vector<const MetricsRow*> standing_rows(const ReportRun& run) {
  std::map<std::int64_t, const MetricsRow*> by_step;
  const std::vector<bool> stands = run.standing();
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    if (stands[i]) by_step[run.rows[i].step] = &run.rows[i];
  }
  std::vector<const MetricsRow*> rows;
  for (const auto& [step, row] : by_step) rows.push_back(row);
  return rows;
}

void draw(Frame& frame, const std::vector<const MetricsRow*>& rows, const char* style) {
  const std::size_t stride = rows.size() / kMostPoints + 1;
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]->loss.has_value()) continue;
    const bool shown = i % stride == 0 || i + 1 == rows.size();
    if (shown) points.emplace_back(frame.x(static_cast<double>(rows[i]->step)), frame.y(*rows[i]->loss));
  }
  frame.svg().curve(points, style);
  if (points.size() == 1) frame.svg().circle(points[0].first, points[0].second, 3, "compute");
}

// Attempts that were undone: runs of rows that do not stand.
void draw_undone(Frame& frame, const ReportRun& run) {
  const std::vector<bool> stands = run.standing();
  std::vector<const MetricsRow*> part;
  const auto flush = [&] {
    if (part.size() > 1) draw(frame, part, "undone");
    if (part.size() == 1 && part[0]->loss.has_value()) {
      frame.svg().circle(frame.x(static_cast<double>(part[0]->step)), frame.y(*part[0]->loss), 2.5, "lost",
                         "step " + std::to_string(part[0]->step) + " was undone: loss " + part[0]->loss_text);
    }
    part.clear();
  };
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    if (!part.empty() && (stands[i] || run.rows[i].recoveries != part.back()->recoveries)) flush();
    if (!stands[i]) part.push_back(&run.rows[i]);
  }
  flush();
}

void draw_ways_back(Frame& frame, const ReportRun& run) {
  for (const Json& recovery : run.summary["recoveries"]) {
    if (!recovery.contains("resumed_step")) continue;
    const auto to = recovery["resumed_step"].get<std::int64_t>();
    const std::int64_t from = to + recovery.value("steps_lost", std::int64_t{0});
    const std::string cause = recovery["kind"].get<std::string>() + ": " + recovery["cause"].get<std::string>();
    const std::string tip = cause + "\nfrom step " + std::to_string(from) + " back to step " + std::to_string(to);
    const double x_from = frame.x(static_cast<double>(from));
    const double x_to = std::max(kLeft, frame.x(static_cast<double>(to)));
    if (from == to) {
      frame.svg().circle(x_to, kTop - 8, 4, "lost", tip);
    } else {
      frame.svg().arc(x_from, x_to, kTop - 4, 30, "back", tip);
    }
  }
}

// Columns over the picture that say what is in them.
template <class TipOf>
void add_hits(Frame& frame, std::int64_t first, std::int64_t last, const TipOf& tip_of) {
  const std::int64_t width = (last - first) / static_cast<std::int64_t>(kMostHits) + 1;
  for (std::int64_t step = first; step <= last; step += width) {
    const std::string tip = tip_of(step);
    if (tip.empty()) continue;
    const double left = std::max(kLeft, frame.x(static_cast<double>(step) - 0.5));
    const double right = std::min(kWidth - kRight, frame.x(static_cast<double>(step + width) - 0.5));
    frame.svg().rect(left, kTop, std::max(1.0, right - left), kHeight - kTop - kBottom, "hit", tip);
  }
}

std::map<std::int64_t, std::string> tips_of(const ReportRun& run) {
  std::map<std::int64_t, std::string> tips;
  for (const MetricsRow& row : run.rows) {
    std::string& tip = tips[row.step];
    if (tip.empty()) tip = "step " + std::to_string(row.step);
    tip += "\nloss " + row.loss_text + (row.attempt > 1 ? " in attempt " + std::to_string(row.attempt) : "");
  }
  return tips;
}

void add_ranges(const ReportRun& run, Range& steps, Range& losses) {
  for (const MetricsRow& row : run.rows) {
    steps.add(static_cast<double>(row.step));
    if (row.loss.has_value()) losses.add(*row.loss);
  }
}

}  // namespace

std::string loss_chart(const ReportRun& run) {
  Range steps;
  Range losses;
  add_ranges(run, steps, losses);
  const Json evals = run.summary.value("eval_losses", Json::array());
  for (const Json& eval : evals) {
    if (eval["loss"].is_number()) losses.add(eval["loss"].get<double>());
  }
  if (!losses.any) return "";
  Frame frame(steps, losses, "loss by step");
  draw_undone(frame, run);
  draw(frame, standing_rows(run), "curve");
  const std::map<std::int64_t, std::string> tips = tips_of(run);
  add_hits(frame, static_cast<std::int64_t>(steps.low), static_cast<std::int64_t>(steps.high), [&](std::int64_t step) {
    const auto tip = tips.find(step);
    return tip == tips.end() ? std::string() : tip->second;
  });
  draw_ways_back(frame, run);
  std::string legend = legend_item("compute", "loss, mean over ranks");
  const bool undone = run.standing() != std::vector<bool>(run.rows.size(), true);
  if (undone) legend += legend_item("lost", "attempts that were undone; arcs lead back to where the job went on");
  if (!evals.empty()) legend += legend_item("save", "on held-out data");
  for (const Json& eval : evals) {
    if (!eval["loss"].is_number()) continue;
    frame.svg().circle(frame.x(eval["step"].get<double>()), frame.y(eval["loss"].get<double>()), 3.5, "eval",
                       "after step " + eval["step"].dump() + "\nheld-out loss " + eval["loss"].dump());
  }
  return "<div class=\"legend\">" + legend + "</div>\n" + frame.done();
}

std::string loss_chart(const ReportRun& a, const ReportRun& b) {
  Range steps;
  Range losses;
  add_ranges(a, steps, losses);
  add_ranges(b, steps, losses);
  if (!losses.any) return "";
  Frame frame(steps, losses, "losses of both runs by step");
  draw(frame, standing_rows(a), "curve");
  draw(frame, standing_rows(b), "other");
  std::map<std::int64_t, std::string> tips;
  const auto add = [&](const ReportRun& run, const char* name) {
    for (const MetricsRow* row : standing_rows(run)) {
      std::string& tip = tips[row->step];
      if (tip.empty()) tip = "step " + std::to_string(row->step);
      tip += std::string("\n") + name + ": loss " + row->loss_text;
    }
  };
  add(a, "A");
  add(b, "B");
  add_hits(frame, static_cast<std::int64_t>(steps.low), static_cast<std::int64_t>(steps.high), [&](std::int64_t step) {
    const auto tip = tips.find(step);
    return tip == tips.end() ? std::string() : tip->second;
  });
  return "<div class=\"legend\">" + legend_item("compute", "A") + legend_item("comm", "B") + "</div>\n" + frame.done();
}

}  // namespace rehearse
