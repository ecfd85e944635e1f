#include <fmt/format.h>

#include <algorithm>

#include "api/meta/well_known.hpp"
#include "simulator/behaviour.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// A user who may create Evacuations in one namespace must not delay other namespaces (docs/concepts/limits.md).
namespace slots_test {

using namespace integration;
using api::Json;
using base::minutes;
using base::seconds;
using Phase = api::EvacuationPhase;

constexpr const char* kMode = "handoff.evacuator.dev/mode";
constexpr const char* kRequest = "handoff.evacuator.dev/request";

class Slots : public Rig {
 protected:
  /// Deployment shop/web belongs to the attacker, shop/victim to another user.
  void begin(std::int64_t total, std::vector<std::pair<std::string, std::string>> annotations = {}) {
    limits = {api::IntOrPercent{total, false}, api::IntOrPercent{5, false}, {}, api::IntOrPercent{5, false}};
    stage(3, std::move(annotations));
    add(simulator::objects::deployment("shop", "victim", 1, "100m", "64Mi"));
    ASSERT_TRUE(run_until([&] { return pods("victim").size() == 1; }, minutes(2)));
    run_for(seconds(30));
    start_operator();
  }
  /// Creates an Evacuation with maximum timeouts and a priority above all others.
  std::string attack(const std::string& pod) {
    return evacuate(pod, [](Json& spec) {
      spec["priority"] = 1000;
      for (const char* each : {"blocked", "acknowledge", "heartbeat", "total", "prepare", "abort", "decisionTTL"})
        spec["timeouts"][std::string(each) + "Seconds"] = 604'800;
    });
  }
  std::string move_victim() {
    return evacuate(pods("victim").front(), [](Json& spec) { spec["timeouts"]["decisionTTLSeconds"] = 36'000; });
  }
  /// Creates a pod that takes a week to terminate.
  std::string week_long_pod() {
    Json slow = simulator::objects::deployment("shop", "slow", 1, "100m", "64Mi");
    simulator::objects::annotate_pods(slow, simulator::behaviour::kStopSeconds, "604800");
    simulator::objects::template_of(slow)["spec"]["terminationGracePeriodSeconds"] = 604'800;
    add(slow);
    EXPECT_TRUE(run_until([&] { return pods("slow").size() == 1; }, minutes(2)));
    run_for(seconds(30));
    return pods("slow").front();
  }
};

/// A plain eviction of a policy has no finalizer. Deleting the Evacuation must not let more pods leave than the limit
/// allows.
TEST_F(Slots, OfADeletedEvacuationIsTakenUntilItsPodHasLeft) {
  begin(1, {{std::string(simulator::behaviour::kStopSeconds), "60"}});
  const std::string name = evacuate_as_operator(pods().front());
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kEvicting; }, seconds(30))) << reason(name);
  delete_evacuation(name);
  ASSERT_FALSE(find(name)) << "there is nothing to undo";
  const std::string victim = move_victim();
  run_for(seconds(20));  // shorter than the grace period of 30 s
  EXPECT_EQ(phase(victim), Phase::kPending);
  EXPECT_EQ(granted(), 1U);
  ASSERT_TRUE(run_to_end(victim));
  EXPECT_EQ(granted(), 2U);
}

/// Happens with `kubectl delete --cascade=orphan`, or before the garbage collector runs.
TEST_F(Slots, AWaitingEvacuationOfADeletedPolicyGetsNoSlot) {
  begin(5);
  add({{"apiVersion", "evacuator.dev/v1alpha1"},
       {"kind", "DeschedulerPolicy"},
       {"metadata", {{"name", "calm"}}},
       {"spec", {{"suspend", true}, {"strategies", Json::array({{{"name", "PodLifeTime"}}})}}}});
  const std::string name = evacuate_as_operator(pods().front(), [](Json& spec) {
    spec["source"] = {{"policy", "calm"}};
  });
  run_for(seconds(30));
  ASSERT_EQ(phase(name), Phase::kPending) << reason(name);
  const auto answer = server->handle(kube::delete_request(kube::kPolicies, {"", "calm"}, ""), {"admin", {}, "kubectl"});
  ASSERT_EQ(answer.status, 200) << answer.body;
  for (const char* leader : {"replica-1", "replica-2"}) {
    SCOPED_TRACE(leader);
    if (leader == std::string("replica-2")) start_operator(leader);
    run_for(seconds(90));
    EXPECT_EQ(phase(name), Phase::kPending) << reason(name);
    EXPECT_EQ(granted(), 0U);
  }
  ASSERT_TRUE(run_to_end(name));
  EXPECT_EQ(reason(name), "DecisionExpired");
}

