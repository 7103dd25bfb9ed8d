#include "core/train/job_parts.h"

#include "core/train/batch_share.h"

namespace rehearse {

void make_shared_parts(TrainJob& job, int ranks) {
  job.layout = layout_of(job);
  job.work = work_of(job, share_of_batch(job.config, ranks).per_microbatch());
  job.source = source_of(job, ranks);
}

ParameterLayout layout_of(const TrainJob& job) {
  return job.layout.has_value() ? *job.layout : ParameterLayout(job.config.model);
}

std::shared_ptr<const ModelWork> work_of(const TrainJob& job, std::int64_t sequences) {
  if (job.work != nullptr && job.work->batch() == sequences) return job.work;
  const StateTypes types = job.config.state_types();
  return std::make_shared<ModelWork>(job.config.model, sequences, types.parameters, types.gradients);
}

std::shared_ptr<const TokenSource> source_of(const TrainJob& job, int ranks) {
  if (job.source != nullptr) return job.source;
  const TrainConfig& config = job.config;
  const std::int64_t data_ranks = config.data_ranks > 0 ? config.data_ranks : ranks;
  return make_token_source(config.data, config.seed, static_cast<int>(data_ranks), config.batch, config.model.context,
                           config.model.vocab);
}

}  // namespace rehearse
