#include "tools/export/report_page.h"

#include <algorithm>
#include <map>

#include "tools/export/page_frame.h"
#include "tools/export/report_charts.h"
#include "tools/export/report_run.h"
#include "tools/export/report_tables.h"
#include "tools/export/svg.h"

namespace rehearse {
namespace {

// A heading comment of the scenario file: its story.
std::string story_of(const std::string& scenario) {
  std::string story;
  std::size_t start = 0;
  while (start < scenario.size() && scenario[start] == '#') {
    const std::size_t end = std::min(scenario.find('\n', start), scenario.size());
    story += (story.empty() ? "" : " ") + scenario.substr(start + 1, end - start - 1);
    start = end + 1;
  }
  return story;
}

std::string section_if(const std::string& title, const std::string& content, const std::string& note = "") {
  return content.empty() ? "" : section(title, content, note);
}

std::string repeat_section(const ReportInput& input) {
  std::string content;
  for (const std::string& command : input.repeat) content += "<pre>" + html_escaped(command) + "</pre>\n";
  content += "<details><summary>the scenario as it was run</summary><pre>" + html_escaped(input.scenario) +
             "</pre></details>\n";
  return section("How to repeat it", content);
}

// The summary as it is, for programs that read the page. Inside a script element only "</" could end it.
std::string embedded(const std::string& summary) {
  std::string safe;
  for (std::size_t i = 0; i < summary.size(); ++i) {
    safe += summary[i] == '<' ? "\\u003c" : std::string(1, summary[i]);
  }
  return "<script type=\"application/json\" id=\"summary\">" + safe + "</script>\n";
}

}  // namespace

std::int64_t typical_step(const ReportInput& input, std::int64_t saves_every) {
  const ReportRun run = read_report_run(input);
  const std::vector<bool> stands = run.standing();
  std::vector<std::pair<double, std::int64_t>> steps;
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    if (stands[i]) steps.emplace_back(run.rows[i].step_seconds, run.rows[i].step);
  }
  std::sort(steps.begin(), steps.end());
  const auto saved = [&](const auto& one) { return saves_every > 0 && one.second % saves_every == 0; };
  if (!std::all_of(steps.begin(), steps.end(), saved)) std::erase_if(steps, saved);
  return steps.empty() ? 0 : steps[(steps.size() - 1) / 2].second;
}

std::string write_report(const ReportInput& input) {
  const ReportRun run = read_report_run(input);
  const auto name = run.summary["scenario"].get<std::string>();
  std::string body =
      "<h1>" + html_escaped(name) + "</h1>\n<p class=\"soft\">" + html_escaped(story_of(input.scenario)) + "</p>\n";
  body += outcome_line(run) + tiles(run);
  body += section("What ran", "<pre>" + html_escaped(input.header) + "</pre>\n");
  body += section_if("Loss", loss_chart(run));
  body += section_if("Step time", step_chart(run),
                     "Time of a step's phases, averaged over ranks. Exposed communication is what training waits for: "
                     "the phases reduce and gather, the wait for slower ranks included.");
  body += section_if("Where the time went", time_table(run) + job_time_table(run));
  body += section_if("Faults and recoveries", event_chart(run) + event_table(run));
  body += section_if("Memory", memory_chart(run) + memory_table(run));
  body += section_if("Communication", communication_table(run),
                     input.formulas.empty() ? ""
                                            : "By formula: the start and each step of a run without faults, "
                                              "checkpoints and guards; what those send comes on top.");
  if (input.phases.has_value()) {
    const std::string step = std::to_string(input.phases->detailed_step);
    body += section_if("Ranks in step " + step, gantt_chart(run));
  }
  body += section_if("Who sends to whom", heat_map(run));
  body += section_if("Expectations", expectation_table(run));
  body += repeat_section(input);
  body += embedded(input.summary);
  return page_of("rehearse: " + name, body);
}

std::string write_comparison(const ReportInput& a, const ReportInput& b) {
  const ReportRun run_a = read_report_run(a);
  const ReportRun run_b = read_report_run(b);
  std::string body = "<h1>Two runs</h1>\n";
  body += "<p><b>A</b> " + html_escaped(a.name) + ": " + html_escaped(run_a.summary["scenario"].get<std::string>()) +
          "</p>\n" + outcome_line(run_a);
  body += "<p><b>B</b> " + html_escaped(b.name) + ": " + html_escaped(run_b.summary["scenario"].get<std::string>()) +
          "</p>\n" + outcome_line(run_b);
  body += section("Side by side", comparison_table(run_a, run_b));
  body += section_if("Loss", loss_chart(run_a, run_b));
  const auto both = [&](const std::string& title, std::string (*chart)(const ReportRun&)) {
    const std::string of_a = chart(run_a);
    const std::string of_b = chart(run_b);
    if (of_a.empty() && of_b.empty()) return std::string();
    return section(title, "<p><b>A</b></p>\n" + of_a + "<p><b>B</b></p>\n" + of_b);
  };
  body += both("Step time", step_chart);
  body += both("Where the time went", time_table);
  body += both("Communication", communication_table);
  body += both("Faults and recoveries", event_chart);
  return page_of("rehearse: " + a.name + " and " + b.name, body);
}

}  // namespace rehearse