TEST_F(Slots, AttackWithTheHighestPriorityIsRefusedByName) {
  begin(5);
  const std::string name = evacuate(pods().front(), [](Json& spec) { spec["priority"] = 1'000'000'000; });
  ASSERT_TRUE(run_to_end(name, minutes(1)));
  EXPECT_EQ(phase(name), Phase::kFailed);
  EXPECT_EQ(reason(name), "NotAllowed");
  EXPECT_NE(get(name).status.message.find("limits.manual.priority"), std::string::npos) << get(name).status.message;
}

TEST_F(Slots, AttackWithABudgetThatNeverAllowsHoldsASlotForTenMinutesOnly) {
  begin(3);
  budget("web", "web", 3);
  const std::string first = attack(pods().at(0));
  const std::string second = attack(pods().at(1));
  ASSERT_TRUE(run_until([&] { return phase(first) == Phase::kRequesting && phase(second) == Phase::kRequesting; },
                        seconds(30)));
  run_for(minutes(9));
  EXPECT_EQ(phase(first), Phase::kRequesting) << "nobody waits: nothing is gained by giving it back";
  const std::string victim = move_victim();
  ASSERT_TRUE(run_to_end(victim, minutes(5)));
  EXPECT_EQ(reason(victim), "Evicted");
  EXPECT_TRUE(has_event("SlotReturned"));
  const api::Evacuation returned =
      get(get(first).status.attempt > 1 || phase(first) == Phase::kBackoff ? first : second);
  EXPECT_FALSE(api::is_terminal(returned.status.phase)) << "it queues again";
}

TEST_F(Slots, AttackWithAnUnansweredRequiredHandoffHoldsASlotForTwentyMinutesOnly) {
  begin(1, {{kMode, "required"}});
  const std::string pod = pods().front();
  const std::string silent = attack(pod);
  ASSERT_TRUE(run_until([&] { return !annotation(pod, kRequest).empty(); }, seconds(30)));
  const std::string victim = move_victim();
  run_for(minutes(9));
  EXPECT_EQ(phase(silent), Phase::kInProgress);
  ASSERT_TRUE(run_until([&] { return phase(silent) == Phase::kAborting; }, minutes(2)));
  EXPECT_EQ(phase(victim), Phase::kPending) << "the slot is free when nothing is asked any more";
  ASSERT_TRUE(run_to_end(victim, minutes(15)));
  EXPECT_EQ(reason(victim), "Evicted");
  run_for(minutes(1));
  EXPECT_EQ(annotation(pod, kRequest), "") << "no handoff that was asked is left standing";
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Slots, AttackWithAGracePeriodOfAWeekHoldsASlotForAnHourOnly) {
  begin(1);
  const std::string pod = week_long_pod();
  const std::string slow = attack(pod);
  ASSERT_TRUE(run_until([&] { return phase(slow) == Phase::kEvicting; }, seconds(30))) << reason(slow);
  const std::string victim = move_victim();
  run_for(minutes(55));
  EXPECT_EQ(phase(victim), Phase::kPending) << "an hour of the grace period counts as progress";
  ASSERT_TRUE(run_to_end(victim, minutes(20)));
  EXPECT_EQ(reason(victim), "Evicted");
  EXPECT_EQ(phase(slow), Phase::kEvicting) << "it continues without a slot";
  EXPECT_EQ(condition(slow, "SlotAcquired"), "NoProgress");
  EXPECT_TRUE(has_event("SlotReturned"));
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(Slots, AttackWithAGracePeriodOfAWeekAndADeletedEvacuationHoldsASlotForAnHourOnly) {
  begin(1);
  const std::string slow = evacuate_as_operator(week_long_pod());  // manual ones have a finalizer
  ASSERT_TRUE(run_until([&] { return phase(slow) == Phase::kEvicting; }, seconds(30))) << reason(slow);
  delete_evacuation(slow);
  ASSERT_FALSE(find(slow));
  const std::string victim = move_victim();
  run_for(minutes(55));
  EXPECT_EQ(phase(victim), Phase::kPending);
  ASSERT_TRUE(run_to_end(victim, minutes(20)));
  EXPECT_EQ(reason(victim), "Evicted");
}

TEST_F(Slots, OfAPodWithinAnOrdinaryGracePeriodAreTaken) {
  begin(1, {{std::string(simulator::behaviour::kStopSeconds), "25"}});
  const std::string first = evacuate(pods().front());
  ASSERT_TRUE(run_until([&] { return phase(first) == Phase::kEvicting; }, seconds(30))) << reason(first);
  const std::string victim = move_victim();
  run_for(seconds(15));
  EXPECT_EQ(phase(victim), Phase::kPending);
  ASSERT_TRUE(run_to_end(victim));
  EXPECT_FALSE(has_event("SlotReturned"));
}

TEST_F(Slots, AttackWithAnEvictionInTheBackgroundHoldsASlotForTenMinutesOnly) {
  begin(1, {{"descheduler.alpha.kubernetes.io/request-evict-only", ""},
            {"descheduler.alpha.kubernetes.io/eviction-in-progress", ""},
            {std::string(simulator::behaviour::kBackground), "silent"}});
  const std::string pod = pods().front();
  const std::string slow = attack(pod);
  ASSERT_TRUE(run_until([&] { return phase(slow) == Phase::kInProgress; }, seconds(30))) << reason(slow);
  const std::string victim = move_victim();
  run_for(minutes(9));
  EXPECT_EQ(phase(victim), Phase::kPending);
  ASSERT_TRUE(run_to_end(victim, minutes(10)));
  EXPECT_EQ(reason(victim), "Evicted");
  EXPECT_EQ(phase(slow), Phase::kInProgress) << "its owner is not interrupted";
  EXPECT_EQ(condition(slow, "SlotAcquired"), "NoProgress");
  start_operator("replica-2");
  run_for(minutes(1));
  EXPECT_EQ(phase(slow), Phase::kInProgress) << "nor by the next leader";
}

/// Owners that send heartbeats for more than an hour and become ready at the same time.
TEST_F(Slots, AttackOfHandoffsThatAreReadyTogetherEvictsNoMoreAtOnceThanTheLimit) {
  begin(2, {{kMode, "required"}, {std::string(simulator::behaviour::kStopSeconds), "20"}});
  std::map<std::string, std::string> of_pod;
  const auto each_asked = [&](const std::string& key, const std::string& suffix) {
    for (const auto& [pod, name] : of_pod) {
      const std::string token = pod_exists(pod) ? annotation(pod, kRequest) : std::string();
      if (!token.empty()) annotate(pod, "handoff.evacuator.dev/" + key, token + suffix);
    }
  };
  for (const std::string& pod : pods()) of_pod[pod] = attack(pod);
  run_for(seconds(30));
  int beats = 0;
  const auto work_without_slots = [&] {
    return std::ranges::all_of(of_pod, [&](const auto& each) {
      return condition(each.second, "SlotAcquired") == "NoProgress" || phase(each.second) != Phase::kInProgress;
    });
  };
  for (int i = 0; i < 60 && !(i > 40 && work_without_slots()); ++i) {
    const char* const mark = beats++ == 0 ? "ack" : "heartbeat";
    each_asked(mark, fmt::format("@{}", beats));
    each_asked("ack", "@1");
    run_for(minutes(5));
  }
  const auto asked =
      std::ranges::count_if(of_pod, [&](const auto& each) { return !annotation(each.first, kRequest).empty(); });
  ASSERT_GE(asked, 2) << "several owners are at work";
  each_asked("ready-to-evict", "");
  for (int i = 0; i < 30; ++i) {
    run_for(seconds(5));
    const auto leaving =
        std::ranges::count_if(of_pod, [&](const auto& each) { return phase(each.second) == Phase::kEvicting; });
    ASSERT_LE(leaving, 1) << "at most one manual Evacuation of a total of 2";
  }
  EXPECT_GE(granted(), 2U) << "one after the other";
}

/// The owner works for more than an hour and becomes ready when another Evacuation begins to wait.
TEST_F(Slots, AHandoffThatIsReadyWhenOthersBeginToWaitGivesItsSlotBackAtItsEnd) {
  begin(1, {{kMode, "required"}, {std::string(simulator::behaviour::kStopSeconds), "20"}});
  const std::string pod = pods().front();
  const std::string slow = attack(pod);
  ASSERT_TRUE(run_until([&] { return !annotation(pod, kRequest).empty(); }, seconds(30)));
  const std::string token = annotation(pod, kRequest);
  annotate(pod, "handoff.evacuator.dev/ack", token + "@1");
  for (int i = 1; i < 15; ++i) {
    annotate(pod, "handoff.evacuator.dev/heartbeat", fmt::format("{}@{}", token, i));
    run_for(minutes(5));
  }
  ASSERT_EQ(condition(slow, "SlotAcquired"), "Acquired");
  const std::string victim = move_victim();
  annotate(pod, "handoff.evacuator.dev/ready-to-evict", token);
  ASSERT_TRUE(run_to_end(slow, minutes(10))) << reason(slow);
  EXPECT_FALSE(has_event("SlotReturned")) << "a pod that may leave is progress";
  ASSERT_TRUE(run_to_end(victim, minutes(5)));
  EXPECT_EQ(reason(victim), "Evicted");
}

TEST_F(Slots, OfTheTotalOneInFiveIsKeptForPolicies) {
  begin(5);
  limits.per_node = {};
  stop_operator();
  start_operator();
  add(simulator::objects::deployment("shop", "many", 6, "100m", "64Mi"));
  ASSERT_TRUE(run_until([&] { return pods("many").size() == 6; }, minutes(2)));
  run_for(seconds(30));
  budget("many", "many", 6);
  const auto names = pods("many");
  std::vector<std::string> made;
  for (int i = 0; i < 5; ++i) made.push_back(attack(names[i]));
  run_for(minutes(1));
  const auto holding = std::ranges::count_if(made, [&](const auto& each) { return phase(each) == Phase::kRequesting; });
  EXPECT_EQ(holding, 4);
  const std::string of_policy = evacuate_as_operator(names[5]);
  ASSERT_TRUE(run_until([&] { return phase(of_policy) == Phase::kRequesting; }, seconds(30))) << reason(of_policy);
  const auto waits = std::ranges::find_if(made, [&](const auto& each) { return phase(each) == Phase::kPending; });
  ASSERT_NE(waits, made.end());
  const auto blocked = get(*waits).status.blocked_by;
  ASSERT_EQ(blocked.size(), 1U);
  EXPECT_NE(blocked[0].message.find("at most 4 in flight of manual Evacuations"), std::string::npos)
      << blocked[0].message;
}

TEST_F(Slots, AttackOfSuspendedEvacuationsEndsByItself) {
  begin(5);
  const std::string forgotten = evacuate(pods().front(), [](Json& spec) {
    spec["suspend"] = true;
    spec["ttlSecondsAfterFinished"] = 31'536'000;
  });
  settle();
  EXPECT_EQ(condition(forgotten, "SlotAcquired"), "Paused");
  cluster->advance(std::chrono::hours(168));
  run_for(minutes(1));
  ASSERT_TRUE(has_ended(forgotten));
  EXPECT_EQ(reason(forgotten), "DecisionExpired");
  cluster->advance(std::chrono::hours(168));
  run_for(minutes(1));
  EXPECT_FALSE(find(forgotten)) << "nor does it stay for a year";
}

TEST_F(Slots, AttackWithAForeignPodsUidDelaysNoOther) {
  begin(5);
  const std::string pod = pods("victim").front();
  add(simulator::objects::name_space("attacker"));
  const Json foreign = {{"apiVersion", "evacuator.dev/v1alpha1"},
                        {"kind", "Evacuation"},
                        {"metadata", {{"name", "mine"}, {"namespace", "attacker"}}},
                        {"spec", {{"podRef", {{"name", pod}, {"uid", pod_uid(pod)}}}, {"suspend", true}}}};
  ASSERT_EQ(
      server->handle(kube::create_request(kube::kEvacuations, "attacker", foreign), {"mallory", {}, "kubectl"}).status,
      201);
  settle();
  const std::string victim = move_victim();
  ASSERT_TRUE(run_to_end(victim, minutes(5)));
  EXPECT_EQ(reason(victim), "Evicted");
}

}  // namespace slots_test
