#include "controllers/policy/circuit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace circuit_test {

using base::seconds;

const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

enum class End { kReady, kTimeout, kSameNode, kNotExpected, kCancelled, kDryRun };

std::shared_ptr<const api::Evacuation> finished(const std::string& name, int at, End end,
                                                const char* strategy = "LowNodeUtilization") {
  api::Evacuation evacuation;
  evacuation.meta.ns = "shop";
  evacuation.meta.name = name;
  evacuation.meta.uid = name + "-uid";
  evacuation.spec.source.strategy = strategy;
  auto& status = evacuation.status;
  status.phase = end == End::kCancelled ? api::EvacuationPhase::kCancelled : api::EvacuationPhase::kSucceeded;
  status.finished_at = kNoon + seconds(at);
  evacuation.spec.dry_run = end == End::kDryRun;
  if (end == End::kCancelled) return std::make_shared<const api::Evacuation>(evacuation);
  status.outcome = api::EvacuationOutcome{};
  const bool ready = end == End::kReady || end == End::kNotExpected;
  const char* reason = end == End::kReady         ? "Ready"
                       : end == End::kNotExpected ? "NotExpected"
                       : end == End::kSameNode    ? "SameNode"
                                                  : "ReplacementTimeout";
  status.conditions = {
      {"ReplacementReady", ready ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse, reason, "", 1, kNoon}};
  return std::make_shared<const api::Evacuation>(evacuation);
}

struct Case {
  const char* name;
  std::vector<End> ends;  ///< one per second
  int failures;
  bool open;
  const char* strategy = "LowNodeUtilization";
};

class CircuitRow : public testing::TestWithParam<Case> {};
TEST_P(CircuitRow, CountsFailuresInARow) {
  api::DeschedulerPolicy policy;
  policy.spec.circuit_breaker.failures = 3;
  std::vector<std::shared_ptr<const api::Evacuation>> all;
  for (std::size_t i = 0; i < GetParam().ends.size(); ++i) {
    all.push_back(finished("e-" + std::to_string(i), static_cast<int>(i), GetParam().ends[i], GetParam().strategy));
  }
  std::reverse(all.begin(), all.end());  // the order of the list does not matter
  const auto circuit = controllers::next_circuit(policy, all, kNoon + seconds(600));
  EXPECT_EQ(circuit.failures, GetParam().failures);
  EXPECT_EQ(circuit.opened_at.has_value(), GetParam().open);
  const auto condition = controllers::circuit_condition(policy, circuit);
  EXPECT_EQ(condition.status == api::ConditionStatus::kTrue, GetParam().open);
}
INSTANTIATE_TEST_SUITE_P(
    Circuit, CircuitRow,
    testing::Values(
        Case{"NothingYet", {}, 0, false}, Case{"AllReady", {End::kReady, End::kReady}, 0, false},
        Case{"TwoFailures", {End::kTimeout, End::kTimeout}, 2, false},
        Case{"ThreeFailures", {End::kTimeout, End::kTimeout, End::kTimeout}, 3, true},
        Case{"ASuccessBetween", {End::kTimeout, End::kTimeout, End::kReady, End::kTimeout}, 1, false},
        Case{"CancelledSayNothing", {End::kTimeout, End::kTimeout, End::kCancelled, End::kTimeout}, 3, true},
        Case{"DryRunsSayNothing", {End::kTimeout, End::kTimeout, End::kDryRun, End::kTimeout}, 3, true},
        Case{"SameNodeFails", {End::kTimeout, End::kTimeout, End::kSameNode}, 3, true},
        Case{"AlwaysBackOnTheSameNode", {End::kSameNode, End::kSameNode, End::kSameNode}, 3, true},
        Case{"SameNodeIsFineForWhatRenewsPods", {End::kTimeout, End::kSameNode}, 0, false, "PodLifeTime"},
        Case{"SameNodeIsFineAfterTooManyRestarts", {End::kSameNode}, 0, false, "RemovePodsHavingTooManyRestarts"},
        Case{"SameNodeIsFineForPodCriteria", {End::kSameNode}, 0, false, "PodCriteria"},
        Case{"TimeoutsCountForWhatRenewsPods", {End::kTimeout, End::kTimeout}, 2, false, "PodLifeTime"},
        Case{"NotExpectedIsFine", {End::kTimeout, End::kTimeout, End::kNotExpected}, 0, false},
        Case{"LaterSuccessesLeaveItOpen", {End::kTimeout, End::kTimeout, End::kTimeout, End::kReady}, 3, true}),
    [](const auto& test) { return test.param.name; });

class CircuitLife : public testing::Test {
 protected:
  CircuitLife() {
    policy.meta.name = "balance";
    policy.spec.circuit_breaker.failures = 2;
  }
  void tick(int at) { policy.status.circuit = controllers::next_circuit(policy, all, kNoon + seconds(at)); }
  const api::PolicyCircuit& circuit() const { return policy.status.circuit; }

  api::DeschedulerPolicy policy;
  std::vector<std::shared_ptr<const api::Evacuation>> all;
};

TEST_F(CircuitLife, CountsEachOnceAndRemembersThemBeyondTheirTtl) {
  all = {finished("a", 0, End::kTimeout)};
  tick(10);
  tick(20);
  EXPECT_EQ(circuit().failures, 1);
  all = {finished("b", 30, End::kTimeout)};  // "a" is deleted by now
  tick(40);
  EXPECT_EQ(circuit().failures, 2);
  EXPECT_EQ(circuit().opened_at, kNoon + seconds(30));
  EXPECT_EQ(circuit().last_failure, "shop/b");
}

