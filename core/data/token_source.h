#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/data/config.h"

namespace rehearse {

// Gives every sequence a training job ever sees, as a pure function of (seed, batch index, data-parallel rank, sequence
// index in the batch): the same call gives the same tokens at any time, in any order, on any rank. Sequences are
// context + 1 tokens long; inputs are the first `context` of them, targets the last.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // Tokens are in [0, vocab()); never more than the model's vocabulary.
  virtual std::int64_t vocab() const = 0;
  // How many batches there are; -1 without a limit.
  virtual std::int64_t batches() const = 0;

  // Fills `tokens` (context + 1). `batch_index` is the data cursor and counts from 0. Requires indices in range.
  virtual void sequence(std::int64_t batch_index, int dp_rank, std::int64_t sequence_index,
                        std::span<std::int32_t> tokens) const = 0;

  // The same from the fixed held-out batch. Throws InputError where the source has none.
  virtual void eval_sequence(int dp_rank, std::int64_t sequence_index, std::span<std::int32_t> tokens) const = 0;
  // Throws InputError, saying why, where eval_sequence would.
  virtual void check_eval() const {}
};

// Throws InputError, naming the field of the scenario, where the data do not fit the job: more states or distinct
// characters than `vocab`, a text shorter than a sequence or not UTF-8, a tokens file of another shape or with a token
// that is not in [0, vocab).
std::unique_ptr<TokenSource> make_token_source(const DataConfig& config, std::uint64_t seed, int dp_world_size,
                                               std::int64_t batch, std::int64_t context, std::int64_t vocab);

// What a loader asks before anything runs: throws InputError where make_token_source would, where the source has fewer
// than `steps` batches, and, when `wants_eval`, where there is no held-out batch.
void check_data(const DataConfig& config, std::uint64_t seed, int dp_world_size, std::int64_t batch,
                std::int64_t context, std::int64_t vocab, std::int64_t steps, bool wants_eval);

}  // namespace rehearse
