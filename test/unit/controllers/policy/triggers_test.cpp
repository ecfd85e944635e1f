#include "controllers/policy/triggers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace controllers {
namespace triggers_test {

using api::TriggerKind;
using base::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class TriggersTest : public testing::Test {
 protected:
  static api::ScheduleTrigger of(TriggerKind kind, base::Duration debounce = seconds(30)) {
    return {kind, debounce, {}, {}, 0};
  }
  static api::ScheduleTrigger spike(double above) {
    return {TriggerKind::kUsageSpike, seconds(30), "prom", "cpu", above};
  }
  static api::Node node() {
    api::Node made;
    made.meta.name = "n1";
    made.conditions = {{"Ready", api::ConditionStatus::kTrue, "", "", 0, {}}};
    return made;
  }
  void add_node() {
    const api::Node after = node();
    triggers.on_node(nullptr, &after);
  }
  void change_node(const std::function<void(api::Node&)>& change) {
    const api::Node before = node();
    api::Node after = before;
    change(after);
    triggers.on_node(&before, &after);
  }
  void move_pod(std::optional<api::PodPhase> from, api::PodPhase to) {
    api::Pod before;
    before.phase = from.value_or(to);
    api::Pod after;
    after.phase = to;
    triggers.on_pod(from ? &before : nullptr, &after);
  }

  base::ManualClock clock{*base::parse_time("2026-11-21T12:00:00Z")};
  bool active = true;
  std::vector<std::pair<std::string, base::Duration>> woken;
  Triggers triggers{clock,
                    [this](const std::string& policy, base::Duration after) { woken.emplace_back(policy, after); },
                    [this] { return active; }};
};

TEST_F(TriggersTest, WakeThePolicyOnceForAStorm) {
  triggers.follow("p", {of(TriggerKind::kNodeAdded)});
  for (int i = 0; i < 1000; ++i) add_node();
  EXPECT_THAT(woken, ElementsAre(Pair("p", seconds(30))));
  EXPECT_EQ(triggers.due_in("p"), seconds(30));
  clock.advance(seconds(29));
  add_node();
  EXPECT_EQ(triggers.due_in("p"), seconds(1)) << "after the first event, not the last";
  clock.advance(seconds(5));
  EXPECT_EQ(triggers.due_in("p"), seconds(0));
  EXPECT_EQ(triggers.take("p"), TriggerKind::kNodeAdded);
  EXPECT_EQ(triggers.due_in("p"), std::nullopt);
  EXPECT_EQ(triggers.take("p"), std::nullopt);
  add_node();
  EXPECT_EQ(woken.size(), 2U) << "what comes after the cycle has begun counts anew";
}

TEST_F(TriggersTest, AreDueAgainWhenTheCycleIsGivenUp) {
  triggers.follow("p", {of(TriggerKind::kNodeAdded)});
  add_node();
  clock.advance(seconds(30));
  const auto taken = triggers.take("p");
  ASSERT_EQ(taken, TriggerKind::kNodeAdded);
  add_node();
  triggers.give_back("p", *taken);
  EXPECT_EQ(triggers.due_in("p"), seconds(0)) << "not only with what happened meanwhile";
  triggers.follow("p", {of(TriggerKind::kPodFailed)});
  triggers.take("p");
  triggers.give_back("p", TriggerKind::kNodeAdded);
  EXPECT_EQ(triggers.due_in("p"), std::nullopt) << "nobody wants it any more";
  triggers.give_back("q", TriggerKind::kNodeAdded);
  EXPECT_EQ(triggers.due_in("q"), std::nullopt);
}

TEST_F(TriggersTest, WakeOnlyThePoliciesThatHaveThem) {
  triggers.follow("nodes", {of(TriggerKind::kNodeAdded)});
  triggers.follow("pods", {of(TriggerKind::kPodFailed)});
  move_pod(api::PodPhase::kRunning, api::PodPhase::kFailed);
  EXPECT_THAT(woken, ElementsAre(Pair("pods", seconds(30))));
}

TEST_F(TriggersTest, TheShorterDebounceWins) {
  triggers.follow("p", {of(TriggerKind::kNodeAdded, seconds(60)), of(TriggerKind::kPodFailed, seconds(5))});
  add_node();
  move_pod(std::nullopt, api::PodPhase::kFailed);
  EXPECT_EQ(triggers.due_in("p"), seconds(5));
  EXPECT_EQ(triggers.take("p"), TriggerKind::kPodFailed);
}

TEST_F(TriggersTest, PodsFailOnce) {
  triggers.follow("p", {of(TriggerKind::kPodFailed)});
  move_pod(api::PodPhase::kFailed, api::PodPhase::kFailed);
  move_pod(api::PodPhase::kRunning, api::PodPhase::kSucceeded);
  const api::Pod gone = [] {
    api::Pod pod;
    pod.phase = api::PodPhase::kFailed;
    return pod;
  }();
  triggers.on_pod(&gone, nullptr);
  EXPECT_THAT(woken, IsEmpty());
}

TEST_F(TriggersTest, NodesChangeByFieldsThatAffectPlacement) {
  triggers.follow("p", {of(TriggerKind::kNodeChanged)});
  add_node();
  change_node([](api::Node& n) { n.meta.resource_version = "8"; });
  change_node([](api::Node& n) { n.meta.annotations = api::StringMap{{"a", "b"}}; });
  change_node([](api::Node& n) { n.taints = {{"evacuator.dev/emptying", "p", api::TaintEffect::kPreferNoSchedule}}; });
  EXPECT_THAT(woken, IsEmpty()) << "the last one is our own doing";
  const std::vector<std::function<void(api::Node&)>> changes = {
      [](api::Node& n) { n.unschedulable = true; },
      [](api::Node& n) {
        n.taints = {{"k", "v", api::TaintEffect::kNoExecute}};
      },
      [](api::Node& n) {
        n.taints = {{"evacuator.dev/emptying", "p", api::TaintEffect::kNoExecute}};
      },
      [](api::Node& n) {
        n.meta.labels = api::StringMap{{"zone", "b"}};
      },
      [](api::Node& n) {
        n.allocatable = {{"cpu", *api::Quantity::parse("4")}};
      },
      [](api::Node& n) { n.conditions[0].status = api::ConditionStatus::kFalse; }};
  for (const auto& change : changes) {
    change_node(change);
    EXPECT_EQ(triggers.take("p"), TriggerKind::kNodeChanged);
  }
  EXPECT_EQ(woken.size(), changes.size());
}

TEST_F(TriggersTest, CountNothingWhileNotActive) {
  triggers.follow("p", {of(TriggerKind::kNodeAdded)});
  active = false;
  add_node();
  EXPECT_EQ(triggers.due_in("p"), std::nullopt);
}

TEST_F(TriggersTest, SpikesExceedTheThreshold) {
  triggers.follow("p", {spike(80)});
  triggers.on_usage("p", "prom", "cpu", 80);
  triggers.on_usage("p", "prom", "memory", 99);
  triggers.on_usage("p", "other", "cpu", 99);
  triggers.on_usage("q", "prom", "cpu", 99);
  triggers.on_usage("p", "prom", "cpu", std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(woken, IsEmpty());
  triggers.on_usage("p", "prom", "cpu", 80.1);
  EXPECT_THAT(woken, ElementsAre(Pair("p", seconds(30))));
  EXPECT_EQ(triggers.take("p"), TriggerKind::kUsageSpike);
  triggers.on_usage("p", "prom", "cpu", 95);
  EXPECT_EQ(triggers.due_in("p"), std::nullopt) << "it stays above";
  triggers.on_usage("p", "prom", "cpu", 50);
  triggers.follow("p", {spike(80)});
  triggers.on_usage("p", "prom", "cpu", 90);
  EXPECT_EQ(triggers.due_in("p"), seconds(30));
}

TEST_F(TriggersTest, OfAForgottenPolicyAreGone) {
  triggers.follow("p", {of(TriggerKind::kNodeAdded)});
  add_node();
  triggers.forget("p");
  EXPECT_EQ(triggers.due_in("p"), std::nullopt);
  add_node();
  EXPECT_EQ(woken.size(), 1U);
}

}  // namespace triggers_test
}  // namespace controllers
