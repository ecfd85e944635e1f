#include "controllers/admission/queue.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "test/builders/origin.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

namespace admission_queue_test {

using namespace evacuation_test;
using controllers::Admission;
using controllers::AdmissionQueue;
using controllers::AdmissionRequest;
using controllers::NodeFacts;
using Phase = EvacuationPhase;

api::IntOrPercent number(std::int64_t value) { return {value, false}; }
api::IntOrPercent percent(std::int64_t value) { return {value, true}; }

api::InFlightLimits limits(std::optional<api::IntOrPercent> total, std::optional<api::IntOrPercent> node = {},
                           std::optional<api::IntOrPercent> workload = {}, std::optional<api::IntOrPercent> ns = {}) {
  return {total, node, ns, workload};
}

/// Describes one Evacuation by its number n: pod "pod-<n>", created n seconds after noon.
struct Candidate {
  int n = 0;
  std::string node = "node-a";
  std::string workload{};
  std::int32_t priority = 0;
  std::string policy{};
  std::string pod_uid{};
  std::optional<std::int32_t> size{};
  std::string target{};
};

api::Evacuation object(const Candidate& candidate, Phase phase = Phase::kPending, std::int32_t attempt = 0) {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = fmt::format("evac-{:05}", candidate.n);
  evacuation.meta.uid = fmt::format("uid-{}", candidate.n);
  evacuation.meta.creation_timestamp = kNoon + base::seconds(candidate.n);
  evacuation.spec.pod_ref = {fmt::format("pod-{}", candidate.n),
                             {candidate.pod_uid.empty() ? fmt::format("pod-uid-{}", candidate.n) : candidate.pod_uid}};
  evacuation.spec.node_name = {candidate.node};
  evacuation.spec.priority = candidate.priority;
  builders::set_policy(evacuation, candidate.policy);
  evacuation.status.phase = phase;
  evacuation.status.attempt = attempt;
  evacuation.status.workload_group = candidate.workload;
  if (!candidate.target.empty()) {
    evacuation.status.target_node = {candidate.target};
  }
  return evacuation;
}

AdmissionRequest request(const Candidate& candidate, std::int32_t attempt = 1) {
  api::Evacuation of = object(candidate, Phase::kPending, attempt - 1);
  of.spec.concurrency_group = candidate.workload;
  return controllers::admission_request(of, nullptr, candidate.size);
}

class Admissions : public testing::Test {
 protected:
  explicit Admissions(const api::InFlightLimits& cluster = limits(number(5), number(2), number(1)))
      : queue({cluster}, clock, [this](const api::ObjectKey& key, base::Duration after) {
          if (after > base::Duration::zero()) {
            alarms[key.name] = clock.now() + after;
          } else {
            woken.push_back(key.name);
          }
        }) {}

  bool granted(const Candidate& candidate, std::int32_t attempt = 1) {
    last = queue.request(request(candidate, attempt));
    return last.slot.state == Slot::State::kGranted;
  }
  std::string waits_for(const Candidate& candidate) {
    EXPECT_FALSE(granted(candidate));
    return last.slot.limit ? last.slot.limit->name : "";
  }
  void show(const Candidate& candidate, Phase phase, std::int32_t attempt = 1) {
    const api::Evacuation now = object(candidate, phase, attempt);
    queue.observe(nullptr, &now);
  }

  void finish(const Candidate& candidate) {
    api::Evacuation done = object(candidate, Phase::kSucceeded, 1);
    done.spec.concurrency_group = candidate.workload;
    done.status.finished_at = clock.now();
    done.status.outcome = api::EvacuationOutcome{api::OutcomeKind::kEvicted, {}, {}};
    queue.observe(nullptr, &done);
  }
  void add_nodes(int from, int to, const std::string& zone = "", std::int64_t max_pods = 110) {
    for (int i = from; i < to; ++i) queue.set_node(fmt::format("node-{}", i), NodeFacts{zone, max_pods});
  }

