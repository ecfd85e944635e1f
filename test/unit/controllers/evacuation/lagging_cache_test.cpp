#include <gtest/gtest.h>

#include "test/unit/controllers/evacuation/reconciler_fixture.hpp"

/// The reconciler on a cache that lags behind the server, or behind what the reconciler itself wrote.
namespace evacuation_lagging_cache_test {

using namespace evacuation_reconciler_fixture;

/// The cache of a new process may not contain the pod yet.
TEST_F(Shell, APodThatTheCacheHasNeverShownIsReadBeforeItCountsAsGone) {
  make_it_ours();
  ASSERT_TRUE(reconciler.reconcile(key));
  server.pod = nullptr;
  pods.remove({"shop", "web-1"});
  const auto stored = api::decode_evacuation(server.evacuation);
  ASSERT_TRUE(stored) << stored.error().message;
  put(*stored);
  controllers::evacuation::Reconciler successor{dependencies()};
  ASSERT_TRUE(successor.reconcile(key));
  EXPECT_EQ(calls("GET /pods/web-1"), 1);
  EXPECT_EQ(server.evacuation["status"]["phase"], "Verifying");
}

TEST_F(Shell, APodThatABudgetCoversIsReadBeforeItsEviction) {
  make_it_ours();
  api::PodDisruptionBudget pdb;
  budget(1, &pdb);
  pdb.selector = api::LabelSelector{};
  pdbs.put(std::make_shared<const api::PodDisruptionBudget>(pdb));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.log, (std::vector<std::string>{"GET /pods/web-1", "PATCH /evacuations/web-1-7c1a8c1e",
                                                  "PATCH /web-1-7c1a8c1e/status", "POST /web-1/eviction"}));
  EXPECT_TRUE(server.evacuation["metadata"].contains("finalizers")) << "it may have to wait for long";
  EXPECT_FALSE(Json::parse(server.bodies[3])["deleteOptions"]["preconditions"].contains("resourceVersion"));
}

TEST_F(Shell, AnEvictionThatWasDecidedOnAnOldPodIsDecidedAgain) {
  make_it_ours();
  server.pod["metadata"]["resourceVersion"] = "42";
  server.pod["metadata"]["annotations"]["handoff.evacuator.dev/mode"] = "required";
  server.script(
      "/eviction",
      ScriptedServer::json(409, R"({"kind":"Status","reason":"Conflict","code":409,"message":"Precondition failed"})"));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(calls("POST /web-1/eviction"), 1);
  EXPECT_EQ(calls("GET /pods/web-1"), 1);
  EXPECT_EQ(server.evacuation["status"]["phase"], "Backoff") << "the next attempt chooses another evictor";
  pods.put(std::make_shared<const api::Pod>(make_pod({{"handoff.evacuator.dev/mode", "required"}})));
  clock.advance(seconds(2));
  (void)reconciler.reconcile(key);
  EXPECT_EQ(calls("POST /web-1/eviction"), 1) << "its owner decides";
}

TEST_F(Shell, WhatItWroteItselfIsNewerThanACacheThatLags) {
  make_it_ours();
  server.script("/eviction", ScriptedServer::json(429, pdb_body()));
  ASSERT_TRUE(reconciler.reconcile(key));
  ASSERT_EQ(server.evacuation["status"]["phase"], "Requesting");
  server.log.clear();
  clock.advance(seconds(60));
  ASSERT_TRUE(reconciler.reconcile(key));  // the cache still shows Pending
  EXPECT_EQ(calls("GET /evacuations/web-1-7c1a8c1e"), 0);
  EXPECT_EQ(calls("POST /web-1/eviction"), 1);
  EXPECT_EQ(server.evacuation["status"]["attempt"], 1) << "the same attempt goes on";
}

TEST_F(Shell, AnUnstoredGrantSurvivesAConcurrentWrite) {
  make_it_ours();
  ASSERT_TRUE(reconciler.reconcile(key));
  server.evacuation["status"]["conditions"].push_back(
      {{"type", "Foreign"}, {"status", "True"}, {"reason", "Told"}, {"lastTransitionTime", "2026-11-21T12:00:00Z"}});
  server.evacuation["metadata"]["resourceVersion"] = "900";
  clock.advance(seconds(1));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting");
  EXPECT_NE(server.evacuation.dump().find("Foreign"), std::string::npos);
  EXPECT_EQ(calls("POST /web-1/eviction"), 1);
}

