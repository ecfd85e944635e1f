/// Imbalance reported by strategies that count pods.

#include <gmock/gmock.h>

#include "planner/strategies/uneven_counts.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace counts_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::DoubleNear;

constexpr auto kSpread = "RemovePodsViolatingTopologySpreadConstraint";
constexpr auto kDuplicates = "RemoveDuplicates";

/// Zones with one node each. Zone i has sizes[i] pods of one owner, which spread over zones with maxSkew 1.
ClusterBuilder zones_of(const std::vector<int>& sizes) {
  ClusterBuilder builder;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string node = "n" + std::to_string(i);
    builder.add(NodeBuilder(node).label("zone", node));
    for (int k = 0; k < sizes[i]; ++k) {
      builder.add(
          PodBuilder("p" + node + std::to_string(k)).on(node).cpu(1).label("app", "web").with([](api::Pod& pod) {
            api::TopologySpreadConstraint constraint;
            constraint.max_skew = 1;
            constraint.topology_key = "zone";
            constraint.label_selector = builders::labels_in("app", {"web"});
            pod.topology_spread = {constraint};
          }));
    }
  }
  return builder;
}

struct CountCase {
  std::string name;
  const char* strategy;
  std::vector<int> pods;  ///< By node
  double before;          ///< Percent of the mean
  double peak;
  double after;
  std::size_t accepts = 100;  ///< Maximum number of accepted moves
};

class CountsTest : public testing::TestWithParam<CountCase> {};

TEST_P(CountsTest, AreReportedBeforeAndAfter) {
  const CountCase& c = GetParam();
  StrategyRun run(zones_of(c.pods));
  std::size_t accepted = 0;
  run.sink.answer = [&](const api::Pod&) {
    return accepted++ < c.accepts ? NominationResult::kAccepted : NominationResult::kTotalLimit;
  };
  run.run(c.strategy, "{}");
  ASSERT_TRUE(run.sink.counts);
  EXPECT_EQ(run.sink.counts->counted, c.strategy == kSpread ? kCountsByDomain : kCountsOfDuplicates);
  EXPECT_THAT(run.sink.counts->deviation_before, DoubleNear(c.before, 0.01));
  EXPECT_THAT(run.sink.counts->peak_before, DoubleNear(c.peak, 0.01));
  EXPECT_THAT(run.sink.counts->deviation_after, DoubleNear(c.after, 0.01));
}

// Topology spread over zones allows 1 more than the emptiest domain. For duplicates the limit is the mean, rounded up.
INSTANTIATE_TEST_SUITE_P(
    Strategies, CountsTest,
    testing::Values(CountCase{"Domains", kSpread, {3, 1}, 35.36, 1.5, 0},           // excess 1, mean 2, in 1 of 2 zones
                    CountCase{"DomainsInThree", kSpread, {6, 0, 0}, 144.34, 3, 0},  // excess 5, mean 2, in 1 of 3 zones
                    CountCase{"DomainsInHalf", kSpread, {5, 1}, 70.71, 1.67, 23.57, 1},  // excess 3 then 1, mean 3
                    CountCase{"DomainsWithinTheSkew", kSpread, {3, 2}, 0, 0, 0},
                    CountCase{"Duplicates", kDuplicates, {3, 0}, 47.14, 2, 0},  // excess 1, mean 1.5, on 1 of 2 nodes
                    CountCase{"DuplicatesInHalf", kDuplicates, {6, 0, 0}, 115.47, 3, 86.6, 1},
                    CountCase{"DuplicatesWithinTheShare", kDuplicates, {2, 1}, 0, 0, 0},
                    CountCase{"SinglePods", kDuplicates, {1, 1}, 0, 0, 0}),
    [](const auto& test) { return test.param.name; });

TEST(UnevenCounts, AreNotReportedIfNothingIsCounted) {
  for (const char* strategy : {kSpread, kDuplicates}) {
    StrategyRun run(ClusterBuilder().add(NodeBuilder("n1")).add(PodBuilder("p").on("n1").bare()));
    run.run(strategy, "{}");
    EXPECT_FALSE(run.sink.counts) << strategy;
  }
}

}  // namespace counts_test
}  // namespace strategies
