#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "controllers/admission/queue.hpp"
#include "controllers/operator/operator_config.hpp"
#include "test/builders/origin.hpp"
#include "test/unit/controllers/evacuation/phases/life.hpp"

/// A tenant that may create Evacuations in one namespace does not delay those of other namespaces, whatever their
/// number and priority.
namespace fairness_test {

using namespace evacuation_test;
using controllers::AdmissionOrder;
using controllers::AdmissionQueue;
using controllers::AdmissionRequest;
using controllers::OperatorConfig;
using controllers::WaitingLine;

constexpr int kFlood = 10'000;

api::IntOrPercent number(std::int64_t value) { return {value, false}; }

api::Evacuation evacuation_of(const std::string& ns, int n, const std::string& node, std::int32_t priority = 0) {
  api::Evacuation made;
  made.meta.ns = ns;
  made.meta.name = fmt::format("evac-{:05}", n);
  made.meta.uid = fmt::format("{}-{}", ns, n);
  made.meta.creation_timestamp = kNoon + base::seconds(n);
  made.spec.pod_ref = {fmt::format("pod-{}", n), {fmt::format("pod-{}-{}", ns, n)}};
  made.spec.node_name = {node};
  made.spec.priority = priority;
  return made;
}

class Fairness : public testing::Test {
 protected:
  bool ask(const api::Evacuation& evacuation) {
    AdmissionRequest request = controllers::admission_request(evacuation, nullptr, std::nullopt);
    request.priority = controllers::effective_priority(evacuation, OperatorConfig().manual.priority);
    return queue.request(request).slot.state == Slot::State::kGranted;
  }
  /// Returns the number of Evacuations that were admitted.
  int flood(const std::string& ns, const std::string& node = "", std::int32_t priority = 0) {
    int admitted = 0;
    for (int i = 0; i < kFlood; ++i)
      admitted += ask(evacuation_of(ns, i, node.empty() ? fmt::format("node-{}", i) : node, priority));
    return admitted;
  }
  /// Ends Evacuation `n`. Returns the name of the first Evacuation that is woken for its slot, or an empty string.
  std::string end_one(const std::string& ns, int n) {
    woken.clear();
    api::Evacuation done = evacuation_of(ns, n, "");
    done.status.phase = EvacuationPhase::kSucceeded;
    queue.observe(nullptr, &done);
    return woken.empty() ? std::string() : woken.front();
  }

