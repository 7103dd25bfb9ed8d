#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace rehearse {

// The collectives of nccl-tests whose ring formula is fitted.
enum class NcclCollective : std::uint8_t { kUnknown, kAllReduce, kAllGather, kReduceScatter };
const char* name_of(NcclCollective collective);  // "all_reduce"
// kUnknown for another name.
NcclCollective nccl_collective(const std::string& name);

// A line of the table: the out-of-place half.
struct NcclRow {
  Bytes size;  // as nccl-tests counts it: of a rank's buffer for all_reduce, of all of them together for the others
  double microseconds = 0;
  double algbw = 0;  // GB/s, decimal
  double busbw = 0;
};

// What nccl-tests prints.
struct NcclTable {
  NcclCollective collective = NcclCollective::kUnknown;  // where a line of it says
  int ranks = 0;                                         // of its list of devices; 0 where there is none
  std::vector<NcclRow> rows;
};

// Reads it. Throws InputError with file and line for what is no such table: no heading, columns that are missing or no
// numbers, wrong results (#wrong), bandwidths that are not size / time.
NcclTable read_nccl_table(const std::string& text, const std::string& source);

// T(S) = steps (latency + S / (N bandwidth)), steps = 2(N-1) for all_reduce and N-1 for the others, which is a ring's
// time (core/comm/cost_formulas.h), fitted to the table by least squares of relative errors.
struct NetworkFit {
  int ranks = 0;
  NcclCollective collective = NcclCollective::kUnknown;
  double latency_us = 0;
  double bandwidth_gbps = 0;  // decimal gigabits a second
  struct Point {
    Bytes size;
    double measured_us = 0;
    double fitted_us = 0;
    // Of the measured time.
    double error() const { return (fitted_us - measured_us) / measured_us; }
  };
  std::vector<Point> points;
  double mean_error = 0;  // of their absolute values
  double largest_error = 0;
  // A network of a scenario.
  std::string network_text() const;
};

// Requires a known collective and 2 ranks or more. Throws InputError that names `source` where the table has not two
// sizes, does not have the busbw of the collective on so many ranks, or gives a latency or a bandwidth that is not
// above 0.
NetworkFit fit_network(const NcclTable& table, NcclCollective collective, int ranks, const std::string& source);

}  // namespace rehearse
