#include "simulator/controllers/controllers.hpp"

#include "test/unit/simulator/world.hpp"

namespace simulator {
namespace disruption_test {

using api::Json;

struct BudgetCase {
  const char* name;
  int replicas;
  int unready;  ///< Number of unready replicas
  const char* field;
  Json value;
  int want_expected;
  int want_healthy;
  int want_desired;
  int want_allowed;
};

class DisruptionArithmetic : public testing::TestWithParam<BudgetCase> {};

TEST_P(DisruptionArithmetic, CountsLikeKubernetes) {
  const BudgetCase& c = GetParam();
  World world;
  world.add_nodes(3);
  world.add(objects::deployment("shop", "web", c.replicas, "100m", "64Mi"));
  Json pdb = objects::pdb_min_available("shop", "web", "web", 0);
  pdb["spec"].erase("minAvailable");
  pdb["spec"][c.field] = c.value;
  world.add(pdb);
  world.advance(seconds(5));
  for (int i = 0; i < c.unready; ++i)
    world.annotate(kube::kPods, "shop", world.pod_names()[static_cast<std::size_t>(i)], behaviour::kNeverReady, "1");
  world.advance(seconds(1));
  EXPECT_EQ(world.status(kube::kPdbs, "web", "expectedPods"), c.want_expected);
  EXPECT_EQ(world.status(kube::kPdbs, "web", "currentHealthy"), c.want_healthy);
  EXPECT_EQ(world.status(kube::kPdbs, "web", "desiredHealthy"), c.want_desired);
  EXPECT_EQ(world.status(kube::kPdbs, "web", "disruptionsAllowed"), c.want_allowed);
  EXPECT_EQ(world.status(kube::kPdbs, "web", "observedGeneration"), 1);
  EXPECT_EQ(world.condition(world.get(kube::kPdbs, "shop", "web"), "DisruptionAllowed"),
            c.want_allowed > 0 ? "True" : "False");
}

INSTANTIATE_TEST_SUITE_P(
    Disruption, DisruptionArithmetic,
    testing::Values(BudgetCase{"MinAvailable", 4, 0, "minAvailable", 3, 4, 4, 3, 1},
                    BudgetCase{"MinAvailableReached", 4, 1, "minAvailable", 3, 4, 3, 3, 0},
                    BudgetCase{"MinAvailableMissed", 4, 2, "minAvailable", 3, 4, 2, 3, 0},
                    BudgetCase{"MinAvailableAboveTheScale", 2, 0, "minAvailable", 5, 2, 2, 5, 0},
                    BudgetCase{"MinAvailablePercentRoundsUp", 5, 0, "minAvailable", "50%", 5, 5, 3, 2},
                    BudgetCase{"MaxUnavailable", 4, 0, "maxUnavailable", 1, 4, 4, 3, 1},
                    BudgetCase{"MaxUnavailableSpent", 4, 1, "maxUnavailable", 1, 4, 3, 3, 0},
                    BudgetCase{"MaxUnavailableZero", 4, 0, "maxUnavailable", 0, 4, 4, 4, 0},
                    BudgetCase{"MaxUnavailablePercentRoundsUp", 5, 0, "maxUnavailable", "30%", 5, 5, 3, 2},
                    BudgetCase{"MaxUnavailableAboveTheScale", 2, 0, "maxUnavailable", 5, 2, 2, 0, 2},
                    BudgetCase{"NoPods", 0, 0, "minAvailable", 1, 0, 0, 1, 0}),
    [](const auto& test) { return test.param.name; });

TEST(DisruptionTest, FollowsTheScaleOfTheDeployment) {
  World world;
  world.add_nodes(3);
  world.add(objects::deployment("shop", "web", 4, "100m", "64Mi"));
  world.add(objects::pdb_max_unavailable("shop", "web", "web", "25%"));
  world.advance(seconds(5));
  EXPECT_EQ(world.status(kube::kPdbs, "web", "desiredHealthy"), 3);
  world.edit(kube::kDeployments, "shop", "web", [](Json& object) { object["spec"]["replicas"] = 8; });
  world.advance(seconds(5));
  EXPECT_EQ(world.status(kube::kPdbs, "web", "desiredHealthy"), 6);
  EXPECT_EQ(world.status(kube::kPdbs, "web", "disruptionsAllowed"), 2);
}

TEST(DisruptionTest, BarePodsCountForMinAvailableOnly) {
  World world;
  world.add_nodes(1);
  world.add(objects::pod("shop", "a", "", ""));
  Json least = objects::pdb_min_available("shop", "least", "a", 0);
  world.add(least);
  world.add(objects::pdb_max_unavailable("shop", "most", "a", 1));
  world.advance(seconds(5));
  EXPECT_EQ(world.status(kube::kPdbs, "least", "disruptionsAllowed"), 1);
  EXPECT_EQ(world.status(kube::kPdbs, "most", "expectedPods"), 0);
  EXPECT_EQ(world.status(kube::kPdbs, "most", "disruptionsAllowed"), 0);
}

TEST(DisruptionTest, FailsClosedWhenAnOwnerIsUnknown) {
  World world;
  world.add_nodes(1);
  Json pod = objects::pod("shop", "a", "", "");
  pod["metadata"]["ownerReferences"] = Json::array({Json{{"apiVersion", "example.dev/v1"},
                                                         {"kind", "Thing"},
                                                         {"name", "t"},
                                                         {"uid", "no-such-uid"},
                                                         {"controller", true}}});
  world.add(pod);
  world.add(objects::pdb_max_unavailable("shop", "most", "a", 1));
  world.advance(seconds(5));
  EXPECT_EQ(world.status(kube::kPdbs, "most", "disruptionsAllowed"), 0);
  const Object pdb = world.get(kube::kPdbs, "shop", "most");
  EXPECT_EQ(world.condition(pdb, "DisruptionAllowed", "reason"), "SyncFailed");
  EXPECT_EQ(world.condition(pdb, "DisruptionAllowed", "message"), "found no controllers for pod \"a\"");
}

struct SelectorCase {
  const char* name;
  const char* selector;  ///< JSON, or nullptr if absent
  int want;
};
class DisruptionSelector : public testing::TestWithParam<SelectorCase> {};

TEST_P(DisruptionSelector, SelectsItsPods) {
  World world;
  world.add_nodes(1);
  for (const char* name : {"a", "b", "c"}) world.add(objects::pod("shop", name, "", ""));
  world.add(objects::pod("default", "a", "", ""));
  Json pdb = objects::pdb_min_available("shop", "p", "", 0);
  pdb["spec"].erase("selector");
  if (GetParam().selector) pdb["spec"]["selector"] = Json::parse(GetParam().selector);
  world.add(pdb);
  world.advance(seconds(5));
  EXPECT_EQ(world.status(kube::kPdbs, "p", "currentHealthy"), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Disruption, DisruptionSelector,
    testing::Values(SelectorCase{"EmptyMeansAllOfTheNamespace", "{}", 3}, SelectorCase{"AbsentMeansNone", nullptr, 0},
                    SelectorCase{"ByLabel", R"({"matchLabels":{"app":"a"}})", 1},
                    SelectorCase{"ByExpression",
                                 R"({"matchExpressions":[{"key":"app","operator":"In","values":["a","b"]}]})", 2}),
    [](const auto& test) { return test.param.name; });

/// Two pods, both ready, one of which may be evicted.
void furnish_pair(World& world) {
  world.add_nodes(2);
  world.add(objects::stateful_set("shop", "db", 2, "100m", "64Mi"));
  world.add(objects::pdb_min_available("shop", "db", "db", 1));
  world.advance(seconds(10));
  ASSERT_EQ(world.status(kube::kPdbs, "db", "disruptionsAllowed"), 1);
}

/// Changes the budget as the API server does when it grants an eviction.
void grant(World& world, const std::string& pod) {
  world.edit(kube::kPdbs, "shop", "db", [&](Json& pdb) {
    pdb["status"]["disruptionsAllowed"] = 0;
    pdb["status"]["disruptedPods"][pod] = base::format_time(world.now());
  });
}

TEST(DisruptedPodsTest, ReduceTheBudgetUntilThePodIsReplaced) {
  World world;
  furnish_pair(world);
  grant(world, "db-1");
  world.advance(seconds(0));
  EXPECT_EQ(world.status(kube::kPdbs, "db", "disruptionsAllowed"), 0);
  world.remove(kube::kPods, "shop", "db-1");
  world.advance(seconds(0));
  EXPECT_FALSE(api::find_at(*world.get(kube::kPdbs, "shop", "db"), {"status", "disruptedPods"}))
      << "the pod is terminating: the entry did its work";
  EXPECT_EQ(world.status(kube::kPdbs, "db", "disruptionsAllowed"), 0);
  world.advance(seconds(5));
  EXPECT_EQ(world.status(kube::kPdbs, "db", "disruptionsAllowed"), 1) << "the successor has the same name and counts";
}

TEST(DisruptedPodsTest, ExpireAfterTwoMinutesWithoutADeletion) {
  World world;
  furnish_pair(world);
  grant(world, "db-1");
  world.advance(seconds(119));
  EXPECT_EQ(world.status(kube::kPdbs, "db", "disruptionsAllowed"), 0);
  EXPECT_TRUE(api::find_at(*world.get(kube::kPdbs, "shop", "db"), {"status", "disruptedPods", "db-1"}));
  world.advance(seconds(1));
  EXPECT_EQ(world.status(kube::kPdbs, "db", "disruptionsAllowed"), 1);
}

TEST(DisruptedPodsTest, IgnoreInvalidValues) {
  World world;
  furnish_pair(world);
  world.edit(kube::kPdbs, "shop", "db", [](Json& pdb) {
    pdb["status"]["disruptedPods"] = {{"db-1", 5}, {"db-0", "yesterday"}, {"ghost", "2026-11-21T12:00:00Z"}};
  });
  world.advance(seconds(1));
  EXPECT_EQ(world.status(kube::kPdbs, "db", "disruptionsAllowed"), 1);
  EXPECT_FALSE(api::find_at(*world.get(kube::kPdbs, "shop", "db"), {"status", "disruptedPods"}));
}

TEST(DisruptionTest, WithdrawsTheDisruptionTargetOfAFailedEviction) {
  World world;
  furnish_pair(world);
  world.edit(kube::kPods, "shop", "db-1", [&](Json& pod) {
    put_condition(pod["status"], "DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting",
                  world.now());
  });
  world.advance(seconds(119));
  EXPECT_EQ(world.condition(world.pod("db-1"), "DisruptionTarget"), "True");
  world.advance(seconds(1));
  EXPECT_EQ(world.condition(world.pod("db-1"), "DisruptionTarget"), "False");
}

TEST(DisruptionTest, FreesTheBudgetOnlyWhenTheReplacementIsReady) {
  World world;
  world.add_nodes(2);
  Json web = objects::deployment("shop", "web", 3, "100m", "64Mi");
  world.add(objects::annotate_pods(web, behaviour::kReadySeconds, "20"));
  world.add(objects::pdb_max_unavailable("shop", "web", "web", 1));
  world.advance(seconds(25));
  ASSERT_EQ(world.status(kube::kPdbs, "web", "disruptionsAllowed"), 1);
  world.remove(kube::kPods, "shop", world.pod_names().front());
  world.advance(seconds(15));
  EXPECT_EQ(world.status(kube::kPdbs, "web", "disruptionsAllowed"), 0);
  world.advance(seconds(10));
  EXPECT_EQ(world.status(kube::kPdbs, "web", "disruptionsAllowed"), 1);
}

}  // namespace disruption_test
}  // namespace simulator
