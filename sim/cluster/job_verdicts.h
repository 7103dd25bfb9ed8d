#pragma once

#include <vector>

#include "sim/cluster/job_model.h"
#include "sim/cluster/verdicts.h"

namespace rehearse {

// Judges a job by what its scenario expects.
std::vector<Verdict> judge_job(const Scenario& scenario, const JobRecord& record);
// Whether a second run of the same job went the same way.
Verdict judge_second_run(const JobRecord& first, const JobRecord& second);
// 0 where all held, else 1.
ExitCode exit_code_of(const std::vector<Verdict>& verdicts);

}  // namespace rehearse
