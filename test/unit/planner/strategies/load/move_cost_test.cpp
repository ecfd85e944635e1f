#include "planner/strategies/load/move_cost.hpp"

#include <gtest/gtest.h>

#include "test/builders/cluster.hpp"

namespace strategies {
namespace move_cost_test {

using builders::ClusterBuilder;
using builders::PodBuilder;

double cost_of(const PodBuilder& pod) {
  const auto cluster = ClusterBuilder().add(pod).build();
  return move_cost(*cluster, 0);
}

TEST(MoveCost, IsOneForAnOrdinaryPod) { EXPECT_DOUBLE_EQ(cost_of(PodBuilder("p")), 1); }

TEST(MoveCost, GrowsWithWhatTheMoveDisturbs) {
  EXPECT_DOUBLE_EQ(cost_of(PodBuilder("p").cpu(100)), 1.25) << "Burstable";
  EXPECT_DOUBLE_EQ(cost_of(PodBuilder("p").priority(999'999'999)), 2);
  EXPECT_GT(cost_of(PodBuilder("p").priority(1000)), cost_of(PodBuilder("p").priority(10)));
  EXPECT_DOUBLE_EQ(cost_of(PodBuilder("p").priority(-5)), 1);
  EXPECT_DOUBLE_EQ(cost_of(PodBuilder("p").annotate(api::well_known::kPreferNoEviction)), 2);
}

TEST(MoveCost, CountsTheMemoryOfAVm) {
  const auto vm = [](std::int64_t gib) {
    return PodBuilder("p").label("kubevirt.io", "virt-launcher").memory(gib << 30);
  };
  EXPECT_DOUBLE_EQ(cost_of(vm(16)), 3.25);
  EXPECT_DOUBLE_EQ(cost_of(vm(1024)), 6.25) << "at most four for memory";
}

}  // namespace move_cost_test
}  // namespace strategies
