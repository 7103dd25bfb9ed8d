#pragma once

#include <vector>

#include "sim/cluster/supervisor.h"
#include "sim/cluster/verdicts.h"
#include "tools/rehearse/json.h"

namespace rehearse {

// Parts of summary.json that runs of either kind have.
Json recoveries_json(const std::vector<RecoveryRecord>& recoveries);
Json expectations_json(const std::vector<Verdict>& verdicts);

}  // namespace rehearse