  void set_limits(const api::InFlightLimits& in_flight) { queue.set_cluster_limits({in_flight}); }

  base::ManualClock clock{kNoon};
  std::vector<std::string> woken;
  std::map<std::string, base::TimePoint> alarms;  ///< next request per Evacuation, by name
  AdmissionQueue queue;
  Admission last;
};

TEST_F(Admissions, GrantsUpToTheTotal) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(granted({.n = i, .node = fmt::format("node-{}", i)}));
  EXPECT_EQ(waits_for({.n = 5, .node = "node-9"}), "total");
  EXPECT_EQ(queue.usage().in_flight, 5);
  EXPECT_EQ(queue.usage().waiting, 1);
  const auto scopes = queue.usage().scopes;
  EXPECT_EQ(scopes.size(), 7U) << "the same ones at any time";
  EXPECT_EQ(scopes.at("total").waiting, 1);
  EXPECT_EQ(scopes.at("total").fullest, 1.0);
  EXPECT_EQ(scopes.at("node").waiting, 0);
  EXPECT_EQ(scopes.at("zone").fullest, 0.0);
}

TEST_F(Admissions, ADeletedEvacuationKeepsItsSlotUntilItsPodHasLeft) {
  for (const bool asked : {true, false}) {
    SCOPED_TRACE(asked);
    set_limits(limits(number(1)));
    const Candidate leaving{.n = asked ? 0 : 10};
    api::Evacuation doomed = object(leaving, asked ? Phase::kEvicting : Phase::kPreparing, 1);
    queue.observe(nullptr, &doomed);
    queue.observe(&doomed, nullptr);
    EXPECT_EQ(queue.departing(doomed.meta.key()).has_value(), asked);
    EXPECT_EQ(granted({.n = 1}), !asked);
    if (!asked) return;
    EXPECT_EQ(last.slot.limit->name, "total");
    EXPECT_EQ(queue.departing(doomed.meta.key())->pod, "pod-0");
    EXPECT_EQ(queue.duplicate_of(object({.n = 2, .pod_uid = "pod-uid-0"})), "") << "nobody acts on its pod any more";
    queue.forget(doomed.meta.key());
    EXPECT_EQ(woken, std::vector<std::string>{"evac-00001"});
    finish({.n = 1});
  }
}

TEST_F(Admissions, ABlockedEvacuationDoesNotBlockLaterOnes) {
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_TRUE(granted({.n = 1}));
  EXPECT_EQ(waits_for({.n = 2}), "node");
  EXPECT_TRUE(granted({.n = 3, .node = "node-b"}));
}

TEST_F(Admissions, CountsAReservationUntilTheStoreShowsTheAttempt) {
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_TRUE(granted({.n = 0})) << "granted stays granted";
  show({.n = 0}, Phase::kPending, 0);
  EXPECT_EQ(queue.usage().in_flight, 1) << "an old event does not take it back";
  show({.n = 0}, Phase::kRequesting);
  EXPECT_EQ(queue.usage().in_flight, 1);
  show({.n = 0}, Phase::kBackoff);
  EXPECT_EQ(queue.usage().in_flight, 0);
}

TEST_F(Admissions, KeepsTheReservationOfARetryAcrossOldEvents) {
  EXPECT_TRUE(granted({.n = 0}));
  show({.n = 0}, Phase::kBackoff, 1);
  EXPECT_TRUE(granted({.n = 0}, 2));
  show({.n = 0}, Phase::kBackoff, 1);
  EXPECT_EQ(queue.usage().in_flight, 1);
  show({.n = 0}, Phase::kPreparing, 2);
  show({.n = 0}, Phase::kFailed, 2);
  EXPECT_EQ(queue.usage().in_flight, 0);
}

