#include "tools/export/report_tables.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tools/export/svg.h"

namespace rehearse {
namespace {

constexpr std::size_t kMostEvents = 300;
constexpr std::size_t kOpenEvents = 20;

// A cell's text with the summary's value of a field beside it, for whoever checks the page.
std::string shown(const std::string& field, const Json& value, const std::string& text) {
  return "<b data-field=\"" + html_escaped(field) + "\" data-value=\"" + html_escaped(value.dump()) + "\">" +
         html_escaped(text) + "</b>";
}

std::string text_of(const std::string& field, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (field.ends_with("_seconds")) return short_time(value.get<double>());
  if (field == "goodput") return share_text(number_of(value));
  if (field == "bytes_on_wire") return to_string(Bytes(value.get<std::int64_t>()));
  if (value.is_number_integer()) return with_groups(value.get<std::int64_t>());
  return short_number(number_of(value));
}

std::string row_of(const std::vector<std::string>& cells) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += cell;
  return row + "</tr>\n";
}
std::string left(const std::string& html) { return "<td class=\"l\">" + html + "</td>"; }
std::string right(const std::string& html) { return "<td>" + html + "</td>"; }
std::string titles(const std::vector<std::pair<std::string, bool>>& columns) {
  std::string row = "<tr>";
  for (const auto& [title, is_left] : columns) row += (is_left ? "<th class=\"l\">" : "<th>") + title + "</th>";
  return row + "</tr>\n";
}
std::string table_of(const std::string& rows) { return "<div class=\"scroll\"><table>\n" + rows + "</table></div>\n"; }

bool succeeded(const ReportRun& run) { return run.summary["exit_code"] == 0; }

std::int64_t held_of(const ReportRun& run, std::size_t& all) {
  std::int64_t held = 0;
  all = 0;
  for (const Json& one : run.summary.value("expectations", Json::array())) {
    ++all;
    held += one["held"].get<bool>() ? 1 : 0;
  }
  return held;
}

}  // namespace

std::string outcome_line(const ReportRun& run) {
  const Json& summary = run.summary;
  std::string words = with_groups(summary["steps"].get<std::int64_t>()) + " steps in " +
                      short_time(summary["simulated_seconds"].get<double>()) + " of simulated time";
  std::map<std::string, std::int64_t> kinds;
  for (const Json& one : summary.value("recoveries", Json::array())) ++kinds[one["kind"].get<std::string>()];
  for (const auto& [kind, count] : kinds) words += ", " + with_groups(count) + " " + kind + (count == 1 ? "" : "s");
  std::size_t all = 0;
  const std::int64_t held = held_of(run, all);
  if (all > 0) words += "; " + with_groups(held) + " of " + std::to_string(all) + " expectations held";
  const std::string style = succeeded(run) ? "badge" : "badge bad";
  std::string line = "<p class=\"outcome\"><span class=\"" + style + "\">" +
                     html_escaped(summary["outcome"].get<std::string>()) + "</span>" + html_escaped(words) + "</p>\n";
  if (run.has("failure"))
    line += "<p class=\"failed\">" + html_escaped(summary["failure"].get<std::string>()) + "</p>\n";
  for (const Json& one : summary.value("violations", Json::array())) {
    line += "<p class=\"failed\">" + html_escaped(one.get<std::string>()) + "</p>\n";
  }
  return line;
}

std::string tiles(const ReportRun& run) {
  const std::pair<const char*, const char*> kTiles[] = {
      {"steps", "steps"},       {"simulated_seconds", "simulated"},     {"goodput", "goodput"},
      {"messages", "messages"}, {"bytes_on_wire", "bytes on the wire"}, {"events", "events"},
      {"failures", "failures"}, {"lost_steps", "steps done again"},     {"exit_code", "exit code"},
      {"seed", "seed"}};
  std::string out = "<div class=\"tiles\">\n";
  const Json losses = run.summary.value("losses", Json::array());
  if (!losses.empty()) {
    const Json& last = losses.back();
    const std::string text = short_number(number_of(last));
    out += "<div class=\"tile\">" + shown("losses.back", last, text) + "<span>final loss</span></div>\n";
  }
  for (const auto& [field, title] : kTiles) {
    if (!run.has(field)) continue;
    const Json& value = run.summary[field];
    out += "<div class=\"tile\">" + shown(field, value, text_of(field, value)) + "<span>" + title + "</span></div>\n";
  }
  return out + "</div>\n";
}

