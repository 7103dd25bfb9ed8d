#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/digest.h"

namespace rehearse {

// Two ranks have made different gradients of the same part of a batch: one of them computes wrong, or its memory
// changed. A third one says who. Ranks are those of the job's group.
struct GradientDispute {
  int owner = 0;           // whose part of the batch it is
  int checker = 0;         // who has computed its gradient again
  int third = -1;          // who computes it once more; -1 where there are two ranks alone
  int wrong = -1;          // the odd one out; -1 where nobody can say
  std::vector<int> units;  // of the gradient, that differ (core/parallel/units.h)
  bool operator==(const GradientDispute&) const = default;
};

// "the gradient of rank 1 is not what ranks 0 and 2 make of its tokens (unit 0)".
std::string words_of(const GradientDispute& dispute);

// The number, from 1, of the check in this step: every `every`-th step has one, and the last. 0 where it has none;
// `every` of 0: no step has.
std::int64_t check_number(std::int64_t every, std::int64_t step, std::int64_t last_step);

// In a check rank r computes the gradient of rank (r + offset) mod `ranks` again. The offset is 1 to ranks - 1 and the
// next one in the next check, so that in ranks - 1 checks every rank has asked every other. Requires two ranks.
int check_offset(std::int64_t check, int ranks);

// Digests of a rank's gradient, by unit.
using UnitDigests = std::vector<Digest128>;

// own[r]: of the gradient of rank r; again[r]: of that of rank (r + offset) mod N, as rank r makes it. By owner, each
// with its third: a rank that has nothing to do with any dispute, as long as there is one.
std::vector<GradientDispute> find_disputes(const std::vector<UnitDigests>& own, const std::vector<UnitDigests>& again,
                                           int offset);

// What the third rank's gradient says of a dispute, one for each way it comes out: in each unit the odd one out is
// wrong. `own` and `again` are what owner and checker have.
std::vector<GradientDispute> settle(const GradientDispute& dispute, const UnitDigests& own, const UnitDigests& again,
                                    const UnitDigests& third);

}  // namespace rehearse
