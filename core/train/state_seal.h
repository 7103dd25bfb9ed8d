#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/parallel/data_parallel.h"

namespace rehearse {

// Parts of a rank's state, to be combined.
using StateParts = std::uint32_t;
inline constexpr StateParts kParametersPart = 1;
inline constexpr StateParts kMasterPart = 2;
inline constexpr StateParts kFirstMomentPart = 4;
inline constexpr StateParts kSecondMomentPart = 8;

// "master weights and second moments".
std::string words_of(StateParts parts);

// Finds what changes in a rank's memory between its last update and the next: digests (XXH3-128) of the parameters, of
// the master weights and of the moments that the rank holds are taken when they are written and compared before they
// are next used. The digest of replicas cannot find that: a master weight that flipped is gathered to everybody. What
// flips in gradients or activations is not seen here.
//
// Each pass takes the device the time of reading what it covers.
template <class T>
class StateSeal {
 public:
  // Both outlive this.
  StateSeal(RankContext& context, DataParallel<T>& parallel) : context_(context), parallel_(parallel) {}

  // Of a state that was made or loaded just now.
  Task<> seal_all();
  // After the update: master weights and moments.
  Task<> seal_optimizer();
  // After the parameters were gathered.
  Task<> seal_parameters();
  // By rank, what is not as it was sealed, as all ranks say it; nothing in cost-only mode.
  Task<std::vector<StateParts>> changed();

 private:
  struct Digests {
    Digest128 master;
    Digest128 m;
    Digest128 v;
  };
  Digests digests_of_optimizer() const;
  Digest128 digest_of_parameters() const;
  // A parameter that this rank updates is a copy of its master weight: one that flipped before it was gathered is alike
  // on all ranks, and not alike its master.
  bool parameters_match_master() const;
  StateParts compare() const;
  Bytes optimizer_bytes() const;
  Bytes parameter_bytes() const;

  RankContext& context_;
  DataParallel<T>& parallel_;
  Digests optimizer_;
  Digest128 parameters_;
};

}  // namespace rehearse