TEST_F(Admissions, AWaitingRetryThatIsAdmittedKeepsItsReservation) {
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_TRUE(granted({.n = 1}));
  show({.n = 2}, Phase::kBackoff, 1);
  EXPECT_FALSE(granted({.n = 2}, 2));
  show({.n = 0}, Phase::kSucceeded);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00002"});
  show({.n = 2}, Phase::kBackoff, 1);
  EXPECT_EQ(queue.usage().in_flight, 2);
  EXPECT_TRUE(granted({.n = 2}, 2));
}

TEST_F(Admissions, WakesTheNextByPriorityAgeAndName) {
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_TRUE(granted({.n = 1}));
  EXPECT_FALSE(granted({.n = 7}));
  EXPECT_FALSE(granted({.n = 5}));
  EXPECT_FALSE(granted({.n = 9, .priority = 10}));
  show({.n = 0}, Phase::kSucceeded);
  show({.n = 1}, Phase::kSucceeded);
  EXPECT_EQ(woken, (std::vector<std::string>{"evac-00009", "evac-00005"}));
  show({.n = 9}, Phase::kFailed);
  EXPECT_EQ(woken.back(), "evac-00007");
}

TEST_F(Admissions, EvacuationsWithOpenBudgetsComeFirst) {
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_TRUE(granted({.n = 1}));
  const auto ask = [&](int n, bool held, std::int32_t priority = 0) {
    auto candidate = request({.n = n, .priority = priority});
    candidate.held_by_pdb = held;
    return queue.request(candidate).slot.state == Slot::State::kGranted;
  };
  EXPECT_FALSE(ask(2, true));
  EXPECT_FALSE(ask(3, false));
  EXPECT_FALSE(ask(4, true, 1));
  show({.n = 0}, Phase::kSucceeded);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00004"}) << "priority is priority";
  show({.n = 1}, Phase::kSucceeded);
  EXPECT_EQ(woken.back(), "evac-00003");
  EXPECT_FALSE(ask(5, false));
  EXPECT_FALSE(ask(2, false)) << "its budget allows now: its age counts again";
  show({.n = 4}, Phase::kSucceeded);
  EXPECT_EQ(woken.back(), "evac-00002");
}

TEST_F(Admissions, HoldsTheWorkloadSlotThroughVerifying) {
  const Candidate first{.n = 0, .workload = "rs"};
  EXPECT_TRUE(granted(first));
  EXPECT_EQ(waits_for({.n = 1, .node = "node-b", .workload = "rs"}), "workload");
  show(first, Phase::kVerifying);
  EXPECT_EQ(queue.usage().in_flight, 0) << "node and total are free again";
  EXPECT_EQ(waits_for({.n = 1, .node = "node-b", .workload = "rs"}), "workload");
  show(first, Phase::kSucceeded);
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00001"});
}

TEST_F(Admissions, HoldsEverythingUntilTheReplacementIsReadyWhenAsked) {
  api::Evacuation verifying = object({.n = 0}, Phase::kVerifying, 1);
  verifying.spec.hold_slot_until = api::HoldSlotUntil::kReplacementReady;
  queue.observe(nullptr, &verifying);
  EXPECT_EQ(queue.usage().in_flight, 1);
}

TEST_F(Admissions, CountsNoSlotWithoutAdmission) {
  api::Evacuation gone = object({.n = 0, .workload = "rs"}, Phase::kVerifying, 1);
  gone.status.conditions = {{"SlotAcquired", api::ConditionStatus::kFalse, "Released", "", 0, {}}};
  queue.observe(nullptr, &gone);
  EXPECT_TRUE(granted({.n = 1, .workload = "rs"}));
}

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

TEST_F(Admissions, LetsOnlyOneOfTwoActOnAPod) {
  EXPECT_TRUE(granted({.n = 0, .pod_uid = "same"}));
  EXPECT_FALSE(granted({.n = 1, .pod_uid = "same"}));
  EXPECT_EQ(last.duplicate_of, "evac-00000");
  const auto second = object({.n = 1, .pod_uid = "same"});
  EXPECT_EQ(queue.duplicate_of(second), "evac-00000");
  show({.n = 0, .pod_uid = "same"}, Phase::kSucceeded);
  EXPECT_EQ(queue.duplicate_of(second), "");
}

