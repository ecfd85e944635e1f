#include <gtest/gtest.h>

#include "test/unit/controllers/admission/queue_fixture.hpp"

/// The limits of the cluster and of policies, and pauses after an eviction, as the queue applies them.
namespace admission_queue_limits_test {

using namespace admission_queue_fixture;

TEST_F(Admissions, ResolvesPercentages) {
  set_limits(limits(percent(10), {}, percent(20)));
  add_nodes(0, 25);
  EXPECT_TRUE(granted({.n = 0, .node = "a"}));
  EXPECT_TRUE(granted({.n = 1, .node = "b"}));
  EXPECT_EQ(waits_for({.n = 2, .node = "c"}), "total");
  add_nodes(25, 1000);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00002"}) << "more nodes, more free capacity";
  EXPECT_TRUE(granted({.n = 3, .node = "d", .workload = "big", .size = 10}));
  EXPECT_TRUE(granted({.n = 4, .node = "e", .workload = "big", .size = 10}));
  EXPECT_EQ(waits_for({.n = 5, .node = "f", .workload = "big", .size = 10}), "workload");
  EXPECT_TRUE(granted({.n = 6, .node = "g", .workload = "small", .size = 2})) << "never rounds down to nobody";
}

TEST_F(Admissions, CountsMovesToOneNode) {
  set_limits({.total = {}, .per_node = {}, .per_namespace = {}, .per_workload = {}, .per_target_node = number(2)});
  EXPECT_TRUE(granted({.n = 0, .node = "a", .target = "t"}));
  EXPECT_TRUE(granted({.n = 1, .node = "b", .target = "t"}));
  EXPECT_EQ(waits_for({.n = 2, .node = "c", .target = "t"}), "targetNode");
  EXPECT_EQ(last.slot.limit->message, "at most 2 in flight towards node t");
  EXPECT_TRUE(granted({.n = 3, .node = "c", .target = "u"}));
  EXPECT_TRUE(granted({.n = 4, .node = "d"})) << "an unknown target counts nowhere";
  show({.n = 0, .node = "a", .target = "t"}, Phase::kVerifying);
  EXPECT_TRUE(woken.empty()) << "the replacement starts there now";
  show({.n = 0, .node = "a", .target = "t"}, Phase::kSucceeded);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00002"});
}

TEST_F(Admissions, CountsTheNodeWhereTheReplacementReallyIs) {
  set_limits({.total = {}, .per_node = {}, .per_namespace = {}, .per_workload = {}, .per_target_node = number(1)});
  EXPECT_TRUE(granted({.n = 0, .node = "a", .target = "t"}));
  EXPECT_EQ(waits_for({.n = 1, .node = "b", .target = "t"}), "targetNode");
  api::Evacuation landed = object({.n = 0, .node = "a", .target = "t"}, Phase::kVerifying, 1);
  landed.status.outcome = api::EvacuationOutcome{
      api::OutcomeKind::kEvicted, {}, api::EvacuationReplacement{"pod-x", "uid-x", {"elsewhere"}, {}}};
  queue.observe(nullptr, &landed);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00001"});
  EXPECT_EQ(waits_for({.n = 2, .node = "c", .target = "elsewhere"}), "targetNode");
  api::Evacuation migrating = object({.n = 3, .node = "d", .target = "t"});
  migrating.status.target_node = {"shown"};
  EXPECT_EQ(controllers::target_node(migrating), "shown");
}

TEST_F(Admissions, CountsMovesFromOneZone) {
  set_limits({.total = {},
              .per_node = {},
              .per_namespace = {},
              .per_workload = {},
              .per_target_node = {},
              .per_zone = number(2)});
  add_nodes(0, 3, "east");
  add_nodes(3, 5, "west");
  EXPECT_TRUE(granted({.n = 0, .node = "node-0"}));
  EXPECT_TRUE(granted({.n = 1, .node = "node-1"}));
  EXPECT_EQ(waits_for({.n = 2, .node = "node-2"}), "zone");
  EXPECT_EQ(last.slot.limit->message, "at most 2 in flight from zone east");
  EXPECT_TRUE(granted({.n = 3, .node = "node-3"}));
  EXPECT_TRUE(granted({.n = 4, .node = "nowhere"})) << "a node without a zone counts in none";
  show({.n = 1, .node = "node-1"}, Phase::kVerifying);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00002"});
}

TEST_F(Admissions, TakesAPercentageOfTheZonesNodesAndOfANodesPods) {
  set_limits({.total = {},
              .per_node = percent(2),
              .per_namespace = {},
              .per_workload = {},
              .per_target_node = {},
              .per_zone = percent(50)});
  add_nodes(0, 6, "east", 100);
  EXPECT_TRUE(granted({.n = 0, .node = "node-0"}));
  EXPECT_TRUE(granted({.n = 1, .node = "node-0"}));
  EXPECT_EQ(waits_for({.n = 2, .node = "node-0"}), "node") << "2 % of 100 pods";
  EXPECT_TRUE(granted({.n = 3, .node = "node-1"}));
  EXPECT_EQ(waits_for({.n = 4, .node = "node-2"}), "zone") << "half of 6 nodes";
  add_nodes(6, 8, "east");
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00004"}) << "half of 8";
}

TEST_F(Admissions, FollowsANodeIntoItsZone) {
  set_limits({.total = {},
              .per_node = {},
              .per_namespace = {},
              .per_workload = {},
              .per_target_node = {},
              .per_zone = number(1)});
  show({.n = 0, .node = "node-0"}, Phase::kEvicting);  // a new leader receives the Evacuation before its node
  show({.n = 1, .node = "node-1"}, Phase::kEvicting);
  add_nodes(0, 3, "east");
  EXPECT_EQ(waits_for({.n = 2, .node = "node-2"}), "zone");
  queue.set_node("node-0", NodeFacts{"west", 110});
  EXPECT_TRUE(woken.empty());
  queue.set_node("node-1", std::nullopt);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00002"});
}

TEST(NodeFactsOf, ReadZoneAndCapacity) {
  api::Node node;
  EXPECT_EQ(controllers::node_facts(node), (NodeFacts{"", 0}));
  node.allocatable = {{"pods", api::Quantity::from_units(110)}};
  node.meta.labels = api::StringMap{{"failure-domain.beta.kubernetes.io/zone", "old"}};
  EXPECT_EQ(controllers::node_facts(node), (NodeFacts{"old", 110}));
  node.meta.labels = node.meta.labels.with("topology.kubernetes.io/zone", "new");
  EXPECT_EQ(controllers::node_facts(node).zone, "new");
}

TEST_F(Admissions, AppliesAPolicysOwnLimits) {
  queue.set_policy_limits("gentle", {{limits(number(1))}});
  EXPECT_TRUE(granted({.n = 0, .node = "a", .policy = "gentle"}));
  EXPECT_EQ(waits_for({.n = 1, .node = "b", .policy = "gentle"}), "policy gentle total");
  EXPECT_TRUE(granted({.n = 2, .node = "c", .policy = "other"}));
  EXPECT_TRUE(granted({.n = 3, .node = "d"}));
  queue.set_policy_limits("gentle", {{limits(number(2))}});
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00001"});
}

TEST_F(Admissions, ClusterLimitsWinOverAPolicys) {
  queue.set_policy_limits("wild", {{limits(number(100), number(100))}});
  EXPECT_TRUE(granted({.n = 0, .policy = "wild"}));
  EXPECT_TRUE(granted({.n = 1, .policy = "wild"}));
  EXPECT_EQ(waits_for({.n = 2, .policy = "wild"}), "node");
}

TEST_F(Admissions, LowerLimitsRevokeNoSlot) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(granted({.n = i, .node = fmt::format("node-{}", i)}));
  set_limits(limits(number(2)));
  EXPECT_EQ(waits_for({.n = 9, .node = "z"}), "total");
  for (int i = 0; i < 3; ++i) show({.n = i}, Phase::kSucceeded);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00009"});
}

