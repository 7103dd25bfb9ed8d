#pragma once

#include <cstdint>
#include <memory>

#include "core/train/rank_main.h"

namespace rehearse {

// Makes what all ranks of the job have alike: layout, work and source.
void make_shared_parts(TrainJob& job, int ranks);

// The job's, or a rank's own where it has none; `work` also where its microbatches are of another size.
ParameterLayout layout_of(const TrainJob& job);
std::shared_ptr<const ModelWork> work_of(const TrainJob& job, std::int64_t sequences);
std::shared_ptr<const TokenSource> source_of(const TrainJob& job, int ranks);

}  // namespace rehearse
