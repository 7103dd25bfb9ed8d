// Strikes are told in words; each word belongs to a kind of fault.

#include "sim/fuzz/reached.h"

#include <gtest/gtest.h>

namespace rehearse {
namespace {

std::string kind_of(const std::string& what) {
  FaultRecord fault;
  fault.what = what;
  return kind_of_strike(fault);
}

TEST(Reached, KnowsAKindByItsWords) {
  EXPECT_EQ(kind_of("bit 24 of the gradient a.weight[37] is inverted"), "flip");
  EXPECT_EQ(kind_of("bit 3 of byte 5000 of shared:a is inverted at rest"), "rot");
  EXPECT_EQ(kind_of("the process crashes, after message 2 of the phase"), "crash");
  EXPECT_EQ(kind_of("the host is lost, after message 2 of the phase"), "crash");
  EXPECT_EQ(kind_of("the process hangs"), "hang");
  EXPECT_EQ(kind_of("the loss is multiplied by 50"), "spike");
  EXPECT_EQ(kind_of("the learning rate is multiplied by 50"), "lr_spike");
  EXPECT_EQ(kind_of("link 2 -> 3 goes down"), "link_down");
  EXPECT_EQ(kind_of("every link from rank 2 takes 20 us longer"), "link_latency");
  EXPECT_EQ(kind_of("the link of rank 2 to the supervisor loses everything"), "supervisor_link");
  EXPECT_EQ(kind_of("from now on, 2 % of the messages on every link are lost"), "loss");
  EXPECT_EQ(kind_of("write shared:a fails: no space left"), "disk_full");
  EXPECT_EQ(kind_of("something else"), "");
}

TEST(Reached, ATableCountsRunsAndNotStrikes) {
  Reached one;
  one.strikes = {{"flip", "DATA"}, {"flip", "REDUCE"}};
  one.paths = {"ROLLBACK"};
  ReachedTable table;
  table.add(one);
  table.add(one);
  EXPECT_EQ(table.strikes("flip", "DATA"), 2);
  EXPECT_EQ(table.paths("flip", "ROLLBACK"), 2);
  EXPECT_EQ(table.runs("ROLLBACK"), 2);
  EXPECT_EQ(table.strikes("flip", "LOAD"), 0);
}

}  // namespace
}  // namespace rehearse
