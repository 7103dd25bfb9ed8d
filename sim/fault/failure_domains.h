#pragma once

#include <cstdint>
#include <string>

namespace rehearse {

// Consecutive ranks; none where `count` is 0.
struct RankRange {
  int first = 0;
  int count = 1;

  int end() const { return first + count; }
  bool contains(int rank) const { return rank >= first && rank < end(); }
  bool operator==(const RankRange&) const = default;
};

// Where ranks live: consecutive ones share a host, consecutive hosts a rack. The last host and the last rack may have
// fewer.
struct HostLayout {
  int ranks_per_host = 1;
  int hosts_per_rack = 0;  // 0: no racks

  int host_of(int rank) const { return rank / ranks_per_host; }
  // How many there are where there are so many ranks.
  int hosts_of(int ranks) const { return (ranks + ranks_per_host - 1) / ranks_per_host; }
  int racks_of(int ranks) const;
  // The ranks of a host or of a rack, of a job that has so many; none where it does not reach there.
  RankRange ranks_of_host(int host, int ranks) const;
  RankRange ranks_of_rack(int rack, int ranks) const;
};

// What a crash takes along: a rank, or everything in a host or a rack. Where a rank's host is lost, that is its host.
enum class DomainKind : std::uint8_t { kRank, kHost, kRack };
struct FailureDomain {
  DomainKind kind = DomainKind::kRank;
  int index = 0;  // of the host or rack; means nothing for a rank
  bool operator==(const FailureDomain&) const = default;
};

// Ranks that are lost at once, with their hosts and what is on those alone.
struct DomainLoss {
  RankRange ranks;
  // "host 1 (ranks 2, 3)"; empty for the host of one rank, which is called after its rank.
  std::string who;
};

// The loss of a domain, of a job that has so many ranks. `rank`: whose host it is, for kRank.
DomainLoss loss_of(const FailureDomain& domain, int rank, const HostLayout& hosts, int ranks);

// Of a process alone.
inline DomainLoss loss_of_rank(int rank) { return DomainLoss{RankRange{rank, 1}, ""}; }

// "rank 2", "ranks 2, 3", "ranks 0 to 7".
std::string words_of(const RankRange& ranks);
// What happens: "the host is lost", "host 1 (ranks 2, 3) is lost".
std::string event_words(const DomainLoss& loss);
// What a supervisor says of it: "rank 2 was lost with its host", "host 1 (ranks 2, 3) was lost".
std::string cause_words(const DomainLoss& loss);

}  // namespace rehearse
