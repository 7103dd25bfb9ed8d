#include "sim/net/routes.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "core/base/check.h"

namespace rehearse {
namespace {

constexpr std::size_t kMostTableBytes = std::size_t{64} << 20;

}  // namespace

Routes::Routes(const Topology& topology, const RandomStream& stream)
    : topology_(topology), key_(stream.key()), number_of_(static_cast<std::size_t>(topology.ranks()), -1) {
  if (!topology.grid().empty() || topology.is_full_mesh()) return;
  const auto gather = [&](auto end_of, std::vector<Span>& spans, std::vector<int>& all) {
    spans.resize(static_cast<std::size_t>(topology.nodes()));
    all.resize(static_cast<std::size_t>(topology.links()));
    for (int i = 0; i < topology.links(); ++i) ++spans[static_cast<std::size_t>(end_of(i))].end;
    std::uint32_t sum = 0;
    for (Span& span : spans) {
      span.begin = sum;
      sum += span.end;
      span.end = span.begin;
    }
    for (int i = 0; i < topology.links(); ++i) all[spans[static_cast<std::size_t>(end_of(i))].end++] = i;
  };
  gather([&](int i) { return topology.link(i).from; }, out_spans_, out_);
  gather([&](int i) { return topology.link(i).to; }, in_spans_, in_);
}

Routes::Table Routes::make_table(const std::vector<std::pair<int, int>>& last) const {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  const int first = topology_.ranks_forward() ? 0 : topology_.ranks();
  const auto count = static_cast<std::size_t>(topology_.nodes() - first);
  Table table;
  table.distance.assign(count, kFar);
  using Reached = std::pair<std::int64_t, int>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> reached;
  const auto reach = [&](int node, std::int64_t distance) {
    if (table.distance[place(node)] <= distance) return;
    table.distance[place(node)] = distance;
    reached.emplace(distance, node);
  };
  for (const auto& [node, cost] : last) reach(node, cost);
  while (!reached.empty()) {
    const auto [distance, node] = reached.top();
    reached.pop();
    if (table.distance[place(node)] < distance) continue;
    const Span span = in_spans_[static_cast<std::size_t>(node)];
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
      const TopologyLink& link = topology_.link(in_[i]);
      if (passes_on(link.from)) reach(link.from, distance + link.cost);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    table.begin.push_back(static_cast<std::uint32_t>(table.next.size()));
    if (table.distance[i] == kFar) {
      table.distance[i] = -1;
      continue;
    }
    const Span span = out_spans_[i + static_cast<std::size_t>(first)];
    for (std::uint32_t k = span.begin; k < span.end; ++k) {
      const TopologyLink& link = topology_.link(out_[k]);
      if (!passes_on(link.to)) continue;
      const std::int64_t rest = table.distance[place(link.to)];
      if (rest != -1 && rest != kFar && rest + link.cost == table.distance[i]) table.next.push_back(out_[k]);
    }
  }
  table.begin.push_back(static_cast<std::uint32_t>(table.next.size()));
  return table;
}

const Routes::Table& Routes::table_to(int destination) {
  int& number = number_of_[static_cast<std::size_t>(destination)];
  std::vector<std::pair<int, int>> last;
  const auto find_last = [&] {
    const Span span = in_spans_[static_cast<std::size_t>(destination)];
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
      const TopologyLink& link = topology_.link(in_[i]);
      if (passes_on(link.from)) last.emplace_back(link.from, link.cost);
    }
    std::sort(last.begin(), last.end());
  };
  if (number < 0) {
    find_last();
    const auto [known, is_new] = numbers_.try_emplace(last, static_cast<int>(tables_.size()));
    if (is_new) tables_.emplace_back();
    number = known->second;
  }
  Table& table = tables_[static_cast<std::size_t>(number)];
  if (!table.begin.empty()) return table;
  if (last.empty()) find_last();
  if (table_bytes_ > kMostTableBytes) {
    for (Table& old : tables_) old = Table();
    table_bytes_ = 0;
  }
  table = make_table(last);
  table_bytes_ += table.distance.size() * sizeof(std::int64_t) + table.begin.size() * sizeof(std::uint32_t) +
                  table.next.size() * sizeof(int);
  return table;
}

