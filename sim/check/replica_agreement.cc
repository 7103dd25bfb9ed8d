#include "sim/check/replica_agreement.h"

#include <cmath>

#include "core/base/numbers.h"
#include "core/tensor/reduce.h"

namespace rehearse {

double parameter_norm(const TensorsView& parameters) {
  double squares = 0;
  const auto& tensors = parameters.layout->tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::byte* data = parameters.tensors[t];
    squares += parameters.dtype == DType::kFloat64
                   ? sum_of_squares(tensors[t].numel, reinterpret_cast<const double*>(data))
                   : sum_of_squares(tensors[t].numel, reinterpret_cast<const float*>(data));
  }
  return std::sqrt(squares);
}

void ReplicaAgreement::see_parts(std::int64_t step, const TensorsView& parameters) {
  latest_.clear();
  Seen& seen = open_[step];
  seen.parts.add(parameters);
  if (++seen.ranks < ranks_) return;
  const TensorsView whole = seen.parts.view();
  std::vector<Digest128> digests;
  for (int t = 0; t < static_cast<int>(whole.tensors.size()); ++t) digests.push_back(xxh3_128(whole.bytes(t)));
  finished_[step] = Parameters{parameter_norm(whole), xxh3_128(std::as_bytes(std::span(digests)))};
  open_.erase(step);
}

void ReplicaAgreement::see(int rank, std::int64_t step, const TensorsView& parameters) {
  if (parameters.is_sharded()) return see_parts(step, parameters);
  std::vector<Digest128>& digests = latest_;
  digests.clear();
  for (int t = 0; t < static_cast<int>(parameters.tensors.size()); ++t)
    digests.push_back(xxh3_128(parameters.bytes(t)));
  const double norm = parameter_norm(parameters);
  const Parameters parameters_here{norm, xxh3_128(std::as_bytes(std::span(digests)))};
  Seen& seen = open_[step];
  if (seen.ranks == 0) {
    seen.first_rank = rank;
    seen.norm = norm;
    seen.tensors = digests;
  } else {
    const std::string pair = "after step " + std::to_string(step) + ", ranks " + std::to_string(seen.first_rank) +
                             " and " + std::to_string(rank);
    for (std::size_t t = 0; t < digests.size(); ++t) {
      if (digests[t] == seen.tensors[t]) continue;
      violated("replicas differ: " + pair + " hold different " + parameters.layout->tensors()[t].name);
      break;
    }
    // Equal bits have equal norms, NaNs included.
    if (norm != seen.norm && !(std::isnan(norm) && std::isnan(seen.norm))) {
      violated("replicas differ: " + pair + " have parameter norms " + shortest_text(seen.norm) + " and " +
               shortest_text(norm));
    }
  }
  if (++seen.ranks == ranks_) {
    finished_[step] = parameters_here;
    open_.erase(step);
  }
}

}  // namespace rehearse
