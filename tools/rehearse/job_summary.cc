#include "sim/cluster/interval_report.h"
#include "tools/rehearse/interval_json.h"
#include "tools/rehearse/job_report.h"
#include "tools/rehearse/recoveries_json.h"
#include "tools/rehearse/stragglers_json.h"

namespace rehearse {

std::string write_job_summary(const FinishedJob& job) {
  const Scenario& scenario = *job.scenario;
  const JobRecord& record = job.record;
  Json json;
  json["scenario"] = scenario.name;
  json["seed"] = scenario.seed;
  json["outcome"] = name_of(record.outcome);
  json["exit_code"] = static_cast<int>(job.exit_code);
  if (!record.failure.empty()) json["failure"] = record.failure;
  json["scenario_sha256"] = scenario.scenario_sha256;
  json["event_digest"] = record.event_digest;
  json["events"] = record.events;
  json["simulated_seconds"] = seconds_of(record.simulated.since_start());
  json["wall_seconds"] = job.wall_seconds;
  json["steps"] = record.steps;
  json["steps_in_all_attempts"] = record.trained;
  json["lost_steps"] = record.lost_steps;
  json["saves"] = record.saves;
  json["failures"] = record.failures.size();
  Json causes = Json::array();
  for (const CauseCount& one : failures_by_cause(record)) {
    causes.push_back(Json{{"cause", one.cause}, {"kind", name_of(one.kind)}, {"failures", one.failures}});
  }
  json["failures_by_cause"] = std::move(causes);
  json["recoveries"] = recoveries_json(record.recoveries);
  add_stragglers(struck_lemons(scenario, failures_of(record)), Stragglers(), json);
  json["goodput"] = json_number(goodput_of(record));
  json["save_seconds"] = seconds_of(record.saving);
  json["down_seconds"] = seconds_of(record.down);
  if (const auto interval = interval_report(scenario, record)) json["checkpoint_interval"] = interval_json(*interval);
  json["expectations"] = expectations_json(job.verdicts);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rehearse
