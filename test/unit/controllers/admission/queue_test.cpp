#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "test/unit/controllers/admission/queue_fixture.hpp"

/// Order and life of the slots that the queue grants.
namespace admission_queue_test {

using namespace admission_queue_fixture;

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

TEST_F(Admissions, StartsOverForARecreatedObject) {
  show({.n = 0}, Phase::kRequesting);
  api::Evacuation again = object({.n = 0}, Phase::kPending, 0);
  again.meta.uid = "another";
  queue.observe(nullptr, &again);
  EXPECT_EQ(queue.usage().in_flight, 0);
}

TEST_F(Admissions, AStaleRequestTakesNothingFromALaterAttempt) {
  EXPECT_TRUE(granted({.n = 0}, 2));
  EXPECT_TRUE(granted({.n = 0}, 1)) << "by a cache that lags";
  show({.n = 0}, Phase::kInProgress, 1);
  show({.n = 0}, Phase::kBackoff, 1);
  EXPECT_EQ(queue.usage().in_flight, 1);
}

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
