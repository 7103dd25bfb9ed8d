#include "sim/cluster/make_job.h"

#include <utility>

#include "core/checkpoint/names.h"
#include "core/checkpoint/verify.h"
#include "core/train/job_parts.h"
#include "sim/config/loader.h"

namespace rehearse {

TrainJob make_job(const Scenario& scenario, const std::optional<ResumeFrom>& resume, TrainObserver* observer,
                  Disturbance* disturbance, const RecoveryPolicy* policy) {
  TrainJob job;
  job.policy = policy;
  const Duration timeout = scenario.recovery.collective_timeout;
  job.collective_timeout = timeout == Duration() ? kForever : timeout;
  job.config = scenario.train;
  job.observer = observer;
  job.disturbance = disturbance;
  if (resume.has_value()) job.resume_from = resume->step;
  job.checkpoints = make_checkpoint_plan(scenario.train);
  if (job.checkpoints.local.has_value()) job.checkpoints.local->ranks_per_host = scenario.hosts.ranks_per_host;
  if (resume.has_value() && !resume->reshard_from.empty()) job.checkpoints.reshard_from = {resume->reshard_from};
  describe_scenario(scenario, job.checkpoints);
  make_shared_parts(job, scenario.ranks);
  return job;
}

void describe_scenario(const Scenario& scenario, CheckpointPlan& plan) {
  plan.arithmetic_sha256 = scenario.arithmetic_sha256;
  plan.scenario_sha256 = scenario.scenario_sha256;
  // The copy names every file it needs as the checkpoint will hold it; what is too large to copy stays where it is.
  ScenarioCopy copy = make_checkpoint_copy(scenario);
  plan.scenario_text = std::move(copy.text);
  plan.inputs.clear();
  for (const CopiedFile& file : copy.files) {
    CheckpointInput input;
    input.path = file.path;
    input.sha256 = sha256_hex(*file.contents);
    input.contents = file.contents;
    plan.inputs.push_back(input);
  }
  for (const InputFile& file : copy.left_out) {
    CheckpointInput input;
    input.path = file.path;
    input.sha256 = file.sha256;
    input.contents = file.contents;
    plan.inputs.push_back(input);
  }
}

RunState run_state_of(const ResumeFrom& resume) {
  const auto manifest = resume.files.find(kManifestFile);
  const auto state = resume.files.find(kRunStateFile);
  if (manifest == resume.files.end() || state == resume.files.end()) return RunState();  // the load will refuse it
  const std::string source = step_directory_name(resume.step) + "/" + kRunStateFile;
  return parse_run_state_of(manifest->second.text(), state->second.text(), source);
}

}  // namespace rehearse