TEST_F(Admissions, ABrakeHoldsWaitingEvacuationsAndNotRunningOnes) {
  queue.set_policy_limits("p", {{limits(number(1))}});
  EXPECT_TRUE(granted({.n = 0, .node = "a", .policy = "p"}));
  EXPECT_EQ(waits_for({.n = 1, .node = "b", .policy = "p"}), "policy p total");
  queue.set_policy_limits("p", {{limits(number(5))}}, "policy p is suspended");
  EXPECT_TRUE(woken.empty()) << "the higher limit does not count";
  EXPECT_EQ(waits_for({.n = 1, .node = "b", .policy = "p"}), "policy p total");
  EXPECT_EQ(last.slot.limit->message, "policy p is suspended");
  EXPECT_TRUE(granted({.n = 0, .node = "a", .policy = "p"})) << "what was admitted stays admitted";
  EXPECT_TRUE(granted({.n = 2, .node = "c", .policy = "other"}));
  queue.set_policy_limits("p", {{limits(number(5))}});
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00001"});
}

TEST_F(Admissions, ABrakeHoldsTheNextEvictorOfARunningOne) {
  for (const bool is_shown : {true, false}) {
    SCOPED_TRACE(is_shown ? "the store shows the attempt" : "the store lags");
    const Candidate runs{.n = is_shown ? 0 : 1, .node = is_shown ? "a" : "b", .policy = "p"};
    const std::string name = is_shown ? "evac-00000" : "evac-00001";
    queue.set_policy_limits("p", {{limits(number(5))}});
    EXPECT_TRUE(granted(runs));
    if (is_shown) show(runs, Phase::kAborting);
    queue.set_policy_limits("p", {{limits(number(5))}}, "policy p is suspended");
    EXPECT_TRUE(is_shown || granted(runs)) << "the attempt that was admitted begins";
    EXPECT_FALSE(granted(runs, 2));
    EXPECT_EQ(last.slot.limit->message, "policy p is suspended");
    show(runs, Phase::kBackoff);
    EXPECT_EQ(queue.usage().in_flight, 0);
    queue.set_policy_limits("p", {{limits(number(5))}});
    EXPECT_EQ(woken.back(), name);
    EXPECT_TRUE(granted(runs, 2));
    show(runs, Phase::kSucceeded, 2);
  }
}