  base::ManualClock clock{kNoon};
  std::vector<std::string> woken;
  AdmissionQueue queue{{OperatorConfig().in_flight}, clock, [this](const api::ObjectKey& key, base::Duration) {
                         woken.push_back(key.ns);
                       }};
};

TEST_F(Fairness, AFloodOfTenThousandAtTheHighestPriorityTakesTwoSlots) {
  EXPECT_EQ(flood("attacker", "", 1'000'000'000), 2);
  EXPECT_EQ(queue.usage().waiting, kFlood - 2);
  for (const char* ns : {"shop", "db", "web"}) EXPECT_TRUE(ask(evacuation_of(ns, kFlood, ns))) << ns;
  EXPECT_EQ(queue.usage().in_flight, 5);
}

TEST_F(Fairness, NamespacesTakeTurnsThoughOneOfThemHasTenThousandOlderOnes) {
  queue.set_cluster_limits({{.total = number(5), .per_node = {}, .per_namespace = {}, .per_workload = {}}});
  EXPECT_EQ(flood("attacker"), 5);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask(evacuation_of("shop", kFlood + i, "node-s")));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ask(evacuation_of("web", kFlood + i, "node-w")));
  std::vector<std::string> order;
  for (int i = 0; i < 8; ++i) order.push_back(end_one("attacker", i));
  EXPECT_EQ(order,
            (std::vector<std::string>{"attacker", "shop", "web", "attacker", "shop", "web", "attacker", "shop"}));
}

TEST_F(Fairness, NamespacesTakeTurnsOnAFullNode) {
  queue.set_cluster_limits({{.total = {}, .per_node = number(2), .per_namespace = {}, .per_workload = {}}});
  EXPECT_EQ(flood("attacker", "node-a"), 2);
  EXPECT_FALSE(ask(evacuation_of("shop", kFlood, "node-a")));
  std::vector<std::string> order;
  for (int i = 0; i < 2; ++i) order.push_back(end_one("attacker", i));
  EXPECT_EQ(std::count(order.begin(), order.end(), "shop"), 1) << "not after 9,998 others";
}

TEST_F(Fairness, APriorityMadeManualIsCapped) {
  api::Evacuation asked = evacuation_of("attacker", 1, "node-a", 1'000'000'000);
  asked.spec.source.policy = "trusted";
  EXPECT_EQ(controllers::effective_priority(asked, 1000), 1000) << "a name proves nothing";
  asked.status.conditions = {{"OriginVerified", api::ConditionStatus::kTrue, "Signed", "", 0, {}}};
  EXPECT_EQ(controllers::effective_priority(asked, 1000), 1'000'000'000) << "the signature was looked at just now";
  asked.status.spec_hash = "v1:00";
  EXPECT_EQ(controllers::effective_priority(asked, 1000), 1000) << "nobody knows what was signed";
  asked.status.signed_priority = 5;
  EXPECT_EQ(controllers::effective_priority(asked, 1000), 1000) << "raised after it was signed";
  asked.status.signed_priority = 2'000'000'000;
  EXPECT_EQ(controllers::effective_priority(asked, 1000), 1'000'000'000) << "lowered after it was signed";
  asked.status.signed_priority = 1'000'000'000;
  EXPECT_EQ(controllers::effective_priority(asked, 1000), 1'000'000'000);
  EXPECT_EQ(controllers::effective_priority(evacuation_of("shop", 1, "", -5), 1000), -5);
}

TEST_F(Fairness, AnEvacuationThatReleasedItsSlotQueuesBehindWaitingOnes) {
  queue.set_cluster_limits({{.total = number(1), .per_node = {}, .per_namespace = {}, .per_workload = {}}});
  EXPECT_TRUE(ask(evacuation_of("shop", 0, "a")));
  api::Evacuation gave_back = evacuation_of("shop", 1, "b");
  gave_back.status.phase = EvacuationPhase::kBackoff;
  gave_back.status.attempt = 1;
  gave_back.status.phase_entered_at = kNoon + base::seconds(600);
  gave_back.status.abort = api::EvacuationAbort{"NoProgress", EvacuationPhase::kBackoff, kNoon};
  EXPECT_FALSE(ask(gave_back));
  EXPECT_FALSE(ask(evacuation_of("shop", 2, "c")));
  api::Evacuation done = evacuation_of("shop", 0, "a");
  done.status.phase = EvacuationPhase::kSucceeded;
  queue.observe(nullptr, &done);
  EXPECT_TRUE(ask(evacuation_of("shop", 2, "c")));
  EXPECT_FALSE(ask(gave_back));
}

// --- slots that other Evacuations wait for

TEST_F(Fairness, OnlyAFullLimitMakesASlotWaitedFor) {
  const api::Evacuation first = evacuation_of("shop", 0, "node-a");
  EXPECT_TRUE(ask(first));
  EXPECT_TRUE(ask(evacuation_of("shop", 1, "node-a")));
  EXPECT_FALSE(queue.is_waited_for(first.meta.key()));
  EXPECT_FALSE(ask(evacuation_of("db", 2, "node-a")));
  EXPECT_TRUE(queue.is_waited_for(first.meta.key())) << "its node is full, and somebody waits there";
  EXPECT_FALSE(queue.is_waited_for({"db", "evac-00002"})) << "it has no slot";
  queue.set_cluster_limits({{.total = number(0), .per_node = {}, .per_namespace = {}, .per_workload = {}}});
  EXPECT_FALSE(queue.is_waited_for(first.meta.key())) << "nobody would get it: the operator pauses";
}

/// T38 releases every slot except that of the workload.
TEST_F(Fairness, WaitingForAWorkloadIsNotWaitingForADeparture) {
  queue.set_cluster_limits(
      {{.total = number(5), .per_node = {}, .per_namespace = number(2), .per_workload = number(1)}});
  const auto of_web = [](int n) {
    api::Evacuation each = evacuation_of("shop", n, "node-a");
    each.status.workload_group = "web";
    return each;
  };
  const api::Evacuation first = of_web(0);
  EXPECT_TRUE(ask(first));
  EXPECT_FALSE(ask(of_web(1)));
  EXPECT_TRUE(queue.is_waited_for(first.meta.key()));
  EXPECT_FALSE(queue.is_departure_waited_for(first.meta.key()));
  EXPECT_TRUE(ask(evacuation_of("shop", 2, "node-b")));
  EXPECT_FALSE(ask(evacuation_of("shop", 3, "node-b")));
  EXPECT_TRUE(queue.is_departure_waited_for(first.meta.key())) << "the namespace is full, and another one waits there";
}

TEST_F(Fairness, ABrakeIsNotWaitingForASlot) {
  api::Evacuation running = evacuation_of("shop", 0, "node-a");
  builders::set_policy(running, "p");
  EXPECT_TRUE(ask(running));
  queue.set_policy_limits("p", api::AdmissionLimits{}, "policy p is suspended");
  api::Evacuation held = evacuation_of("shop", 1, "node-b");
  builders::set_policy(held, "p");
  EXPECT_FALSE(ask(held));
  EXPECT_FALSE(queue.is_waited_for(running.meta.key()));
}

// --- slots held by Evacuations of other tenants

class SlotAttacks : public Fairness {
 protected:
  /// Returns a manual Evacuation whose pod is gone. Its replacement is pinned to `target`, is never Ready, and may take
  /// a week.
  api::Evacuation verifying(int n, const std::string& target) {
    api::Evacuation each = evacuation_of("attacker", n, fmt::format("node-{}", n));
    each.spec.timeouts.verify = base::minutes(168 * 60);
    each.status.phase = EvacuationPhase::kVerifying;
    each.status.attempt = 1;
    each.status.phase_entered_at = clock.now();
    each.status.outcome = api::EvacuationOutcome{
        api::OutcomeKind::kEvicted, {}, api::EvacuationReplacement{"pinned", {fmt::format("r-{}", n)}, {target}, {}}};
    return each;
  }
  api::Evacuation of_shop(int n, const std::string& target) {
    api::Evacuation each = evacuation_of("shop", n, fmt::format("shop-{}", n));
    builders::set_policy(each, "balance");
    each.meta.annotations = api::StringMap{{"evacuator.dev/predicted-target", target}};
    return each;
  }
};

TEST_F(SlotAttacks, LongVerifyingManualEvacuationsBlockNoTargetNode) {
  api::Evacuation said = evacuation_of("attacker", 0, "node-0");
  said.meta.annotations = api::StringMap{{"evacuator.dev/predicted-target", "target-0"}};
  EXPECT_EQ(controllers::target_node(said), "") << "anybody may write an annotation";
  EXPECT_EQ(controllers::target_node(of_shop(0, "target-0")), "target-0");

  for (int i = 0; i < 20; ++i) {
    const api::Evacuation pinned = verifying(i, fmt::format("target-{}", i / 2));
    queue.observe(nullptr, &pinned);
  }
  EXPECT_EQ(queue.usage().in_flight, 0);
  EXPECT_FALSE(ask(of_shop(0, "target-0"))) << "as many as the namespace may have slots";
  EXPECT_TRUE(ask(of_shop(1, "target-1"))) << "no other node";
  EXPECT_TRUE(ask(of_shop(2, "target-9"))) << "no other node";
  clock.advance(base::minutes(10));
  queue.withdraw(of_shop(1, "").meta.key());
  EXPECT_TRUE(ask(of_shop(0, "target-0"))) << "nor that one for longer than a slot without progress";
}

TEST_F(SlotAttacks, ASuspendedEvacuationOrDryRunDoesNotBlockOthersOfThePod) {
  api::Evacuation held = evacuation_of("shop", 0, "node-0");
  api::Evacuation drained = evacuation_of("shop", 1, "node-0");
  drained.spec.pod_ref = held.spec.pod_ref;
  for (const bool dry : {false, true}) {
    held.spec.suspend = !dry;
    held.spec.dry_run = dry;
    queue.observe(nullptr, &held);
    queue.observe(nullptr, &drained);
    EXPECT_EQ(queue.duplicate_of(drained), "");
    EXPECT_EQ(queue.duplicate_of(held), drained.meta.name) << "it gives way, older as it is";
  }
  held.spec = drained.spec;
  queue.observe(nullptr, &held);
  EXPECT_EQ(queue.duplicate_of(drained), held.meta.name) << "of two that may go the older one";
}

TEST_F(SlotAttacks, AManualSlotThatWaitsForAReplacementEndsWithoutProgress) {
  for (int i = 0; i < 2; ++i) {
    api::Evacuation holds = verifying(i, "target-0");
    holds.spec.hold_slot_until = api::HoldSlotUntil::kReplacementReady;
    queue.observe(nullptr, &holds);
  }
  EXPECT_EQ(queue.usage().in_flight, 2);
  clock.advance(base::minutes(10));
  queue.resume();
  EXPECT_EQ(queue.usage().in_flight, 0);
}

TEST_F(SlotAttacks, AWorkloadStillWaitsForItsOwnReplacements) {
  api::Evacuation first = verifying(0, "target-0");
  first.status.workload_group = "web";
  queue.observe(nullptr, &first);
  clock.advance(base::minutes(60));
  api::Evacuation second = evacuation_of("attacker", 1, "node-1");
  second.status.workload_group = "web";
  EXPECT_FALSE(ask(second));
  first.status.phase = EvacuationPhase::kSucceeded;
  queue.observe(nullptr, &first);
  EXPECT_TRUE(ask(second));
}

TEST_F(SlotAttacks, WithoutANoProgressLimitManualEvacuationsCountWhileTheyWait) {
  queue.set_manual_patience({});
  for (int i = 0; i < 2; ++i) {
    const api::Evacuation pinned = verifying(i, "target-0");
    queue.observe(nullptr, &pinned);
  }
  clock.advance(base::minutes(6000));
  EXPECT_FALSE(ask(of_shop(0, "target-0")));
  const api::Evacuation gone = verifying(0, "target-0");
  queue.observe(&gone, nullptr);
  EXPECT_TRUE(ask(of_shop(0, "target-0")));
}

/// Maps the total limit to the number of manual Evacuations admitted concurrently.
TEST_F(SlotAttacks, ManualShareLeavesASlotOfEachTotalButOne) {
  const std::map<std::int64_t, int> expected{{1, 1}, {2, 1}, {4, 3}, {5, 4}, {9, 8}, {10, 8}};
  for (const bool has_braked_policy : {false, true}) {
    for (const auto& [total, manual] : expected) {
      SCOPED_TRACE(fmt::format("total {}, braked policy: {}", total, has_braked_policy));
      AdmissionQueue shared({{.total = number(total), .per_node = {}, .per_namespace = {}, .per_workload = {}}}, clock,
                            [](const api::ObjectKey&, base::Duration) {});
      shared.keep_share_for_policies();
      if (has_braked_policy) shared.set_policy_limits("idle", api::AdmissionLimits(), "suspended");
      int admitted = 0;
      for (int i = 0; i < 20; ++i) {
        const auto request = controllers::admission_request(evacuation_of("shop", i, "node-0"), nullptr, std::nullopt);
        admitted += shared.request(request).slot.state == Slot::State::kGranted;
      }
      EXPECT_EQ(admitted, manual);
    }
  }
}

TEST_F(SlotAttacks, APodGroupLargerThanTheManualShareIsNamed) {
  queue.set_cluster_limits({{.total = number(5), .per_node = {}, .per_namespace = {}, .per_workload = {}}});
  queue.keep_share_for_policies();
  const auto slot_of = [&](int n, bool is_manual) {
    api::Evacuation each = evacuation_of("shop", n, fmt::format("node-{}", n));
    if (!is_manual) builders::set_policy(each, "balance");
    AdmissionRequest request = controllers::admission_request(each, nullptr, std::nullopt);
    request.pod_group = "shop/db";
    for (int i = 0; i < 5; ++i) {
      if (i != n) request.together.push_back({"shop", fmt::format("evac-{:05}", i)});
    }
    return queue.request(request).slot;
  };
  for (int i = 0; i < 4; ++i) slot_of(i, true);
  EXPECT_EQ(slot_of(4, true).limit->message,
            "5 pods of the PodGroup leave at the same time, which no limit ever allows: at most 4 in flight of manual "
            "Evacuations; the rest of the total is reserved for policies");
  for (int i = 0; i < 5; ++i) queue.withdraw({"shop", fmt::format("evac-{:05}", i)});
  for (int i = 0; i < 4; ++i) slot_of(i, true);
  EXPECT_EQ(slot_of(4, false).state, Slot::State::kGranted) << "four manual ones and one of a policy";
}

/// T39: an Evacuation without a slot needs one before its pod leaves, although its attempt is running.
class SlotAgain : public Fairness {
 protected:
  SlotAgain() { queue.set_cluster_limits({{number(5), {}, number(1), number(1)}}); }
  api::Evacuation at_work() const {
    api::Evacuation each = evacuation_of("shop", 0, "node-0");
    builders::set_policy(each, "balance");
    each.status.phase = EvacuationPhase::kInProgress;
    each.status.attempt = 1;
    each.status.workload_group = "web";
    set_slot(each, api::ConditionStatus::kFalse, "NoProgress");
    return each;
  }
  static void set_slot(api::Evacuation& evacuation, api::ConditionStatus status, const std::string& reason) {
    api::set_condition(evacuation.status.conditions, {"SlotAcquired", status, reason, "", 0, {}}, kNoon);
  }
};

TEST_F(SlotAgain, ARunningAttemptWaitsAndGetsASlotOnce) {
  api::Evacuation running = at_work();
  queue.observe(nullptr, &running);
  EXPECT_EQ(queue.usage().in_flight, 0);
  EXPECT_TRUE(ask(evacuation_of("shop", 1, "node-1")));
  EXPECT_FALSE(ask(running)) << "the slot of the namespace went to another one";
  EXPECT_EQ(end_one("shop", 1), "shop");
  EXPECT_EQ(queue.usage().in_flight, 1) << "its own slot of the workload does not hold it up";
  queue.observe(nullptr, &running);
  EXPECT_EQ(queue.usage().in_flight, 1) << "a heartbeat that is shown late does not give the slot away";
  EXPECT_TRUE(ask(running));
  const api::Evacuation next = evacuation_of("shop", 2, "node-2");
  EXPECT_FALSE(ask(next));
  queue.withdraw(next.meta.key());
  set_slot(running, api::ConditionStatus::kTrue, "Acquired");
  running.status.phase = EvacuationPhase::kEvicting;
  queue.observe(nullptr, &running);
  EXPECT_EQ(queue.usage().in_flight, 1);
  running.status.phase = EvacuationPhase::kVerifying;
  queue.observe(nullptr, &running);
  EXPECT_EQ(queue.usage().in_flight, 0) << "nothing is left of what was reserved";
}

TEST_F(SlotAgain, ARunningAttemptWithoutARequestReleasesItsSlot) {
  const api::Evacuation running = at_work();
  queue.observe(nullptr, &running);
  EXPECT_TRUE(ask(running));
  queue.withdraw(running.meta.key(), 1);
  EXPECT_EQ(queue.usage().in_flight, 0);
  api::Evacuation same_workload = evacuation_of("shop", 1, "node-1");
  same_workload.status.workload_group = "web";
  EXPECT_FALSE(ask(same_workload)) << "it keeps the slot of its workload";
}

/// After a rollback the next evictor starts in the same decision.
TEST_F(SlotAgain, AnAbortedAttemptRequestsASlotForTheNext) {
  api::Evacuation running = at_work();
  running.status.phase = EvacuationPhase::kAborting;
  queue.observe(nullptr, &running);
  EXPECT_TRUE(ask(running));
  running.status.phase = EvacuationPhase::kBackoff;
  queue.observe(nullptr, &running);
  EXPECT_EQ(queue.usage().in_flight, 1) << "attempt 2 keeps its slot until the store shows it";
  set_slot(running, api::ConditionStatus::kTrue, "Acquired");
  running.status.phase = EvacuationPhase::kPreparing;
  running.status.attempt = 2;
  queue.observe(nullptr, &running);
  EXPECT_EQ(queue.usage().in_flight, 1);
}

/// A pod that leaves needs no later attempt. The store may show the running attempt late.
TEST_F(SlotAgain, OnlyASlotOfALaterAttemptIsWithdrawn) {
  const api::Evacuation pending = evacuation_of("shop", 0, "node-0");
  EXPECT_TRUE(ask(pending));
  queue.withdraw_later_attempts(pending.meta.key(), 1);
  EXPECT_EQ(queue.usage().in_flight, 1) << "attempt 1 runs, and the queue has not seen it yet";
  queue.withdraw_later_attempts(pending.meta.key(), 0);
  EXPECT_EQ(queue.usage().in_flight, 0);
  EXPECT_FALSE(ask(evacuation_of("shop", 1, "node-1")) && ask(pending)) << "one of the namespace";
  queue.withdraw_later_attempts(pending.meta.key(), 1);
  EXPECT_EQ(queue.usage().waiting, 1);
  queue.withdraw_later_attempts(pending.meta.key(), 0);
  EXPECT_EQ(queue.usage().waiting, 0);
}

/// Each Evacuation has its own concurrency group, so the workload limit does not apply to any of them.
TEST_F(SlotAttacks, ManualOnesOfOneOwnerInManyConcurrencyGroupsAreBounded) {
  AdmissionQueue open({{.total = {}, .per_node = {}, .per_namespace = {}, .per_workload = number(1)}}, clock,
                      [](const api::ObjectKey&, base::Duration) {});
  const auto verifying_in_group = [&](int n) {
    api::Evacuation each = verifying(n, "");
    each.spec.concurrency_group = fmt::format("group-{}", n);
    each.status.pod_owner.emplace();
    each.status.pod_owner->uid = "owner";
    return each;
  };
  for (int i = 0; i < 64; ++i) {
    const api::Evacuation each = verifying_in_group(i);
    open.observe(nullptr, &each);
  }
  api::Evacuation next = verifying_in_group(64);
  next.status.phase = EvacuationPhase::kPending;
  const auto slot = open.request(controllers::admission_request(next, nullptr, std::nullopt)).slot;
  EXPECT_EQ(slot.state, Slot::State::kWaiting);
  ASSERT_TRUE(slot.limit);
  EXPECT_EQ(slot.limit->message, "at most 64 in flight in all concurrency groups of owner owner");

  builders::set_policy(next, "balance");
  const auto of_policy = open.request(controllers::admission_request(next, nullptr, std::nullopt)).slot;
  EXPECT_EQ(of_policy.limit ? of_policy.limit->message : "", "") << "the operator chose its group";
  const api::Evacuation first = verifying_in_group(0);
  open.observe(&first, nullptr);
  api::Evacuation other = verifying_in_group(65);
  other.status.phase = EvacuationPhase::kPending;
  EXPECT_EQ(open.request(controllers::admission_request(other, nullptr, std::nullopt)).slot.state,
            Slot::State::kGranted);
}

// --- waiting line

AdmissionOrder order(std::int64_t priority, const std::string& ns, int n) {
  return {-priority, false, kNoon + base::seconds(n), {ns, fmt::format("evac-{:05}", n)}};
}

TEST(WaitingLines, OrderByPriorityThenRoundRobinThenAge) {
  std::map<std::string, std::uint64_t> turns;
  const WaitingLine::Turn turn = [&](const std::string& ns) { return turns[ns]; };
  WaitingLine line;
  std::vector<std::string> got;
  for (int i = 0; i < 3; ++i) line.insert(order(0, "a", i), 1, turn);
  line.insert(order(0, "b", 7), 2, turn);
  line.insert(order(5, "c", 9), 1, turn);
  EXPECT_EQ(line.size(), 5U);
  for (std::uint64_t now = 1; const auto first = line.first(turn); ++now) {
    const api::ObjectKey& key = std::get<api::ObjectKey>(first->order);
    got.push_back(key.ns + key.name.substr(key.name.size() - 1));
    line.erase(first->order, turn);
    turns[key.ns] = now;
  }
  EXPECT_EQ(got, (std::vector<std::string>{"c9", "a0", "b7", "a1", "a2"}));
  EXPECT_TRUE(line.empty());
  line.erase(order(0, "a", 1), turn);
}

TEST(WaitingLines, FollowATurnThatWasTakenElsewhere) {
  std::map<std::string, std::uint64_t> turns;
  const WaitingLine::Turn turn = [&](const std::string& ns) { return turns[ns]; };
  WaitingLine line;
  line.insert(order(0, "a", 0), 1, turn);
  line.insert(order(0, "b", 1), 3, turn);
  turns["a"] = 4;
  ASSERT_TRUE(line.first(turn));
  EXPECT_EQ(line.first(turn)->order, order(0, "b", 1));
  EXPECT_EQ(line.first(turn)->need, 3);
  EXPECT_TRUE(WaitingLine::goes_before(order(0, "b", 1), order(0, "a", 0), turn));
  EXPECT_TRUE(WaitingLine::goes_before(order(1, "a", 9), order(0, "b", 1), turn));
}

}  // namespace fairness_test
