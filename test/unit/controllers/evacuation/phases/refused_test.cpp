#include <gtest/gtest.h>

#include "test/unit/controllers/evacuation/phases/life.hpp"

/// T37: a failure that neither a retry nor another evictor can change ends the Evacuation with its reason, in every
/// phase.
namespace evacuation_refused_test {

using namespace evacuation_test;
using base::seconds;
using Phase = EvacuationPhase;

const std::string kRisk = "its PersistentVolumeClaim data is being deleted";
const std::string kDenied = "service mover may not be called as webhook for namespace shop";

void expect_failed(Life& life, const std::string& reason, const std::string& message) {
  EXPECT_EQ(life.phase(), Phase::kFailed);
  EXPECT_EQ(life.status().reason, reason);
  EXPECT_EQ(life.status().message, message);
  EXPECT_EQ(life.action(), "");
}

TEST(Refused, BeforeItHasASlot) {
  for (const bool suspended : {false, true}) {
    Life life;
    life.spec().suspend = suspended;
    life.seen.pvc_risk = kRisk;
    life.tick();
    expect_failed(life, "NotEvictable", kRisk);
    EXPECT_EQ(life.status().attempt, 0);
    EXPECT_EQ(life.condition_reason("Accepted"), "NotEvictable");
  }
}

TEST(Refused, OfAGroupThatLeavesAsAWhole) {
  Life life;
  life.seen.whole_group = "its PodGroup g (scheduling.k8s.io) has disruptionMode All";
  life.tick();
  expect_failed(life, "NotEvictable", life.seen.whole_group);
}

TEST(Refused, WithTheSlotThatTheReadsTook) {
  Life life;
  life.seen.not_allowed = kDenied;
  life.tick();
  expect_failed(life, "NotAllowed", kDenied);
}

TEST(Refused, WhileABudgetBlocks) {
  Life life;
  life.tick();
  ASSERT_EQ(life.action(), "PostEviction");
  life.answer(429, pdb_body());
  ASSERT_EQ(life.phase(), Phase::kRequesting);
  life.seen.pvc_risk = kRisk;
  life.tick();
  expect_failed(life, "NotEvictable", kRisk);
  EXPECT_EQ(life.condition_reason("EvictionGranted"), "NotEvictable");
  EXPECT_EQ(life.status().attempt, 1) << "no other attempt";
}

TEST(Refused, OnlyOnceALostAnswerHasHadItsTime) {
  Life life;
  life.tick();
  ASSERT_EQ(life.action(), "PostEviction");
  life.crash_before_answer(true);
  life.seen.pvc_risk = kRisk;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kRequesting) << "the eviction may be on its way";
  EXPECT_EQ(life.action(), "") << "and is not sent again";
  life.advance(seconds(40));
  life.tick();
  expect_failed(life, "NotEvictable", kRisk);
}

TEST(Refused, NeverOnceThePodIsLeaving) {
  Life life;
  life.tick();
  life.answer(201);
  life.pod_terminates();
  life.seen.pvc_risk = kRisk;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kEvicting);
}

TEST(Refused, AbortsTheHandoffOfTheOwner) {
  Life life(make_evacuation(), make_pod({handoff("mode", "required")}));
  life.tick();
  life.accept_patch();
  life.operator_says("ack", life.status().token + "@1");
  life.tick();
  ASSERT_EQ(life.phase(), Phase::kInProgress);
  life.seen.pvc_risk = kRisk;
  life.tick();
  EXPECT_EQ(life.phase(), Phase::kAborting);
  ASSERT_TRUE(life.last.action);
  EXPECT_EQ(life.last.action->role, evictors::ActionRole::kUndo);
  EXPECT_EQ(life.status().abort->reason, "NotEvictable");
}

}  // namespace evacuation_refused_test