TEST_F(Shell, ACancelAfterTheGrantIsRefusedAtOnce) {
  make_it_ours();
  ASSERT_TRUE(reconciler.reconcile(key));
  server.evacuation["spec"]["cancel"] = {{"requested", true}};
  server.evacuation["metadata"]["resourceVersion"] = "900";
  evacuations.put(std::make_shared<const api::Evacuation>(
      *controllers::evacuation::decode_observed_evacuation(server.evacuation.dump())));
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Evicting");
  EXPECT_EQ(events, std::vector<std::string>{"CancelRefused"});
}

TEST_F(Shell, ReadsTheEvacuationAfterAWriteBasedOnAStaleCache) {
  server.evacuation["metadata"]["resourceVersion"] = "8";
  server.evacuation["spec"]["cancel"] = {{"requested", true}, {"reason", "changed my mind"}};
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Cancelled");
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
}

TEST_F(Shell, ReadsTheEvacuationBeforeACallThatNoWriteGuards) {
  api::Evacuation open = blocked(key.name, 0, 0);
  open.status.intent = api::EvacuationIntent{"PostEviction", "e5b3.1", kNoon - seconds(60), false, "", ""};
  open.status.next_action_at.reset();
  open.meta.finalizers = {"evacuator.dev/evacuation"};
  put(open);
  server.evacuation["spec"]["cancel"] = {{"requested", true}, {"reason", "changed my mind"}};
  server.evacuation["status"] = api::encode_status(open.status);
  server.evacuation["metadata"]["resourceVersion"] = "8";
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Cancelled");
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
}

TEST_F(Shell, AsksForASlotAgainWhenTheLiveObjectIsInALaterAttempt) {
  api::Evacuation live = make_evacuation();
  live.meta.finalizers = {"evacuator.dev/evacuation"};
  live.status.phase = EvacuationPhase::kBackoff;
  live.status.attempt = 1;
  live.status.phase_entered_at = live.status.next_action_at = kNoon - seconds(1);
  server.evacuation["status"] = api::encode_status(live.status);
  server.evacuation["metadata"]["resourceVersion"] = "8";
  server.evacuation["metadata"]["finalizers"] = {"evacuator.dev/evacuation"};
  ASSERT_TRUE(reconciler.reconcile(key));  // the cache still shows Pending
  ASSERT_EQ(server.evacuation["status"]["attempt"], 2);
  admission.observe(nullptr, &live);  // the cache catches up to the end of the first attempt
  EXPECT_EQ(admission.usage().in_flight, 1) << "the slot of the second attempt is nobody else's";
}

using EvacuationReconciler = Shell;

/// The informer has delivered the end, and then a reconcile begins with the older state.
TEST_F(EvacuationReconciler, AStaleLookAfterTheVerdictHoldsNoSlot) {
  const api::Evacuation waits = make_evacuation();
  api::Evacuation ended = waits;
  ended.status.phase = EvacuationPhase::kCancelled;
  ended.status.reason = "UserCancelled";
  ended.status.finished_at = ended.status.phase_entered_at = kNoon;
  server.evacuation["status"] = api::encode_status(ended.status);
  server.evacuation["metadata"]["resourceVersion"] = "8";
  admission.observe(nullptr, &waits);
  admission.observe(&waits, &ended);
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(admission.usage().in_flight, 0) << "nobody would free it before the object is deleted";
  api::Evacuation next = waits;
  next.meta.name = "another";
  EXPECT_EQ(admission.duplicate_of(next), "");
}

TEST_F(Shell, TheSuccessorOfADeletedEvacuationIsLeftToItsOwnReconcile) {
  server.evacuation["metadata"].update({{"uid", "another"}, {"resourceVersion", "9"}});
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"], Json());
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "POST /web-1/eviction"), 0);
}

TEST_F(Shell, DecidesOnLiveReadsNotOnTheCache) {
  server.pod["metadata"]["uid"] = "successor";
  ASSERT_TRUE(reconciler.reconcile(key));
  EXPECT_EQ(server.evacuation["status"]["phase"], "Cancelled");
  EXPECT_EQ(server.evacuation["status"]["reason"], "TargetGone");
  for (const std::string& call : server.log) EXPECT_EQ(call.find("eviction\""), std::string::npos);
}

}  // namespace evacuation_lagging_cache_test
