#include "sim/net/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/random.h"

namespace rehearse {
namespace {

std::vector<Bandwidth> capacities(const std::vector<std::int64_t>& bits) {
  std::vector<Bandwidth> all;
  for (const std::int64_t one : bits) all.push_back(Bandwidth::bits_per_second(one));
  return all;
}

int add(FairShare& shares, const std::vector<int>& route) { return shares.add(route); }

TEST(FairShare, AFlowAloneHasItsNarrowestLink) {
  FairShare shares(capacities({100, 40, 70}));
  const int flow = add(shares, {0, 1, 2});
  EXPECT_EQ(shares.solve(), std::vector<int>{flow});
  EXPECT_EQ(shares.rate(flow), Rate::fraction(40, 1));
}

// The textbook's: three flows over three links of 10; A uses 0 and 1, B 0, C 1 and 2, D 2, E 2.
TEST(FairShare, WhatNarrowFlowsLeaveOthersGet) {
  FairShare shares(capacities({10, 10, 10}));
  const int a = add(shares, {0, 1});
  const int b = add(shares, {0});
  const int c = add(shares, {1, 2});
  const int d = add(shares, {2});
  const int e = add(shares, {2});
  shares.solve();
  EXPECT_EQ(shares.rate(c), Rate::fraction(10, 3));
  EXPECT_EQ(shares.rate(d), Rate::fraction(10, 3));
  EXPECT_EQ(shares.rate(e), Rate::fraction(10, 3));
  EXPECT_EQ(shares.rate(a), Rate::fraction(5, 1));
  EXPECT_EQ(shares.rate(b), Rate::fraction(5, 1));
  shares.remove(b);
  EXPECT_EQ(shares.solve(), std::vector<int>{a});
  EXPECT_EQ(shares.rate(a), Rate::fraction(20, 3));
}

TEST(FairShare, OnlyWhatSharesLinksWithTheChangeIsSolved) {
  FairShare shares(capacities({10, 10, 10}));
  const int near = add(shares, {0});
  const int far = add(shares, {2});
  shares.solve();
  const int more = add(shares, {0, 1});
  std::vector<int> changed = shares.solve();
  std::sort(changed.begin(), changed.end());
  EXPECT_EQ(changed, (std::vector<int>{near, more}));
  EXPECT_EQ(shares.rate(far), Rate::fraction(10, 1));
  EXPECT_TRUE(shares.solve().empty());
}

// Rates of any flows, by filling all of them at once in the plainest way: no heap, no levels, every sum made anew.
std::map<int, Rate> plain_filling(const std::vector<std::int64_t>& bits, const std::map<int, std::vector<int>>& flows) {
  std::map<int, Rate> rates;
  while (rates.size() < flows.size()) {
    std::optional<Rate> least;
    int narrowest = -1;
    for (int link = 0; link < static_cast<int>(bits.size()); ++link) {
      Rate left = Rate(Bandwidth::bits_per_second(bits[static_cast<std::size_t>(link)]));
      std::uint64_t unfilled = 0;
      for (const auto& [flow, route] : flows) {
        if (std::find(route.begin(), route.end(), link) == route.end()) continue;
        const auto rate = rates.find(flow);
        if (rate == rates.end()) {
          ++unfilled;
        } else {
          left = left.minus(1, rate->second);
        }
      }
      if (unfilled == 0) continue;
      const Rate share = left.over(unfilled);
      if (!least.has_value() || share < *least) {
        least = share;
        narrowest = link;
      }
    }
    for (const auto& [flow, route] : flows) {
      if (rates.contains(flow) || std::find(route.begin(), route.end(), narrowest) == route.end()) continue;
      rates[flow] = *least;
    }
  }
  return rates;
}

TEST(FairShare, RandomFlowsThatComeAndGoEqualPlainFilling) {
  RandomStream random(11);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::int64_t> bits;
    for (int link = 0; link < 9; ++link) bits.push_back(static_cast<std::int64_t>(1 + random.below(50)) * 60);
    FairShare shares(capacities(bits));
    std::map<int, std::vector<int>> flows;
    std::map<int, Rate> before;
    for (int change = 0; change < 60; ++change) {
      // Some at once, as at one moment.
      for (std::uint64_t more = random.below(4);; --more) {
        if (flows.size() < 3 || (flows.size() < 14 && random.below(2) == 0)) {
          std::vector<int> route;
          for (int link = 0; link < 9; ++link) {
            if (random.below(4) == 0) route.push_back(link);
          }
          if (route.empty()) route.push_back(static_cast<int>(random.below(9)));
          const int flow = shares.add(route);
          ASSERT_FALSE(flows.contains(flow));
          flows[flow] = route;
          before.erase(flow);
        } else {
          auto gone = flows.begin();
          std::advance(gone, static_cast<std::ptrdiff_t>(random.below(flows.size())));
          shares.remove(gone->first);
          before.erase(gone->first);
          flows.erase(gone);
        }
        if (more == 0) break;
      }
      std::vector<int> changed = shares.solve();
      const std::map<int, Rate> expected = plain_filling(bits, flows);
      for (const auto& [flow, rate] : expected) {
        ASSERT_EQ(shares.rate(flow), rate) << "round " << round << ", change " << change;
        const auto old = before.find(flow);
        const bool is_changed = std::find(changed.begin(), changed.end(), flow) != changed.end();
        ASSERT_EQ(is_changed, old == before.end() || !(old->second == rate));
      }
      before = expected;
    }
  }
}

double value_of(const Rate& rate) {
  return static_cast<double>(rate.whole()) + static_cast<double>(rate.part()) / static_cast<double>(rate.parts());
}

// With capacities that have no common divisor denominators soon have thousands of bits, and rates are rounded. Whatever
// came and went before, no link carries more than it can, and every flow has a link that is full on which none has
// more: which is what max-min fair means.
TEST(FairShare, StaysFairWhereFractionsAreRounded) {
  RandomStream random(12);
  std::vector<std::int64_t> bits;
  for (int link = 0; link < 60; ++link)
    bits.push_back(100'000'000'007 + 2 * static_cast<std::int64_t>(random.below(1 << 30)));
  FairShare shares(capacities(bits));
  std::map<int, std::vector<int>> flows;
  for (int change = 0; change < 1500; ++change) {
    if (flows.size() < 200 || random.below(2) == 0) {
      std::vector<int> route;
      for (int hop = 0; hop < 4; ++hop) route.push_back(15 * hop + static_cast<int>(random.below(15)));
      flows[shares.add(route)] = route;
    } else {
      auto gone = flows.begin();
      std::advance(gone, static_cast<std::ptrdiff_t>(random.below(flows.size())));
      shares.remove(gone->first);
      flows.erase(gone);
    }
    shares.solve();
    if (change % 50 != 0) continue;
    std::vector<double> sum(60, 0);
    std::vector<double> most(60, 0);
    for (const auto& [flow, route] : flows) {
      for (const int link : route) {
        sum[static_cast<std::size_t>(link)] += value_of(shares.rate(flow));
        most[static_cast<std::size_t>(link)] =
            std::max(most[static_cast<std::size_t>(link)], value_of(shares.rate(flow)));
      }
    }
    for (std::size_t link = 0; link < 60; ++link) ASSERT_LE(sum[link], static_cast<double>(bits[link]) + 0.01);
    for (const auto& [flow, route] : flows) {
      const double rate = value_of(shares.rate(flow));
      ASSERT_TRUE(std::any_of(route.begin(), route.end(),
                              [&](int one) {
                                const auto link = static_cast<std::size_t>(one);
                                return sum[link] > static_cast<double>(bits[link]) - 0.01 && rate > most[link] - 0.01;
                              }))
          << "change " << change;
    }
  }
}

// Every link's flows have together no more than it carries, and each has a link that is full on which none has more.
TEST(FairShare, AllToAllSharesEqually) {
  constexpr int kRanks = 24;
  FairShare shares(std::vector<Bandwidth>(2 * kRanks, Bandwidth::bits_per_second(1000)));
  std::vector<int> flows;
  for (int from = 0; from < kRanks; ++from) {
    for (int to = 0; to < kRanks; ++to) {
      if (to != from) flows.push_back(add(shares, {from, kRanks + to}));
    }
  }
  EXPECT_EQ(shares.solve().size(), flows.size());
  for (const int flow : flows) ASSERT_EQ(shares.rate(flow), Rate::fraction(1000, kRanks - 1));
  for (const int flow : flows) shares.remove(flow);
  EXPECT_TRUE(shares.solve().empty());
}

}  // namespace
}  // namespace rehearse
