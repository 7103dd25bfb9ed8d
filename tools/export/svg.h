#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rehearse {

// Text as HTML and SVG take it, in elements and in quoted attributes.
std::string html_escaped(std::string_view text);
// A coordinate: at most two digits after the point.
std::string coordinate(double value);

// A picture in SVG that scales with its width. What has a `tip` shows it when it is pointed at or touched, and says it
// to a screen reader. `style` is a class of the page's style sheet.
class Svg {
 public:
  // `label` says in words what the picture shows.
  Svg(double width, double height, const std::string& label);

  void rect(double x, double y, double width, double height, const std::string& style, const std::string& tip = "",
            double opacity = 1);
  void line(double x1, double y1, double x2, double y2, const std::string& style);
  void curve(const std::vector<std::pair<double, double>>& points, const std::string& style);
  void circle(double x, double y, double radius, const std::string& style, const std::string& tip = "");
  // From one side to the other over an arc, with an arrow's head at the end.
  void arc(double from, double to, double y, double height, const std::string& style, const std::string& tip);
  // `anchor` is "start", "middle" or "end".
  void text(double x, double y, const std::string& anchor, const std::string& text, const std::string& style = "t");

  std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

// Values from `low` to `high` at round distances, about `count` of them.
std::vector<double> round_ticks(double low, double high, int count);

// A straight scale from values to coordinates.
class Scale {
 public:
  Scale(double from, double to, double start, double end)
      : from_(from), factor_(to > from ? (end - start) / (to - from) : 0), start_(start) {}
  double operator()(double value) const { return start_ + (value - from_) * factor_; }

 private:
  double from_;
  double factor_;
  double start_;
};

}  // namespace rehearse