std::int64_t Routes::candidates(int node, int destination, const Table& table) {
  candidates_.clear();
  std::int64_t best = -1;
  const auto consider = [&](int link, std::int64_t distance) {
    if (best != -1 && distance > best) return;
    if (distance != best) candidates_.clear();
    best = distance;
    candidates_.push_back(link);
  };
  const Span in = in_spans_[static_cast<std::size_t>(destination)];
  for (std::uint32_t i = in.begin; i < in.end; ++i) {
    if (topology_.link(in_[i]).from == node) consider(in_[i], topology_.link(in_[i]).cost);
  }
  if (passes_on(node)) {
    const std::int64_t distance = table.distance[place(node)];
    if (distance == -1) return best;
    const std::size_t from = table.begin[place(node)];
    const std::size_t to = table.begin[place(node) + 1];
    for (std::size_t i = from; i < to; ++i) consider(table.next[i], distance);
    return best;
  }
  const Span out = out_spans_[static_cast<std::size_t>(node)];
  for (std::uint32_t i = out.begin; i < out.end; ++i) {
    const TopologyLink& link = topology_.link(out_[i]);
    if (link.to == destination || !passes_on(link.to)) continue;
    const std::int64_t rest = table.distance[place(link.to)];
    if (rest != -1) consider(out_[i], rest + link.cost);
  }
  return best;
}

std::uint64_t Routes::draw(int source, int destination, std::uint64_t label, int node) const {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto flow =
      philox4x32({static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(destination), low(label), high(label)},
                 {low(key_), high(key_)});
  const auto drawn = philox4x32({flow[0], flow[1], flow[2], static_cast<std::uint32_t>(node)}, {flow[3], low(key_)});
  return std::uint64_t{drawn[1]} << 32 | drawn[0];
}

void Routes::cross_grid(int source, int destination, std::uint64_t label, std::vector<int>& links) const {
  const std::vector<int>& sizes = topology_.grid();
  int at = source;
  int stride = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const int size = sizes[d];
    const int up = (destination / stride % size - at / stride % size + size) % size;
    const int down = size - up;
    int direction = up <= down || size == 2 ? 0 : 1;
    if (up == down && size > 2) direction = static_cast<int>(draw(source, destination, label, at) >> 63);
    for (int hops = up == 0 ? 0 : (direction == 0 ? up : down); hops > 0; --hops) {
      const int link = topology_.grid_link(at, static_cast<int>(d), direction);
      links.push_back(link);
      at = topology_.link(link).to;
    }
    stride *= size;
  }
  CHECK_EQ(at, destination);
}

void Routes::find(int source, int destination, std::uint64_t label, std::vector<int>& links) {
  CHECK_NE(source, destination);
  links.clear();
  if (topology_.is_full_mesh()) {
    links.push_back(source * (topology_.ranks() - 1) + (destination > source ? destination - 1 : destination));
    return;
  }
  if (!topology_.grid().empty()) return cross_grid(source, destination, label, links);
  const Table& table = table_to(destination);
  for (int at = source; at != destination;) {
    CHECK_NE(candidates(at, destination, table), -1);
    if (candidates_.size() == 1) {
      links.push_back(candidates_.front());
    } else {
      const auto drawn = static_cast<unsigned __int128>(draw(source, destination, label, at));
      links.push_back(candidates_[static_cast<std::size_t>(drawn * candidates_.size() >> 64)]);
    }
    at = topology_.link(links.back()).to;
  }
}

bool Routes::exists(int source, int destination) {
  if (topology_.is_full_mesh() || !topology_.grid().empty()) return true;
  return candidates(source, destination, table_to(destination)) != -1;
}

// Where ranks pass messages on, ways to and from rank 0 are enough.
std::optional<std::pair<int, int>> Routes::first_without_way() {
  const int ranks = topology_.ranks();
  for (int destination = 0; destination < ranks; ++destination) {
    if (topology_.ranks_forward() && destination > 0) {
      if (!exists(0, destination)) return std::pair(0, destination);
      continue;
    }
    for (int source = 0; source < ranks; ++source) {
      if (source != destination && !exists(source, destination)) return std::pair(source, destination);
    }
  }
  return std::nullopt;
}

}  // namespace rehearse