/// The cache may show a verdict after a more recent one was counted and stored.
TEST_F(CircuitLife, CountsAVerdictThatIsSeenLateOnce) {
  policy.spec.circuit_breaker.failures = 3;
  controllers::SeenVerdicts seen;
  const auto look = [&](int at) {
    policy.status.circuit = controllers::next_circuit(policy, all, kNoon + seconds(at), &seen);
  };
  all = {finished("b", 30, End::kTimeout)};
  look(40);
  EXPECT_EQ(circuit().failures, 1);
  all.push_back(finished("a", 20, End::kTimeout));
  look(50);
  EXPECT_EQ(circuit().failures, 2);
  EXPECT_EQ(circuit().counted_until, kNoon + seconds(30)) << "it never goes back";
  look(60);
  EXPECT_EQ(circuit().failures, 2);
  seen = {};  // a new process
  look(70);
  EXPECT_EQ(circuit().failures, 2);
  all.push_back(finished("c", 75, End::kTimeout));
  look(80);
  EXPECT_EQ(circuit().failures, 3);
}

TEST_F(CircuitLife, LeavesTheNewestVerdictForTheNextCheck) {
  all = {finished("a", 0, End::kTimeout)};
  tick(1);
  EXPECT_EQ(circuit().failures, 0);
  tick(2);
  EXPECT_EQ(circuit().failures, 1);
}

TEST_F(CircuitLife, ANewResetValueClosesItAndForgetsTheOldOnes) {
  all = {finished("a", 0, End::kTimeout), finished("b", 1, End::kTimeout)};
  tick(10);
  ASSERT_TRUE(circuit().opened_at);
  const auto condition = controllers::circuit_condition(policy, circuit());
  EXPECT_NE(condition.message.find("kubectl annotate dsp balance evacuator.dev/reset-circuit="), std::string::npos);
  policy.meta.annotations = api::StringMap{{"evacuator.dev/reset-circuit", "1"}};
  tick(20);
  EXPECT_FALSE(circuit().opened_at);
  tick(30);
  EXPECT_FALSE(circuit().opened_at) << "the same value resets once, and what failed before it is forgotten";
  all.push_back(finished("c", 40, End::kTimeout));
  all.push_back(finished("d", 41, End::kTimeout));
  tick(50);
  EXPECT_TRUE(circuit().opened_at) << "it opens again";
}

TEST_F(CircuitLife, ZeroNeverOpensAndClosesAnOpenOne) {
  all = {finished("a", 0, End::kTimeout), finished("b", 1, End::kTimeout)};
  tick(10);
  ASSERT_TRUE(circuit().opened_at);
  policy.spec.circuit_breaker.failures = 0;
  tick(20);
  EXPECT_FALSE(circuit().opened_at);
}

std::shared_ptr<const api::Evacuation> finished_in(const std::string& ns, int at, End end) {
  api::Evacuation evacuation = *finished("e-" + std::to_string(at), at, end);
  evacuation.meta.ns = ns;
  return std::make_shared<const api::Evacuation>(evacuation);
}

class CircuitAttacks : public CircuitLife {
 protected:
  CircuitAttacks() { policy.spec.circuit_breaker.failures = 5; }
  void fail(const std::string& ns) { end(ns, End::kTimeout); }
  void end(const std::string& ns, End how) {
    all.push_back(finished_in(ns, ++at, how));
    if (one_by_one) tick(at + 3);
  }

  int at = 0;
  bool one_by_one = false;
};

TEST_F(CircuitAttacks, FailuresOfOneNamespaceDoNotStopThePolicyForOthers) {
  for (const bool each_tick : {true, false}) {
    all.clear();
    policy.status.circuit = {};
    one_by_one = each_tick;
    end("shop", End::kReady);
    for (int i = 0; i < 20; ++i) fail("attacker");
    tick(at + 3);
    EXPECT_FALSE(circuit().opened_at);
    EXPECT_EQ(circuit().failures, 3) << "at most half of the row";
    for (int i = 0; i < 2; ++i) fail("shop");
    tick(at + 3);
    EXPECT_TRUE(circuit().opened_at) << "what fails in several namespaces is the policy's own";
  }
}

TEST_F(CircuitAttacks, ASuccessBeginsTheSharesAgain) {
  end("shop", End::kReady);
  for (int i = 0; i < 4; ++i) fail("attacker");
  end("shop", End::kReady);
  for (int i = 0; i < 3; ++i) fail("shop");
  for (int i = 0; i < 2; ++i) fail("attacker");
  tick(at + 3);
  EXPECT_TRUE(circuit().opened_at);
}

TEST_F(CircuitAttacks, APolicyOfOneNamespaceCountsEachFailure) {
  for (int i = 0; i < 5; ++i) fail("shop");
  tick(at + 3);
  EXPECT_TRUE(circuit().opened_at);
}

TEST_F(CircuitAttacks, OneFailureIsEnoughWhereOneIsAskedFor) {
  policy.spec.circuit_breaker.failures = 1;
  end("shop", End::kReady);
  fail("attacker");
  tick(at + 3);
  EXPECT_TRUE(circuit().opened_at);
}

}  // namespace circuit_test
