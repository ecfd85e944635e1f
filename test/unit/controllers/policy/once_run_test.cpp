#include "controllers/policy/once_run.hpp"

#include <gmock/gmock.h>

namespace once_run_test {

using api::EvacuationPhase;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const controllers::ObservedPolicy> policy(const std::string& name) {
  auto made = std::make_shared<controllers::ObservedPolicy>();
  made->meta.name = name;
  made->meta.uid = "uid-" + name;
  return made;
}

api::Evacuation evacuation(const std::string& name, EvacuationPhase phase, bool suspended = false) {
  api::Evacuation made;
  made.meta.ns = "shop";
  made.meta.name = name;
  made.spec.suspend = suspended;
  made.status.phase = phase;
  made.status.reason = "Because";
  return made;
}

struct OnceRunTest : testing::Test {
  void see(const api::Evacuation& now) { run.on_evacuation(nullptr, &now); }
  controllers::OnceReport report() { return run.report({policy("b"), policy("a")}); }
  controllers::OnceRun run;
};

TEST_F(OnceRunTest, WaitsForEveryPolicyAndItsEvacuations) {
  EXPECT_THAT(report().waiting_policies, ElementsAre("a", "b"));
  controllers::CycleOutcome outcome;
  outcome.summary.nominated = 2;
  outcome.summary.pods = 9;
  outcome.summary.created = 1;
  run.on_cycle(policy("a")->meta, outcome, "");
  run.on_no_cycle(policy("b")->meta, "no cycle: spec.suspend is true", false);
  run.on_created({"shop", "one"});
  EXPECT_TRUE(report().waiting_policies.empty());
  EXPECT_FALSE(report().is_done()) << "no cache shows it yet";
  see(evacuation("one", EvacuationPhase::kEvicting));
  EXPECT_FALSE(report().is_done());
  EXPECT_THAT(report().unfinished, ElementsAre(HasSubstr("shop/one: Evicting/Because")));
  see(evacuation("one", EvacuationPhase::kSucceeded));
  EXPECT_TRUE(report().is_done() && report().is_success());
  EXPECT_EQ(to_text(report()),
            "policy a: 2 of 9 pods nominated, 1 Evacuations created\npolicy b: no cycle: spec.suspend is "
            "true\nEvacuations: 1 succeeded, 0 failed, 0 cancelled, 0 unfinished\n");
}

TEST_F(OnceRunTest, ACacheMayBeFasterThanTheAnswer) {
  see(evacuation("one", EvacuationPhase::kPending));
  run.on_created({"shop", "one"});
  EXPECT_EQ(report().unfinished_count, 0) << "made by hand, as far as is known, and seen";
}

TEST_F(OnceRunTest, AnExpiredEvacuationIsNotCountedAsCancelled) {
  for (const char* reason : {"UserCancelled", "DecisionExpired"}) {
    api::Evacuation each = evacuation(reason, EvacuationPhase::kCancelled);
    each.status.reason = reason;
    run.on_created(each.meta.key());
    see(each);
  }
  EXPECT_EQ(report().cancelled_count, 1);
  EXPECT_EQ(report().failed_count, 1);
}

TEST_F(OnceRunTest, ADeletedEvacuationCountsAsCancelled) {
  const api::Evacuation one = evacuation("one", EvacuationPhase::kRequesting);
  run.on_created(one.meta.key());
  see(one);
  run.on_evacuation(&one, nullptr);
  EXPECT_EQ(report().unfinished_count, 0);
  EXPECT_EQ(report().cancelled_count, 1);
}

TEST_F(OnceRunTest, DoesNotWaitForAPerson) {
  run.on_created({"shop", "one"});
  see(evacuation("one", EvacuationPhase::kPending, true));
  EXPECT_EQ(report().unfinished_count, 0);
  EXPECT_EQ(report().suspended_count, 1);
  see(evacuation("one", EvacuationPhase::kPending));
  EXPECT_EQ(report().unfinished_count, 1) << "released meanwhile";
}

TEST_F(OnceRunTest, FailuresAreNamedAndBounded) {
  for (int i = 0; i < 100; ++i) {
    api::Evacuation each = evacuation("e" + std::to_string(i), EvacuationPhase::kFailed);
    each.status.message = "two\nlines " + std::string(9999, 'x');
    run.on_created(each.meta.key());
    see(each);
    see(each);  // reported twice
  }
  EXPECT_EQ(report().failed_count, 100);
  EXPECT_EQ(report().failed.size(), 20U);
  EXPECT_THAT(report().failed.front(), HasSubstr("shop/e0: Failed/Because: two lines xxx"));
  EXPECT_LT(report().failed.front().size(), 400U);
  EXPECT_FALSE(report().is_success());
}

TEST_F(OnceRunTest, ProblemsOfACycleAreFaults) {
  controllers::CycleOutcome outcome;
  outcome.problems = {"creating Evacuation shop/one: refused", "another"};
  run.on_cycle(policy("a")->meta, outcome, "a gate holds: no Evacuations are created");
  run.on_no_cycle(policy("a")->meta, "later", false);
  const auto cycles = report().cycles;
  ASSERT_EQ(cycles.size(), 1U);
  EXPECT_TRUE(cycles[0].has_run && cycles[0].is_fault);
  EXPECT_THAT(cycles[0].text,
              HasSubstr("a gate holds: no Evacuations are created; creating Evacuation shop/one: refused (and 1 more"));
}

}  // namespace once_run_test