TEST_F(Admissions, AnActingEvacuationIsFirstEvenIfItIsYounger) {
  EXPECT_TRUE(granted({.n = 8, .pod_uid = "same"}));
  show({.n = 3, .pod_uid = "same"}, Phase::kPending, 0);
  EXPECT_EQ(queue.duplicate_of(object({.n = 3, .pod_uid = "same"})), "evac-00008");
  EXPECT_EQ(queue.duplicate_of(object({.n = 8, .pod_uid = "same"})), "");
}

TEST_F(Admissions, TwoInLineForOnePodNeverBothGetIt) {
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_TRUE(granted({.n = 1}));
  EXPECT_FALSE(granted({.n = 8, .pod_uid = "same"}));
  EXPECT_FALSE(granted({.n = 5, .pod_uid = "same"})) << "older, but seen later: it waits, too";
  EXPECT_EQ(last.duplicate_of, "");
  show({.n = 0}, Phase::kSucceeded);
  show({.n = 1}, Phase::kSucceeded);
  EXPECT_EQ(queue.usage().in_flight, 1);
  EXPECT_TRUE(granted({.n = 5, .pod_uid = "same"}));
  EXPECT_FALSE(granted({.n = 8, .pod_uid = "same"}));
  EXPECT_EQ(last.duplicate_of, "evac-00005");
}

TEST_F(Admissions, GivesAnUnusedReservationToTheNext) {
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_TRUE(granted({.n = 1}));
  EXPECT_FALSE(granted({.n = 2}));
  queue.withdraw({"shop", "evac-00000"});
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00002"});
  queue.withdraw({"shop", "nobody"});
}

TEST_F(Admissions, ForgetsADeletedEvacuation) {
  EXPECT_TRUE(granted({.n = 0}));
  const auto gone = object({.n = 0});
  queue.observe(&gone, nullptr);
  EXPECT_EQ(queue.usage().in_flight, 0);
}

// --- deleted during its admission

TEST_F(Admissions, ReleasesASlotRequestedAfterTheDeletion) {
  show({.n = 0, .pod_uid = "same"}, Phase::kPending, 0);
  const auto gone = object({.n = 0, .pod_uid = "same"});
  queue.observe(&gone, nullptr);
  EXPECT_TRUE(granted({.n = 0, .pod_uid = "same"})) << "its reconcile had read the cache before";
  EXPECT_EQ(queue.duplicate_of(object({.n = 1, .pod_uid = "same"})), "evac-00000");
  queue.forget({"shop", "evac-00000"});
  EXPECT_EQ(queue.usage().in_flight, 0);
  EXPECT_EQ(queue.duplicate_of(object({.n = 1, .pod_uid = "same"})), "") << "the pod is free";
}

TEST_F(Admissions, KeepsAStoredSlotWhenAnOldReconcileForgetsIt) {
  show({.n = 0}, Phase::kRequesting);
  queue.forget({"shop", "evac-00000"});
  queue.forget({"shop", "nobody"});
  EXPECT_EQ(queue.usage().in_flight, 1);
}

TEST_F(Admissions, AReconcileOfADeletedEvacuationTakesNoSlotOfItsSuccessor) {
  api::Evacuation successor = object({.n = 0, .node = "node-b"}, Phase::kPending, 0);
  successor.meta.uid = "another";
  queue.observe(nullptr, &successor);
  EXPECT_FALSE(granted({.n = 0}));
  EXPECT_FALSE(last.slot.limit) << "nothing to tell: soon everybody knows";
  EXPECT_EQ(last.slot.retry_at, kNoon + base::seconds(1));
  EXPECT_EQ(queue.usage().in_flight, 0);
}

