#include "planner/scheduling/pdb_budget.hpp"

#include <gmock/gmock.h>

namespace pdb_budget_test {

struct NeverCase {
  std::string name;
  std::optional<api::IntOrPercent> min_available;
  std::optional<api::IntOrPercent> max_unavailable;
  std::int32_t pods;
  std::string why;  ///< Expected text after the name of the budget, empty if the budget can allow an eviction
};
class WhyNever : public testing::TestWithParam<NeverCase> {};

TEST_P(WhyNever, ReturnsTheReason) {
  api::PodDisruptionBudget pdb;
  pdb.meta.name = "web";
  pdb.min_available = GetParam().min_available;
  pdb.max_unavailable = GetParam().max_unavailable;
  pdb.expected_pods = GetParam().pods;
  const std::string got = scheduling::why_never_evictable(pdb);
  EXPECT_EQ(got, GetParam().why.empty() ? "" : "PodDisruptionBudget web has " + GetParam().why);
}

using api::IntOrPercent;
INSTANTIATE_TEST_SUITE_P(
    Pdb, WhyNever,
    testing::Values(
        NeverCase{"MaxUnavailableZero",
                  {},
                  IntOrPercent{0, false},
                  3,
                  "maxUnavailable 0 and never allows a disruption: raise it to 1 or more"},
        NeverCase{"MaxUnavailableZeroPercent",
                  {},
                  IntOrPercent{0, true},
                  3,
                  "maxUnavailable 0 and never allows a disruption: raise it to 1 or more"},
        NeverCase{"MaxUnavailableOne", {}, IntOrPercent{1, false}, 1, ""},
        NeverCase{"MaxUnavailableOnePercentRoundsUp", {}, IntOrPercent{1, true}, 3, ""},
        NeverCase{"MinAvailableOfAllPercent",
                  IntOrPercent{100, true},
                  {},
                  0,
                  "minAvailable 100% and never allows a disruption: use maxUnavailable: 1"},
        NeverCase{
            "MinAvailableOfAll",
            IntOrPercent{3, false},
            {},
            3,
            "minAvailable 3, of 3 pods, and never allows a disruption: use maxUnavailable: 1, or run more replicas"},
        NeverCase{
            "MinAvailableOfMore",
            IntOrPercent{5, false},
            {},
            3,
            "minAvailable 5, of 3 pods, and never allows a disruption: use maxUnavailable: 1, or run more replicas"},
        NeverCase{
            "MinAvailableOfAllAfterRounding",
            IntOrPercent{90, true},
            {},
            3,
            "minAvailable 90%, of 3 pods, and never allows a disruption: use maxUnavailable: 1, or run more replicas"},
        NeverCase{"MinAvailableOfFewer", IntOrPercent{2, false}, {}, 3, ""},
        NeverCase{"MinAvailableOfHalf", IntOrPercent{50, true}, {}, 3, ""},
        NeverCase{"NobodyCountedThePodsYet", IntOrPercent{3, false}, {}, 0, ""}, NeverCase{"Nothing", {}, {}, 3, ""}),
    [](const auto& test) { return test.param.name; });

TEST(WhyNeverToo, ReportsTheSyncFailureOfTheController) {
  api::PodDisruptionBudget pdb;
  pdb.meta.name = "web";
  pdb.min_available = IntOrPercent{1, false};
  pdb.expected_pods = 3;
  pdb.sync_failure = "found no controller ref for pod \"web-1\"";
  EXPECT_EQ(
      scheduling::why_never_evictable(pdb),
      "PodDisruptionBudget web cannot be computed and allows no disruption: found no controller ref for pod \"web-1\"");
}

TEST(WhyNeverToo, ReportsMaxUnavailableOverPodsWithoutScale) {
  api::PodDisruptionBudget pdb;
  pdb.meta.name = "web";
  pdb.max_unavailable = IntOrPercent{1, false};
  pdb.current_healthy = 3;
  EXPECT_THAT(scheduling::why_never_evictable(pdb),
              testing::HasSubstr("pods without a controller that has a scale subresource"));
  pdb.expected_pods = 3;
  EXPECT_EQ(scheduling::why_never_evictable(pdb), "");
}

/// Row 15 of the comparison with kube-scheduler: the PDB controller includes terminal pods in expectedPods.
struct EndedCase {
  std::string name;
  IntOrPercent min_available;
  std::int64_t ended;
  bool is_hopeless;  ///< Whether the budget can never allow an eviction. Five pods are expected.
};
class EndedPods : public testing::TestWithParam<EndedCase> {};

TEST_P(EndedPods, TreatsTerminalPodsAsUnavailable) {
  api::PodDisruptionBudget pdb;
  pdb.meta.name = "web";
  pdb.expected_pods = 5;
  pdb.min_available = GetParam().min_available;
  const std::string why = scheduling::why_never_evictable(pdb, GetParam().ended);
  EXPECT_EQ(!why.empty(), GetParam().is_hopeless) << why;
  if (GetParam().is_hopeless) {
    EXPECT_THAT(why,
                testing::HasSubstr(
                    "has minAvailable 3, of 3 pods besides 2 that have terminated, and never allows a disruption"));
  }
}

INSTANTIATE_TEST_SUITE_P(Pdb, EndedPods,
                         testing::Values(EndedCase{"NoneHas", {3, false}, 0, false},
                                         EndedCase{"OneIsLeftOver", {3, false}, 1, false},
                                         EndedCase{"NoneIsLeftOver", {3, false}, 2, true},
                                         EndedCase{"OfAPercentageOwnersAreAsked", {60, true}, 2, false}),
                         [](const auto& test) { return test.param.name; });

TEST(EndedPodsInBudgets, CapsTerminalPodsAtTheExpectedNumber) {
  api::PodDisruptionBudget pdb;
  pdb.min_available = IntOrPercent{1, false};
  pdb.expected_pods = 1;
  EXPECT_NE(scheduling::why_never_evictable(pdb, 100), "");
  pdb.expected_pods = 0;
  EXPECT_EQ(scheduling::why_never_evictable(pdb, 100), "");
}

}  // namespace pdb_budget_test
