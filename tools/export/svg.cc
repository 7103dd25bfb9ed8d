#include "tools/export/svg.h"

#include <array>
#include <charconv>

namespace rehearse {
namespace {

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + value + "\"";
}

std::string number(const char* name, double value) { return attribute(name, coordinate(value)); }

std::string with_tip(const std::string& style, const std::string& tip) {
  std::string out = attribute("class", style);
  if (!tip.empty()) out += attribute("data-tip", html_escaped(tip));
  return out;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string coordinate(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 2).ptr;
  std::string out(text.data(), end);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out == "-0" ? "0" : out;
}

Svg::Svg(double width, double height, const std::string& label)
    : body_("<svg viewBox=\"0 0 " + coordinate(width) + " " + coordinate(height) + "\" role=\"img\"" +
            attribute("aria-label", html_escaped(label)) + ">\n") {}

void Svg::rect(double x, double y, double width, double height, const std::string& style, const std::string& tip,
               double opacity) {
  body_ += "<rect" + number("x", x) + number("y", y) + number("width", width) + number("height", height) +
           with_tip(style, tip);
  if (opacity != 1) body_ += number("fill-opacity", opacity);
  body_ += "/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2, const std::string& style) {
  body_ += "<line" + number("x1", x1) + number("y1", y1) + number("x2", x2) + number("y2", y2) +
           attribute("class", style) + "/>\n";
}

void Svg::curve(const std::vector<std::pair<double, double>>& points, const std::string& style) {
  std::string list;
  for (const auto& [x, y] : points) list += (list.empty() ? "" : " ") + coordinate(x) + "," + coordinate(y);
  body_ += "<polyline" + attribute("points", list) + attribute("class", style) + "/>\n";
}

void Svg::circle(double x, double y, double radius, const std::string& style, const std::string& tip) {
  body_ += "<circle" + number("cx", x) + number("cy", y) + number("r", radius) + with_tip(style, tip) + "/>\n";
}

void Svg::arc(double from, double to, double y, double height, const std::string& style, const std::string& tip) {
  const double side = to < from ? 1 : -1;
  const std::string path = "M" + coordinate(from) + " " + coordinate(y) + "Q" + coordinate((from + to) / 2) + " " +
                           coordinate(y - height) + " " + coordinate(to) + " " + coordinate(y) + "m" +
                           coordinate(side * 5) + " -6l" + coordinate(-side * 5) + " 6l" + coordinate(side * 7) + " 1";
  body_ += "<path" + attribute("d", path) + with_tip(style, tip) + "/>\n";
}

void Svg::text(double x, double y, const std::string& anchor, const std::string& text, const std::string& style) {
  body_ += "<text" + number("x", x) + number("y", y) + attribute("text-anchor", anchor) + attribute("class", style) +
           ">" + html_escaped(text) + "</text>\n";
}

std::vector<double> round_ticks(double low, double high, int count) {
  if (!(high > low)) return {low};
  const double wanted = (high - low) / count;
  double step = 1;
  while (step > wanted) step /= 10;
  while (step * 10 <= wanted) step *= 10;
  if (step * 5 <= wanted) {
    step *= 5;
  } else if (step * 2 <= wanted) {
    step *= 2;
  }
  std::vector<double> ticks;
  // Whole multiples of the distance, each rounded once.
  auto n = static_cast<long long>(low / step);
  while (static_cast<double>(n) * step < low) ++n;
  for (; static_cast<double>(n) * step <= high && ticks.size() < 100; ++n) {
    ticks.push_back(static_cast<double>(n) * step);
  }
  return ticks;
}

}  // namespace rehearse