TEST_F(Admissions, APodUidNamedInAnotherNamespaceBlocksNoEvacuation) {
  api::Evacuation attack = object({.n = 0, .pod_uid = "same"});
  attack.meta.ns = "attacker";
  queue.observe(nullptr, &attack);
  EXPECT_EQ(queue.duplicate_of(object({.n = 1, .pod_uid = "same"})), "");
  EXPECT_TRUE(granted({.n = 1, .pod_uid = "same"}));
}

// --- PodGroup that waits for a limit of only one of its members

TEST_F(Admissions, APodGroupParkedAtAZoneThatVanishesIsNotLost) {
  const auto zones = [](std::int64_t limit) {
    return api::InFlightLimits{.total = {},
                               .per_node = {},
                               .per_namespace = {},
                               .per_workload = {},
                               .per_target_node = {},
                               .per_zone = number(limit)};
  };
  set_limits(zones(0));
  queue.set_node("node-w", NodeFacts{"west", 110});
  queue.set_node("node-e", NodeFacts{"east", 110});
  const auto ask = [&](int n, int other, const char* node) {
    AdmissionRequest member = request({.n = n, .node = node});
    member.pod_group = "shop/db";
    member.together = {{"shop", fmt::format("evac-{:05}", other)}};
    return queue.request(member).slot;
  };
  ask(0, 1, "node-w");
  EXPECT_EQ(ask(1, 0, "node-e").limit->message,
            "at most 0 in flight from zone east; its PodGroup needs 2 slots at once");
  queue.set_node("node-e", NodeFacts{"", 110});  // called on the informer's thread
  EXPECT_EQ(ask(0, 1, "node-w").limit->message,
            "at most 0 in flight from zone west; its PodGroup needs 2 slots at once");
  queue.set_node("node-w", std::nullopt);
  EXPECT_EQ(queue.usage().in_flight, 2) << "no zone holds them any more";
}

// --- suspended policy

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