TEST_F(Admissions, ADeletedPolicyHoldsWhatWaitedForIt) {
  queue.set_policy_limits("p", {{limits(number(1))}}, "policy p is suspended");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(granted({.n = i, .node = fmt::format("node-{}", i), .policy = "p"}));
  queue.set_policy_limits("p", std::nullopt);
  queue.set_policy_limits("never-seen", std::nullopt);
  EXPECT_TRUE(woken.empty()) << "nobody begins because the brake is gone";
  EXPECT_EQ(waits_for({.n = 1, .node = "node-1", .policy = "p"}), "policy p total");
  EXPECT_EQ(last.slot.limit->message, "policy p was deleted: its Evacuations are no longer admitted");
  EXPECT_FALSE(granted({.n = 4, .node = "node-4", .policy = "p"})) << "one that was made just before, too";
  EXPECT_FALSE(granted({.n = 5, .node = "node-5", .policy = "never-seen"})) << "a new leader has not seen its limits";
  EXPECT_TRUE(granted({.n = 6, .node = "node-6", .policy = "other"}));
  queue.set_policy_limits("p", {{limits(number(2))}});
  EXPECT_EQ(woken, (std::vector<std::string>{"evac-00000", "evac-00001"})) << "made again: its limits count";
}

TEST_F(Admissions, HoldsRecentlyEvacuatedPods) {
  queue.set_cluster_limits({limits(number(5)), {}, {.pod = {}, .virtual_machine = {}, .workload = base::minutes(10)}});
  const Candidate first{.n = 0, .workload = "rs", .policy = "p"};
  const Candidate second{.n = 1, .workload = "rs", .policy = "p"};
  EXPECT_TRUE(granted(first));
  finish(first);
  EXPECT_EQ(waits_for(second), "cooldown");
  EXPECT_EQ(last.slot.limit->message,
            "workload/shop/rs was evacuated once recently and is excluded (cooldown) until 2026-11-21T12:10:00Z");
  EXPECT_EQ(last.slot.retry_at, kNoon + base::minutes(10));
  EXPECT_EQ(queue.usage().waiting, 0) << "it does not wait: nobody can let it in";
  EXPECT_TRUE(granted({.n = 2, .workload = "rs"})) << "people may have reasons";
  finish({.n = 2, .workload = "rs"});
  EXPECT_TRUE(granted(second, 2)) << "a retry has its own back-off";
  queue.withdraw(request(second).key);
  clock.advance(base::minutes(10));
  EXPECT_TRUE(granted(second));
}

TEST_F(Admissions, ACooldownAlsoHoldsQueuedEvacuations) {
  queue.set_cluster_limits(
      {limits(number(5), {}, number(1)), {}, {.pod = {}, .virtual_machine = {}, .workload = base::minutes(10)}});
  const Candidate first{.n = 0, .workload = "rs", .policy = "p"};
  const Candidate second{.n = 1, .workload = "rs", .policy = "p"};
  EXPECT_TRUE(granted(first));
  EXPECT_EQ(waits_for(second), "workload");
  finish(first);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00001"}) << "to be told";
  EXPECT_EQ(queue.usage().in_flight, 0);
  EXPECT_EQ(waits_for(second), "cooldown");
}

}  // namespace admission_queue_limits_test
