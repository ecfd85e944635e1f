#include <gtest/gtest.h>

#include "test/unit/controllers/evacuation/reconciler_fixture.hpp"

/// Which Evacuations a change of a budget or of a pod wakes.
namespace evacuation_wakes_test {

using namespace evacuation_reconciler_fixture;

TEST_F(Shell, WakesAsManyAsTheBudgetAllowsInOrder) {
  for (const auto& [name, priority, since] : {std::tuple("c", 0, 1), {"a", 0, 5}, {"d", 9, 7}, {"b", 0, 3}}) {
    put(blocked(name, priority, since));
    ASSERT_TRUE(reconciler.reconcile({"shop", name}));
  }
  api::PodDisruptionBudget none, some, more;
  budget(0, &none);
  budget(2, &some);
  budget(9, &more);
  const auto names = [&](const api::PodDisruptionBudget* before, const api::PodDisruptionBudget* after) {
    std::string joined;
    for (const auto& each : reconciler.on_pdb_changed(before, after)) joined += each.name;
    return joined;
  };
  EXPECT_EQ(names(&none, &none), "");
  EXPECT_EQ(names(&some, &none), "");
  EXPECT_EQ(names(&none, &some), "dc");
  EXPECT_EQ(names(&none, &more), "dbac") << "c had its turn";
  EXPECT_EQ(names(&none, nullptr), "dbac") << "a deleted one blocks nobody";
}

TEST_F(Shell, TakesTurnsAmongThePodsOfOneBudget) {
  for (const char* name : {"a", "b", "c"}) {
    put(blocked(name, 0, 0));
    ASSERT_TRUE(reconciler.reconcile({"shop", name}));
  }
  api::PodDisruptionBudget none, one;
  budget(0, &none);
  budget(1, &one);
  std::string order;
  for (int i = 0; i < 6; ++i) {
    for (const auto& each : reconciler.on_pdb_changed(&none, &one)) {
      order += each.name;
      ASSERT_TRUE(reconciler.reconcile(each)) << "refused again: it goes on waiting";
    }
  }
  EXPECT_EQ(order, "abcabc");
}

TEST_F(Shell, AWokenOneDoesNotWaitForItsDelay) {
  put(blocked(key.name, 0, 0));
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  server.evacuation["status"] = api::encode_status(blocked(key.name, 0, 0).status);
  ASSERT_TRUE(reconciler.reconcile(key));
  ASSERT_TRUE(server.log.empty());
  api::PodDisruptionBudget none, some;
  budget(0, &none);
  budget(1, &some);
  ASSERT_EQ(reconciler.on_pdb_changed(&none, &some).size(), 1u);
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 1);
}

TEST_F(Shell, FindsTheEvacuationsThatAPodConcerns) {
  api::Evacuation verifying = make_evacuation();
  verifying.meta.name = "other";
  verifying.spec.pod_ref.name = "web-0";
  verifying.status.phase = EvacuationPhase::kVerifying;
  verifying.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs-uid", true};
  put(verifying);
  std::string joined;
  for (const auto& each : reconciler.keys_for_pod(make_pod())) joined += each.name + " ";
  EXPECT_EQ(joined, "web-1-7c1a8c1e other ");
}

/// With 3,000 Evacuations of one owner, an event wakes a bounded number of them. The others wait for their periodic
/// reconcile.
TEST_F(Shell, AnEventOfOnePodWakesFewOfManyThatVerify) {
  constexpr int kMany = 3000;
  for (int i = 0; i < kMany; ++i) {
    api::Evacuation verifying = make_evacuation();
    verifying.meta.name = "e" + std::to_string(10'000 + i);
    verifying.spec.pod_ref.name = "gone-" + std::to_string(i);
    verifying.status.phase = EvacuationPhase::kVerifying;
    verifying.status.attempt_started_at = kNoon + seconds(i == kMany - 1 ? -1 : i);
    verifying.status.pod_owner = api::OwnerReference{"apps/v1", "ReplicaSet", "web", "rs-uid", true};
    if (i == 2000) verifying.status.outcome.emplace().replacement = {"new", make_pod().meta.uid, {"node-b"}, {}};
    put(verifying);
  }
  std::vector<std::string> names;
  for (const auto& each : reconciler.keys_for_pod(make_pod())) names.push_back(each.name);
  ASSERT_EQ(names.size(), 2 + controllers::evacuation::Reconciler::kMaxWokenAtOnce);
  EXPECT_EQ(names[1], "e12000") << "the pod is its replacement";
  EXPECT_EQ(names[2], "e12999") << "the oldest";
  EXPECT_EQ(names[3], "e10000");
  const auto later = reconciler.later_keys_for_pod(make_pod());
  EXPECT_EQ(later.keys.size(), kMany - 1 - controllers::evacuation::Reconciler::kMaxWokenAtOnce);
  EXPECT_GE(later.delay, seconds(10));
}

}  // namespace evacuation_wakes_test