TEST_F(Admissions, StartsOverForARecreatedObject) {
  show({.n = 0}, Phase::kRequesting);
  api::Evacuation again = object({.n = 0}, Phase::kPending, 0);
  again.meta.uid = "another";
  queue.observe(nullptr, &again);
  EXPECT_EQ(queue.usage().in_flight, 0);
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

class RatedAdmissions : public Admissions {
 protected:
  RatedAdmissions() : Admissions(limits(number(100))) {}
  void set_rate(api::RateLimit rate) { queue.set_cluster_limits({limits(number(100)), rate}); }
  /// Advances the clock to the alarm of the candidate. Returns true if the candidate is granted a slot then.
  bool alarm_grants(const Candidate& candidate) {
    const auto at = alarms.find(fmt::format("evac-{:05}", candidate.n));
    if (at == alarms.end()) return false;
    clock.set(at->second);
    alarms.erase(at);
    return granted(candidate);
  }
};

TEST_F(RatedAdmissions, AdmitsABurstAndThenOneEachInterval) {
  set_rate({{}, 60, 2});
  EXPECT_TRUE(granted({.n = 0, .node = "a"}));
  EXPECT_TRUE(granted({.n = 1, .node = "b"}));
  EXPECT_EQ(waits_for({.n = 2, .node = "c"}), "rate");
  EXPECT_EQ(last.slot.limit->message, "at most 60 admissions per minute, 2 at once");
  EXPECT_EQ(alarms, (std::map<std::string, base::TimePoint>{{"evac-00002", kNoon + base::seconds(1)}}));
  EXPECT_EQ(waits_for({.n = 3, .node = "d"}), "rate");
  EXPECT_EQ(alarms.size(), 1U) << "only the first of them is woken: ten thousand would stampede";
  EXPECT_TRUE(alarm_grants({.n = 2, .node = "c"}));
  EXPECT_EQ(alarms, (std::map<std::string, base::TimePoint>{{"evac-00003", kNoon + base::seconds(2)}}));
}

TEST_F(RatedAdmissions, TheTokenGoesToTheFirstInLineWhicheverIsWoken) {
  set_rate({1, {}, 1});
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_EQ(waits_for({.n = 1}), "rate");
  EXPECT_EQ(waits_for({.n = 2, .priority = 9}), "rate");
  EXPECT_FALSE(alarm_grants({.n = 1}));
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00002"});
  EXPECT_EQ(alarms.at("evac-00001"), kNoon + base::seconds(2));
}

TEST_F(RatedAdmissions, APolicysRateHoldsOnlyItsOwn) {
  queue.set_policy_limits("slow", {{{}, api::RateLimit{{}, 1, 1}}});
  EXPECT_TRUE(granted({.n = 0, .policy = "slow"}));
  EXPECT_EQ(waits_for({.n = 1, .policy = "slow"}), "policy slow rate");
  EXPECT_EQ(last.slot.limit->message, "at most 1 admissions per minute, 1 at once under policy slow");
  EXPECT_TRUE(granted({.n = 2, .policy = "other"}));
  EXPECT_TRUE(granted({.n = 3}));
  EXPECT_EQ(alarms, (std::map<std::string, base::TimePoint>{{"evac-00001", kNoon + base::minutes(1)}}));
  EXPECT_TRUE(alarm_grants({.n = 1, .policy = "slow"}));
}

TEST_F(RatedAdmissions, ARetryIsAnAdmissionButTheNextEvictorIsNot) {
  set_rate({{}, 1, 1});
  EXPECT_TRUE(granted({.n = 0}));
  show({.n = 0}, Phase::kRequesting);
  EXPECT_TRUE(granted({.n = 0}, 2)) << "the slot goes on into the next attempt";
  show({.n = 0}, Phase::kRequesting, 2);
  show({.n = 0}, Phase::kBackoff, 2);
  EXPECT_FALSE(granted({.n = 0}, 3));
}

TEST_F(RatedAdmissions, GivesTheTokenOfAnUnusedAdmissionToTheNext) {
  set_rate({{}, 1, 1});
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_EQ(waits_for({.n = 1}), "rate");
  queue.withdraw({"shop", "evac-00000"});
  EXPECT_EQ(woken, std::vector<std::string>{"evac-00001"});
}

TEST_F(RatedAdmissions, KeepsTheTokenOfAnAttemptThatWasMade) {
  set_rate({{}, 1, 1});
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_EQ(waits_for({.n = 1}), "rate");
  queue.withdraw({"shop", "evac-00000"}, 1);
  EXPECT_EQ(woken, std::vector<std::string>{});
}

TEST_F(Admissions, AStaleRequestTakesNothingFromALaterAttempt) {
  EXPECT_TRUE(granted({.n = 0}, 2));
  EXPECT_TRUE(granted({.n = 0}, 1)) << "by a cache that lags";
  show({.n = 0}, Phase::kInProgress, 1);
  show({.n = 0}, Phase::kBackoff, 1);
  EXPECT_EQ(queue.usage().in_flight, 1);
}

TEST_F(RatedAdmissions, ANewLeaderHasNothingSavedUp) {
  set_rate({{}, 60, 5});
  queue.resume();
  EXPECT_EQ(waits_for({.n = 0}), "rate");
  EXPECT_EQ(alarms.at("evac-00000"), kNoon + base::seconds(1));
}

TEST_F(RatedAdmissions, AFullTotalIsNamedBeforeTheRate) {
  queue.set_cluster_limits({limits(number(1)), api::RateLimit{{}, 1, 1}});
  EXPECT_TRUE(granted({.n = 0}));
  EXPECT_EQ(waits_for({.n = 1}), "total");
  EXPECT_TRUE(alarms.empty());
  show({.n = 0}, Phase::kSucceeded);
  EXPECT_EQ(alarms.size(), 1U) << "now it waits for the token";
}

/// Checks I7 against a plain model: random events in random order, with operators that crash and lose their state.
class LimitModel : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr int kWishes = 60;
  static constexpr int kInFlight = 5;
  static constexpr int kNodes = 6;  ///< even nodes are in zone-0, odd nodes in zone-1

  LimitModel() : random(GetParam()) {
    for (int i = 0; i < kWishes; ++i) {
      candidates.push_back({.n = i,
                            .node = fmt::format("node-{}", i % kNodes),
                            .workload = fmt::format("rs-{}", i % 7),
                            .priority = static_cast<std::int32_t>(random() % 3),
                            .policy = i % 3 ? "" : "p",
                            .target = i % 4 ? fmt::format("node-{}", (i + 1 + i / 9) % kNodes) : ""});
    }
    start_leader();
  }

  /// Discards slots that were granted but not stored. Evacuations, nodes and policies arrive in random order.
  void start_leader() {
    granted.clear();
    leader = std::make_unique<AdmissionQueue>(
        api::AdmissionLimits{{number(kInFlight), number(2), {}, number(1), number(2), number(3)},
                             api::RateLimit{{}, 120, 3}},
        clock, [](const api::ObjectKey&, base::Duration) {});
    leader->resume();
    const auto learn_nodes = [&] {
      for (int i = 0; i < kNodes; ++i) {
        leader->set_node(fmt::format("node-{}", i), NodeFacts{fmt::format("zone-{}", i % 2), 110});
      }
    };
    if (random() % 2) learn_nodes();
    for (const auto& [n, phase] : stored) show(n, phase);
    leader->set_policy_limits("p", {{limits(number(3), {}, {}, number(2))}});
    learn_nodes();
  }

  void show(int n, Phase phase) {
    const api::Evacuation now = object(candidates[static_cast<std::size_t>(n)], phase, 1);
    leader->observe(nullptr, &now);
  }
  void store(int n, Phase phase) {
    stored[n] = phase;
    show(n, phase);
  }

  void take_a_step() {
    const int n = static_cast<int>(random() % kWishes);
    const auto at = stored.find(n);
    clock.advance(std::chrono::milliseconds(random() % 400));
    if (random() % 500 == 0) return start_leader();
    if (at == stored.end()) {
      if (random() % 16 == 0) {
        leader->withdraw(object(candidates[static_cast<std::size_t>(n)]).meta.key());
        if (granted.erase(n)) std::erase(admissions, std::pair(n, admitted_at.at(n)));
      } else if (granted.contains(n) && random() % 2) {
        granted.erase(n);
        store(n, Phase::kPreparing);
      } else if (leader->request(request(candidates[static_cast<std::size_t>(n)])).slot.state ==
                 Slot::State::kGranted) {
        if (granted.insert(n).second) admissions.emplace_back(n, admitted_at[n] = clock.now());
      }
    } else if (at->second == Phase::kPreparing && random() % 2) {
      store(n, random() % 4 ? Phase::kEvicting : Phase::kRequesting);
    } else if (at->second != Phase::kVerifying && random() % 2) {
      store(n, Phase::kVerifying);
    } else if (random() % 2) {
      show(n, Phase::kSucceeded);
      stored.erase(at);
    }
  }

  void check_limits() const {
    std::map<std::string, int> nodes, workloads, targets, zones;
    int total = 0, policy = 0;
    const auto add = [&](int n, bool departing) {
      const Candidate& candidate = candidates[static_cast<std::size_t>(n)];
      total += departing;
      nodes[candidate.node] += departing;
      zones[fmt::format("zone-{}", n % kNodes % 2)] += departing;
      workloads[candidate.workload] += 1;
      if (!candidate.target.empty()) targets[candidate.target] += 1;
      policy += departing && candidate.policy == "p";
    };
    for (const auto& [n, phase] : stored) add(n, phase != Phase::kVerifying);
    for (const int n : granted) add(n, true);
    ASSERT_LE(total, 5);
    ASSERT_LE(policy, 2) << "the policy's namespace limit";
    for (const auto& [name, count] : nodes) ASSERT_LE(count, 2) << name;
    for (const auto& [name, count] : zones) ASSERT_LE(count, 3) << name;
    for (const auto& [name, count] : targets) ASSERT_LE(count, 2) << name;
    for (const auto& [name, count] : workloads) ASSERT_LE(count, 1) << name;
    ASSERT_LE(leader->usage().in_flight, 5);
    // The rate is 2 per second with a burst of 3. An Evacuation that an event admits learns it at its next request, so
    // up to kInFlight admissions may show up at once.
    const std::size_t many = std::min<std::size_t>(admissions.size(), 60);
    if (many == 0) return;
    const auto span = admissions.back().second - admissions[admissions.size() - many].second;
    ASSERT_LE(static_cast<std::int64_t>(many), kInFlight + 3 + span / std::chrono::milliseconds(500));
  }

  base::ManualClock clock{kNoon};
  std::mt19937 random;
  std::vector<Candidate> candidates;
  std::vector<std::pair<int, base::TimePoint>> admissions;
  std::map<int, base::TimePoint> admitted_at;
  std::map<int, Phase> stored;  ///< state that every later leader reads
  std::set<int> granted;        ///< reported to this leader's workers, not stored yet
  std::unique_ptr<AdmissionQueue> leader;
};

