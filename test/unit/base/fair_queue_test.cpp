#include "base/fair_queue.hpp"

#include <gmock/gmock.h>

namespace base {
namespace fair_lane_test {

std::string drain(FairQueue<std::string>& lane) {
  std::string all;
  while (const auto item = lane.pop()) all += *item + " ";
  return all;
}

TEST(FairQueue, OwnersTakeTurnsAndKeepTheirOrder) {
  FairQueue<std::string> lane;
  for (const char* item : {"a1", "a2", "a3", "b1", "c1", "b2"}) lane.push(std::string(item, 1), item);
  EXPECT_EQ(lane.size(), 6U);
  EXPECT_EQ(drain(lane), "a1 b1 c1 a2 b2 a3 ");
  EXPECT_TRUE(lane.empty());
}

TEST(FairQueue, ARequeuedItemWaitsForItsTurn) {
  FairQueue<std::string> lane;
  lane.push("a", "a1");
  lane.push("b", "b1");
  EXPECT_EQ(lane.pop(), "a1");
  lane.push("a", "a2");
  EXPECT_EQ(drain(lane), "b1 a2 ");
}

}  // namespace fair_lane_test
}  // namespace base
