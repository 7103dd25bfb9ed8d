#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/net/rate.h"

namespace rehearse {

// Max-min fair rates of flows over links, by progressive filling: all flows grow alike until a link is full, whose
// flows stay as they are while the others grow on (Bertsekas and Gallager, "Data Networks", 2nd edition,
// section 6.5.2). Knows nothing of time.
//
// Only what can have changed is solved anew. Filling goes from low rates to high ones, and below the rate of a flow
// that is gone, or the equal share of a link that a new one uses, it goes as before: flows of lower rates keep theirs,
// and so does everything that does not share links with the change through flows of higher ones. Where all have as much
// to send, the fastest end first, so that few are left to be solved. What is left of a link is worked out once for
// every rate that its flows have and not once for every flow, so that many flows of one rate cost little more than
// counting.
class FairShare {
 public:
  explicit FairShare(std::span<const Bandwidth> capacities);

  // A flow over these links, each once; it has no rate before solve(). Returns its number, which may have been that of
  // one that is gone.
  int add(std::span<const int> route);
  void remove(int flow);
  // Gives every flow its rate. Returns those whose rate is not what it was, new ones included; valid until the next
  // call.
  const std::vector<int>& solve();

  const Rate& rate(int flow) const { return flows_[static_cast<std::size_t>(flow)].rate; }
  std::size_t flows_on(int link) const { return links_[static_cast<std::size_t>(link)].flows.size(); }
  int hops(int flow) const { return static_cast<int>(flows_[static_cast<std::size_t>(flow)].hops); }
  int link_of(int flow, int hop) const {
    return static_cast<int>(
        hops_[flows_[static_cast<std::size_t>(flow)].first_hop + static_cast<std::size_t>(hop)].link);
  }

 private:
  struct Hop {
    std::uint32_t link;
    std::uint32_t place;  // in the link's list of flows
  };
  struct Flow {
    Rate rate;
    std::uint32_t first_hop = 0;
    std::uint32_t hops = 0;
    std::uint32_t seen = 0;    // the solution that it was last part of
    std::uint32_t filled = 0;  // the solution in which it last got its rate
  };
  struct OnLink {
    std::uint32_t flow;
    std::uint32_t hop;
  };
  struct Link {
    Rate capacity;
    std::vector<OnLink> flows;
    Rate spare;  // what no flow has
    // Flows of one rate that are gone since, and not in `spare` yet.
    Rate freed_rate;
    std::uint32_t freed = 0;
    bool changed = false;
    bool gained = false;  // a flow
    std::uint32_t seen = 0;
    // While it is solved: `left` is for the flows to be filled that had no rate when the level began, of which `filled`
    // have got it since and `unfilled` have not.
    Rate left;
    int level = -1;
    std::uint32_t filled = 0;
    std::uint32_t unfilled = 0;
    bool moved = false;  // its share is not what the heap says
  };
  using Entry = std::pair<Rate, std::uint32_t>;  // a link's share for each flow without a rate

  void note_change(std::uint32_t link);
  void take_back_freed(Link& link);
  // Where filling begins to differ from the last time.
  Rate first_difference() const;
  void gather();
  void begin_level(Link& link, int level);
  Rate share_of(Link& link) const;
  void fill(std::uint32_t link, const Rate& rate);

  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_flows_;
  std::vector<Hop> hops_;
  std::vector<std::vector<std::uint32_t>> free_hops_;  // by length
  std::vector<std::uint32_t> changed_links_;
  std::optional<Rate> least_removed_;
  std::uint32_t solution_ = 0;
  std::vector<std::uint32_t> part_;  // links to be solved
  std::vector<Entry> heap_;
  std::vector<Rate> levels_;
  std::vector<int> changed_flows_;
};

}  // namespace rehearse