std::string expectation_table(const ReportRun& run) {
  std::string rows;
  for (const Json& one : run.summary.value("expectations", Json::array())) {
    const bool held = one["held"].get<bool>();
    rows += row_of({left(held ? "<span class=\"held\">held</span>" : "<span class=\"failed\">FAILED</span>"),
                    left(html_escaped(one["name"].get<std::string>())),
                    left(html_escaped(one["detail"].get<std::string>()))});
  }
  return rows.empty() ? "" : table_of(rows);
}

std::string memory_table(const ReportRun& run) {
  if (!run.has("memory")) return "";
  std::string rows = titles({{"bytes of a rank", true}, {"largest", false}, {"mean", false}});
  const Json& memory = run.summary["memory"];
  for (const auto& [kind, value] : memory["max"].items()) {
    rows += row_of({left(html_escaped(kind)),
                    right(shown("memory.max." + kind, value, with_groups(value.get<std::int64_t>()))),
                    right(shown("memory.mean." + kind, memory["mean"][kind],
                                with_groups(static_cast<std::int64_t>(memory["mean"][kind].get<double>()))))});
  }
  return table_of(rows);
}

std::string communication_table(const ReportRun& run) {
  const Json communication = run.summary.value("communication", Json::array());
  if (communication.empty()) return "";
  const auto& formulas = run.input->formulas;
  std::vector<std::pair<std::string, bool>> columns = {
      {"operation", true}, {"calls of a rank", false}, {"messages", false}, {"bytes", false}};
  if (!formulas.empty()) columns.insert(columns.end(), {{"messages by formula", false}, {"bytes by formula", false}});
  columns.emplace_back("time of a rank, at most", false);
  std::string rows = titles(columns);
  const auto steps = static_cast<std::int64_t>(run.rows.size());
  for (std::size_t i = 0; i < communication.size(); ++i) {
    const Json& one = communication[i];
    const auto name = one["operation"].get<std::string>();
    const std::string path = "communication." + std::to_string(i) + ".";
    const auto number = [&](const char* field) {
      return right(shown(path + field, one[field], with_groups(one[field].get<std::int64_t>())));
    };
    std::vector<std::string> cells = {left(html_escaped(name)), number("calls"), number("messages"), number("bytes")};
    if (!formulas.empty()) {
      const auto found = std::find_if(formulas.begin(), formulas.end(),
                                      [&](const FormulaTraffic& formula) { return formula.operation == name; });
      const bool has = found != formulas.end();
      cells.push_back(right(has ? with_groups(found->start_messages + steps * found->step_messages) : "-"));
      cells.push_back(right(has ? with_groups(found->start_bytes + steps * found->step_bytes) : "-"));
    }
    cells.push_back(right(shown(path + "seconds", one["seconds"], short_time(one["seconds"].get<double>()))));
    rows += row_of(cells);
  }
  return table_of(rows);
}

