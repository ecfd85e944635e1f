#include "planner/strategies/utilization/node_usage.hpp"

#include <gmock/gmock.h>

#include "test/builders/cluster.hpp"

namespace strategies {
namespace node_usage_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

struct PercentCase {
  std::string name;
  std::string resource;
  std::int64_t used;  ///< In thousandths
  std::optional<std::int64_t> capacity;
  std::optional<double> want;
};

class Percent : public testing::TestWithParam<PercentCase> {};

TEST_P(Percent, IsOfTheCapacity) {
  const NodeUsage usage{0, {GetParam().used}, {GetParam().capacity}};
  EXPECT_EQ(usage.percent(0, GetParam().resource), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Resources, Percent,
                         testing::Values(PercentCase{"CpuInThousandths", "cpu", 1, 4, 25.0},
                                         PercentCase{"OthersInWholeUnits", "memory", 1, 4000, 25.0},
                                         PercentCase{"MoreThanThereIs", "pods", 6000, 4000, 150.0},
                                         PercentCase{"ZeroOfNothing", "cpu", 5, 0, 0.0},
                                         PercentCase{"UnknownWhereNotPublished", "x/gpu", 5, std::nullopt,
                                                     std::nullopt}),
                         [](const auto& test) { return test.param.name; });

TEST(MeanFullness, OmitsResourcesThatTheNodeDoesNotPublish) {
  const NodeUsage usage{0, {2000, 0}, {4000, std::nullopt}};
  EXPECT_EQ(mean_fullness(usage, {"cpu", "x/gpu"}), 50.0);
  EXPECT_EQ(mean_fullness(usage, {}), 0.0);
}

TEST(RawSum, AddsNumbersOfDifferentUnits) {
  const NodeUsage usage{0, {2000, 3000}, {4000, 4000}};
  EXPECT_EQ(usage.raw_sum({"cpu", "memory"}), 2003.0);
}

struct TaintCase {
  std::string name;
  std::vector<std::vector<std::string>> taints;  ///< Taints of each destination
  std::vector<std::string> tolerated;
  bool want;
};

class Taints : public testing::TestWithParam<TaintCase> {};

TEST_P(Taints, AllowAPod) {
  ClusterBuilder builder;
  std::vector<scheduling::NodeIndex> nodes;
  for (const auto& taints : GetParam().taints) {
    NodeBuilder node("n" + std::to_string(nodes.size()));
    for (const std::string& taint : taints) node.taint(taint);
    builder.add(node);
    nodes.push_back(static_cast<scheduling::NodeIndex>(nodes.size()));
  }
  PodBuilder pod("p");
  for (const std::string& key : GetParam().tolerated) pod.tolerate(key);
  const auto cluster = builder.build();
  EXPECT_EQ(DestinationTaints(*cluster, nodes).accept(pod.build()), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Destinations, Taints,
                         testing::Values(TaintCase{"NoDestination", {}, {}, false},
                                         TaintCase{"OneWithout", {{}}, {}, true},
                                         TaintCase{"OneWithoutAmongOthers", {{"a"}, {}}, {}, true},
                                         TaintCase{"NotTolerated", {{"a"}}, {"b"}, false},
                                         TaintCase{"Tolerated", {{"a"}}, {"a"}, true},
                                         TaintCase{"OneOfTwoNodes", {{"a"}, {"b"}}, {"b"}, true},
                                         TaintCase{"OneOfTwoTaints", {{"a", "b"}}, {"a"}, false},
                                         TaintCase{"FewerTolerationsThanTaints", {{"a", "a"}}, {"a"}, false}),
                         [](const auto& test) { return test.param.name; });

}  // namespace node_usage_test
}  // namespace strategies
