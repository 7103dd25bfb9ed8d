#pragma once

#include "core/base/units.h"
#include "core/comm/algorithms.h"

namespace rehearse {

// How long the collectives take, in the closed forms of the literature, from numbers known before a run: nothing here
// looks at a simulation. alpha is the latency from rank to rank and t(b) = transfer_time(b, bandwidth) a message's time
// on a port; N ranks that have a full-duplex port each and start at once, on a network where only ports are shared.
//
// Integers in picoseconds. "Exact" means equal to the simulated time, to the picosecond, where what the formula divides
// divides evenly (S by N, by the segments, ...); then t need not be whole picoseconds per byte, as it is rounded once a
// message. Otherwise parts are rounded up to whole bytes, and the form is near. All are zero for one rank or no bytes.
//
// Sources, by letter:
//   [C] Chan, Heimlich, Purkayastha, van de Geijn: Collective communication: theory, practice, and experience, 2007
//   [P] Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009
//   [T] Thakur, Rabenseifner, Gropp: Optimization of collective communication operations in MPICH, 2005
//   [S] Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009
// They charge alpha + b beta for each message in a row. Where a rank sends several in a row, its next message leaves
// when the one before has left the port, not when it has arrived, so that latencies of one sender overlap here.

struct LinkCost {
  LinkCost(Duration its_latency, Bandwidth its_bandwidth) : latency(its_latency), bandwidth(its_bandwidth) {}
  Duration latency;     // one way, end to end
  Bandwidth bandwidth;  // of a rank's port
};

// Of `size` bytes a rank (S):
//   kRing               2(N-1) (alpha + t(S/N)); exact for any N. [P]
//   kHalvingDoubling    2 sum over i = 1..log2 P of (alpha + t(S/2^i)), P the largest power of two up to N, and for
//                       N > P 2 (alpha + t(S)) more; exact for powers of two, and within 1 % for other N, where
//                       messages of ranks that have no pair are early and may be in the way. [T], after Rabenseifner
//   kRecursiveDoubling  log2 P (alpha + t(S)), and for N > P 2 (alpha + t(S)) more; exact for powers of two, an upper
//                       bound for other N, where ranks without a pair are early. [T]
//   kBinomialTree       reduce and broadcast in a row: 2 log2 N (alpha + t(S)); exact for powers of two, an upper bound
//                       for other N. [C]
//   kDoubleBinaryTree   2 (K alpha + (2K-1) t(c) + w t(c)), K = ceil(log2 N), each half in Q segments of c bytes,
//                       w = 2 (1 for N = 2) messages of each segment through a port; exact for powers of two with
//                       Q = 1 and alpha > (K-3) t(c). Otherwise messages of the two trees meet at ports, which takes
//                       up to a tenth longer (N up to 128); for other N it is up to half as long, as the tree is
//                       smaller. [S], but for the overlap of latencies
//   kHierarchical       2(g-1) (alpha + t(S/g)) + 2(N/g-1) (alpha + t(S/N)); exact.
Duration all_reduce_time(AllReduceAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link,
                         const AlgorithmOptions& options = AlgorithmOptions());
// kHierarchical with other links inside hosts than across.
Duration hierarchical_all_reduce_time(int ranks, Bytes size, int ranks_per_host, const LinkCost& inside,
                                      const LinkCost& across);

// Of `size` bytes of all chunks together (S):
//   kRing              (N-1) (alpha + t(S/N)); exact for any N. [C]
//   kRecursiveHalving  sum over i = 1..log2 N of (alpha + t(S/2^i)); exact for powers of two, an upper bound for other
//                      N (of P slots the largest ones, and the pairs' messages). [T]
//   kDirect            alpha + (N-1) t(S/N); exact for any N.
Duration reduce_scatter_time(ReduceScatterAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link);
// The same with kRecursiveDoubling in place of kRecursiveHalving.
Duration all_gather_time(AllGatherAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link);

// Of `size` bytes (S):
//   kBinomial  floor(log2 N) alpha + ceil(log2 N) t(S); exact for any N. [C] for powers of two
//   kChain     (N-1) (alpha + t(c)) + (Q-1) t(c), with Q segments of c bytes; exact for any N.
Duration broadcast_time(BroadcastAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link,
                        const AlgorithmOptions& options = AlgorithmOptions());
//   kBinomial  ceil(log2 N) (alpha + t(S)); exact for powers of two, an upper bound for other N. [C]
//   kChain     as in broadcast_time; exact for any N.
Duration reduce_time(ReduceAlgorithm algorithm, int ranks, Bytes size, const LinkCost& link,
                     const AlgorithmOptions& options = AlgorithmOptions());

// Of `part` bytes from each rank to each other (m):
//   kPairwise  (N-1) (alpha + t(m)); exact for any N. [T]
//   kDirect    alpha + (N-1) t(m); exact for any N.
Duration all_to_all_time(AllToAllAlgorithm algorithm, int ranks, Bytes part, const LinkCost& link);

// alpha + (N-1) t(m), with `part` bytes (m) of each rank; exact for any N.
Duration gather_time(int ranks, Bytes part, const LinkCost& link);
Duration scatter_time(int ranks, Bytes part, const LinkCost& link);

// ceil(log2 N) alpha; exact for any N. (Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988)
Duration barrier_time(int ranks, const LinkCost& link);

}  // namespace rehearse
