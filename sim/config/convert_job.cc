#include <set>
#include <string>

#include "core/base/check.h"
#include "sim/config/canonical.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"
#include "sim/fault/failure_presets.h"

namespace rehearse {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Refuses every written field of `group` but those that a job has too.
void allow_only(const Message& group, const std::string& path, const std::set<std::string>& allowed,
                const Origins& origins) {
  std::vector<const FieldDescriptor*> written;
  group.GetReflection()->ListFields(group, &written);
  for (const FieldDescriptor* field : written) {
    if (allowed.contains(field->name())) continue;
    std::string names;
    for (const std::string& name : allowed) names += (names.empty() ? "" : ", ") + name;
    origins.fail(path + "." + field->name() + (field->is_repeated() ? "[0]" : ""),
                 "found in a scenario with a job, which has no ranks that compute; allowed: " + names);
  }
}

template <class Messages>
void check_ends(const std::string& name, const Messages& messages, const std::set<std::string>& allowed,
                const Origins& origins) {
  for (int i = 0; i < messages.size(); ++i) {
    const std::string path = "faults." + name + "[" + std::to_string(i) + "]";
    if (messages[i].has_at()) origins.fail(path, "found a place in a step, which a job has not; allowed: time");
    allow_only(messages[i], path, allowed, origins);
  }
}

// Whether a preset has ranks that hang.
bool may_hang(const config::Faults& faults) {
  for (const config::Rate& rate : faults.rate()) {
    FailureRate figures;
    if (!rate.has_preset() || !find_failure_preset(rate.preset(), figures)) continue;
    for (const FailureCause& cause : figures.causes) {
      if (cause.kind == FailureKind::kHang) return true;
    }
  }
  return false;
}

void check_faults(const config::Faults& faults, const Origins& origins) {
  allow_only(faults, "faults", {"crash", "hang", "rate"}, origins);
  check_ends("crash", faults.crash(), {"host", "kind", "rack", "rank", "time"}, origins);
  check_ends("hang", faults.hang(), {"rank", "time"}, origins);
}

// Where a rank may hang, something must end that.
void check_hangs(const config::Scenario& message, const Origins& origins) {
  if (message.faults().hang_size() == 0 && !may_hang(message.faults())) return;
  if (message.cluster().ranks() == 1) {
    origins.fail("cluster.ranks", "found 1 in a job whose ranks may hang: nobody would wait for it; allowed: more");
  }
  if (parse_duration(message.recovery().collective_timeout()) == Duration()) {
    origins.fail("recovery.collective_timeout", "found \"" + message.recovery().collective_timeout() +
                                                    "\" in a job whose ranks may hang, and would for ever; allowed: "
                                                    "more");
  }
}

void check_expectations(const config::Expect& expect, const JobConfig& job, const Origins& origins) {
  allow_only(
      expect, "expect",
      {"cause", "event_digest", "final_step", "goodput_above", "goodput_below", "lost_steps", "outcome", "recoveries"},
      origins);
  if (job.steps.has_value() && expect.final_step() > *job.steps) {
    origins.fail("expect.final_step", "found " + std::to_string(expect.final_step()) +
                                          "; allowed: a step of the job, 1 to job.steps, which is " +
                                          std::to_string(*job.steps));
  }
  if (expect.outcome() != config::Expect::DONE && expect.outcome() != config::Expect::FAILED) {
    origins.fail("expect.outcome", "found " + config::Expect::Outcome_Name(expect.outcome()) +
                                       ", which a job has not; allowed: DONE, FAILED");
  }
}

// What a job has not must be as it is where nobody writes it.
void check_left_out(const config::Scenario& message, const Origins& origins) {
  config::Scenario blank;
  fill_defaults(blank);
  const config::Cluster& found = message.cluster();
  config::Cluster& cluster = *blank.mutable_cluster();
  cluster.set_ranks(found.ranks());
  cluster.mutable_network()->set_latency(found.network().latency());
  if (found.has_ranks_per_host()) cluster.set_ranks_per_host(found.ranks_per_host());
  if (found.has_hosts_per_rack()) cluster.set_hosts_per_rack(found.hosts_per_rack());
  if (canonical_text(found) != canonical_text(cluster)) {
    origins.fail("cluster",
                 "found more than a job has; allowed: ranks, network { latency }, ranks_per_host, hosts_per_rack");
  }
  if (message.recovery().mode() == config::Recovery::ELASTIC) {
    origins.fail("recovery.mode", "found ELASTIC in a job, whose steps take as long as is written; allowed: RESTART");
  }
  if (canonical_text(message.checkpoint()) != canonical_text(blank.checkpoint())) {
    origins.fail("checkpoint", "found together with a job; allowed: job.checkpoint");
  }
}

// A moment in a save, not after the one that comes next.
Duration moment(bool written, const std::string& text, Duration next, const std::string& path,
                const std::string& next_path, const Origins& origins) {
  if (!written) return next;
  const Duration value = parse_duration(text);
  if (value > next) {
    origins.fail(
        path, "found \"" + text + "\"; allowed: at most " + next_path + ", which is \"" + canonical_text(next) + "\"");
  }
  return value;
}

void convert_checkpoint(const config::JobCheckpoint& checkpoint, const Origins& origins, JobConfig& job) {
  const std::string path = "job.checkpoint";
  if (checkpoint.cadence_case() == config::JobCheckpoint::CADENCE_NOT_SET) {
    origins.fail(path, "says not how often; allowed: every_steps, or every");
  }
  if (checkpoint.has_every_steps()) job.every_steps = checkpoint.every_steps();
  if (checkpoint.has_every()) job.every = parse_duration(checkpoint.every());
  job.keep = checkpoint.keep();
  job.save = parse_duration(checkpoint.save());
  job.published = moment(checkpoint.has_published(), checkpoint.published(), job.save, path + ".published",
                         path + ".save", origins);
  job.written = moment(checkpoint.has_written(), checkpoint.written(), job.published, path + ".written",
                       path + (checkpoint.has_published() ? ".published" : ".save"), origins);
}

}  // namespace

void convert_job(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const config::Job& from = message.job();
  JobConfig job;
  job.step = parse_duration(from.step());
  job.start = parse_duration(from.start());
  job.start_again = from.has_start_again() ? parse_duration(from.start_again()) : job.start;
  job.load = parse_duration(from.load());
  if (from.end_case() == config::Job::END_NOT_SET) {
    origins.fail("job", "says not when it ends; allowed: steps, or time");
  }
  if (from.has_steps()) job.steps = from.steps();
  if (from.has_time()) job.time = parse_duration(from.time());
  if (from.has_checkpoint()) convert_checkpoint(from.checkpoint(), origins, job);
  check_left_out(message, origins);
  check_faults(message.faults(), origins);
  check_hangs(message, origins);
  check_expectations(message.expect(), job, origins);
  scenario.job = job;
}

}  // namespace rehearse
