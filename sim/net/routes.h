#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "sim/net/topology.h"

namespace rehearse {

// Which links a message goes over: a way of the least cost. Where there are several, each node picks one of its next
// links as a router does that hashes addresses (ECMP): a pure function of the stream, the two ranks, the label and the
// node, the same whatever was asked before.
//
// A torus is crossed dimension by dimension, in each the shorter way around. Elsewhere the ways to a destination are
// found when they are first asked for, once for all ranks that have the same switches before them: a switch of 16,384
// ranks has one table, a tree one for each leaf. Tables beyond 64 MiB are made again when they are needed.
class Routes {
 public:
  Routes(const Topology& topology, const RandomStream& stream);

  // Puts the links from one rank to another into `links`, in order. Requires two different ranks that a way exists
  // between.
  void find(int source, int destination, std::uint64_t label, std::vector<int>& links);
  // Whether there is a way.
  bool exists(int source, int destination);
  // The first two ranks without a way from one to the other.
  std::optional<std::pair<int, int>> first_without_way();
  // What the tables take that are kept.
  std::size_t table_bytes() const { return table_bytes_; }

 private:
  struct Span {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  // The ways from every node that passes messages on to what is behind certain nodes.
  struct Table {
    std::vector<std::int64_t> distance;  // by node, to the destination; -1: no way
    std::vector<std::uint32_t> begin;    // by node, where its next links begin
    std::vector<int> next;               // the links to other nodes that are on a way
  };

  bool passes_on(int node) const { return topology_.ranks_forward() || node >= topology_.ranks(); }
  std::size_t place(int node) const {
    return static_cast<std::size_t>(topology_.ranks_forward() ? node : node - topology_.ranks());
  }
  const Table& table_to(int destination);
  Table make_table(const std::vector<std::pair<int, int>>& last) const;
  // The links at `node` that are on a way of the least cost, into candidates_; returns the cost, or -1.
  std::int64_t candidates(int node, int destination, const Table& table);
  // 64 random bits for this node's choice.
  std::uint64_t draw(int source, int destination, std::uint64_t label, int node) const;
  void cross_grid(int source, int destination, std::uint64_t label, std::vector<int>& links) const;

  const Topology& topology_;
  std::uint64_t key_;
  std::vector<Span> out_spans_, in_spans_;                   // by node
  std::vector<int> out_, in_;                                // links
  std::map<std::vector<std::pair<int, int>>, int> numbers_;  // of tables, by the last nodes and costs
  std::vector<int> number_of_;                               // by destination; -1: not known yet
  std::vector<Table> tables_;                                // empty ones are made when they are needed
  std::size_t table_bytes_ = 0;
  std::vector<int> candidates_;
};

}  // namespace rehearse