std::string event_table(const ReportRun& run) {
  struct Event {
    double seconds;
    std::string kind;
    std::string what;
  };
  std::vector<Event> events;
  const auto rank_of = [](const Json& one) {
    return one.contains("rank") ? "rank " + one["rank"].dump() + ": " : std::string();
  };
  for (const Json& one : run.summary.value("faults", Json::array())) {
    std::string where;
    if (one.contains("step")) where = " (step " + one["step"].dump() + ", " + one["phase"].get<std::string>() + ")";
    events.push_back(
        Event{one["seconds"].get<double>(), "fault", rank_of(one) + one["what"].get<std::string>() + where});
  }
  for (const Json& one : run.summary.value("guards", Json::array())) {
    events.push_back(Event{one["seconds"].get<double>(), "guard",
                           one["reaction"].get<std::string>() + " in step " + one["step"].dump() + ": " +
                               one["reason"].get<std::string>()});
  }
  for (const Json& one : run.summary.value("fenced", Json::array())) {
    events.push_back(Event{one["seconds"].get<double>(), "fenced", rank_of(one) + one["what"].get<std::string>()});
  }
  for (const Json& one : run.summary.value("recoveries", Json::array())) {
    std::string what = one["cause"].get<std::string>();
    if (one.contains("resumed_step")) {
      what += "; trained again from step " + one["resumed_step"].dump() + " after " +
              short_time(one["resumed_seconds"].get<double>() - one["failed_seconds"].get<double>()) + ", " +
              one["steps_lost"].dump() + " steps lost";
    }
    events.push_back(Event{one["failed_seconds"].get<double>(), one["kind"].get<std::string>(), what});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.seconds < b.seconds; });
  const std::string head = titles({{"at", true}, {"", true}, {"what happened", true}});
  std::string rows = head;
  std::string first;  // where the rest is folded away
  for (std::size_t i = 0; i < std::min(events.size(), kMostEvents); ++i) {
    const Event& event = events[i];
    if (i == kOpenEvents) first = std::exchange(rows, head);
    rows += row_of({left(short_time(event.seconds)), left(html_escaped(event.kind)), left(html_escaped(event.what))});
  }
  std::string notes;
  if (events.size() > kMostEvents) {
    notes += "<p><small>The first " + std::to_string(kMostEvents) + " of " + std::to_string(events.size()) +
             "; summary.json has all.</small></p>\n";
  }
  for (const Json& one : run.summary.value("faults_not_struck", Json::array())) {
    notes += "<p><small>never struck: " + html_escaped(one.get<std::string>()) + "</small></p>\n";
  }
  if (events.empty()) return notes;
  if (first.empty()) return table_of(rows) + notes;
  return table_of(first) + "<details><summary>what happened later</summary>" + table_of(rows) + "</details>\n" + notes;
}

std::string job_time_table(const ReportRun& run) {
  if (!run.has("down_seconds")) return "";
  const double whole = run.summary["simulated_seconds"].get<double>();
  std::string rows = titles({{"time", true}, {"in all", false}, {"share", false}});
  const auto add = [&](const char* name, const char* field) {
    const Json& value = run.summary[field];
    rows += row_of({left(name), right(shown(field, value, short_time(value.get<double>()))),
                    right(share_text(whole > 0 ? value.get<double>() / whole : 0))});
  };
  const double stands = number_of(run.summary["goodput"]);
  rows += row_of({left("training that stands"), right(short_time(stands * whole)),
                  right(shown("goodput", run.summary["goodput"], share_text(stands)))});
  add("saves", "save_seconds");
  add("from failures until training went on", "down_seconds");
  const double rest =
      whole - stands * whole - run.summary["save_seconds"].get<double>() - run.summary["down_seconds"].get<double>();
  rows += row_of({left("training that was lost, and the start"), right(short_time(std::max(0.0, rest))),
                  right(share_text(whole > 0 ? std::max(0.0, rest) / whole : 0))});
  return table_of(rows);
}

std::string comparison_table(const ReportRun& a, const ReportRun& b) {
  std::string rows = titles({{"", true}, {"A", false}, {"B", false}, {"", true}});
  for (const auto& item : a.summary.items()) {
    const std::string& field = item.key();
    const Json& value = item.value();
    const bool plain = value.is_number() || value.is_string();
    if (!plain || !b.has(field.c_str()) || field == "failure") continue;
    const Json& other = b.summary[field];
    if (!other.is_number() && !other.is_string()) continue;
    std::string difference = value == other ? "same" : "<span class=\"failed\">differs</span>";
    if (value != other && value.is_number() && other.is_number() && number_of(value) != 0 && field != "seed") {
      const double ratio = number_of(other) / number_of(value);
      difference = "B is " + short_number(ratio) + " of A";
    }
    const auto cell = [&](const char* run, const Json& one) {
      std::string text = text_of(field, one);
      if (text.size() > 16 && one.is_string()) text = text.substr(0, 12) + "...";
      return right(shown(std::string(run) + "." + field, one, text));
    };
    rows += row_of({left(html_escaped(field)), cell("A", value), cell("B", other), left(difference)});
  }
  return table_of(rows);
}

}  // namespace rehearse