TEST_P(LimitModel, NeverExceedsALimitWhateverHappens) {
  for (int step = 0; step < 5'000; ++step) {
    take_a_step();
    ASSERT_NO_FATAL_FAILURE(check_limits()) << "step " << step;
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, LimitModel, testing::Range(1U, 9U));

TEST_F(Admissions, ServesManyThreads) {
  std::vector<std::jthread> threads;
  AdmissionQueue shared({limits(number(5), number(2))}, clock, [](const api::ObjectKey&, base::Duration) {});
  std::atomic<int> granted_total{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const Candidate candidate{.n = t * 1000 + i, .node = fmt::format("node-{}", i % 3)};
        if (shared.request(request(candidate)).slot.state == Slot::State::kGranted) ++granted_total;
        const api::Evacuation done = object(candidate, Phase::kSucceeded, 1);
        shared.observe(nullptr, &done);
        (void)shared.usage();
      }
    });
  }
  threads.clear();
  EXPECT_GT(granted_total, 0);
  EXPECT_EQ(shared.usage().in_flight, 0);
  EXPECT_EQ(shared.usage().waiting, 0);
}

/// Every Evacuation is admitted in order, and each wake leads to an admission.
TEST_F(Admissions, DrainsTenThousandInOrder) {
  constexpr int kMany = 10'000;
  set_limits({number(50), number(2), {}, number(1), number(2), number(20)});
  add_nodes(0, 250, "east");
  add_nodes(250, 500, "west");
  const auto candidate = [](int i) {
    return Candidate{.n = i,
                     .node = fmt::format("node-{}", i % 500),
                     .workload = fmt::format("rs-{}", i % 3000),
                     .target = fmt::format("node-{}", (i * 7 + 1) % 500)};
  };
  std::vector<int> now;
  for (int i = 0; i < kMany; ++i) {
    if (granted(candidate(i))) now.push_back(i);
  }
  const std::size_t immediately = now.size();
  std::size_t done = 0;
  std::size_t woken_total = 0;
  while (!now.empty()) {
    const int n = now.back();
    now.pop_back();
    woken.clear();
    show(candidate(n), Phase::kSucceeded);
    ++done;
    woken_total += woken.size();
    for (const std::string& name : woken) now.push_back(std::stoi(name.substr(5)));
  }
  EXPECT_EQ(done, static_cast<std::size_t>(kMany));
  EXPECT_EQ(immediately + woken_total, static_cast<std::size_t>(kMany));
}

}  // namespace admission_queue_test
