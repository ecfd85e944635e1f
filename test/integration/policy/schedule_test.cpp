#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "api/meta/condition.hpp"
#include "simulator/objects.hpp"
#include "test/integration/rig/rig.hpp"

/// When cycles start, and what a blackout stops.
namespace schedule_test {

using api::Json;
using base::minutes;
using testing::HasSubstr;

class Schedules : public integration::Rig {
 protected:
  /// All pods of shop are old enough to be moved. The time is Saturday, shortly after 12:20.
  void begin(const Json& schedule, const Json& policy_limits = Json::object()) {
    prepare();
    add_policy(schedule, policy_limits);
  }
  void prepare() {
    stage();
    start_operator();
    run_for(minutes(20));
  }
  void add_policy(const Json& schedule, const Json& policy_limits = Json::object()) {
    add({{"apiVersion", "evacuator.dev/v1alpha1"},
         {"kind", "DeschedulerPolicy"},
         {"metadata", {{"name", "timed"}}},
         {"spec",
          {{"mode", "Automatic"},
           {"schedule", schedule},
           {"limits", policy_limits},
           {"strategies", Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 900}}}}})}}}});
  }
  api::DeschedulerPolicyStatus status() const { return policy_status("timed"); }
  api::Condition told(std::string_view type) const { return policy_condition("timed", type); }
};

TEST_F(Schedules, StartNoCycleOutsideOfAWindow) {
  begin({{"interval", "1m"}, {"windows", Json::array({{{"start", "14:00"}, {"end", "14:30"}}})}});
  run_for(minutes(90));
  EXPECT_FALSE(status().last_cycle);
  EXPECT_EQ(evacuation_count(), 0U);
  EXPECT_EQ(told("Suspended").reason, "OutsideWindow");
  EXPECT_THAT(told("Suspended").message, HasSubstr("before 2026-11-21T14:00:00Z"));
  EXPECT_EQ(status().next_cycle_time, *base::parse_time("2026-11-21T14:00:00Z"));

  run_for(minutes(11));
  EXPECT_GT(evacuation_count(), 0U);
  EXPECT_EQ(told("Suspended").reason, "Active");
  run_for(minutes(30));
  EXPECT_EQ(told("Suspended").reason, "OutsideWindow");
  EXPECT_LT(status().last_cycle->start, *base::parse_time("2026-11-21T14:30:00Z"));
  EXPECT_EQ(status().next_cycle_time, *base::parse_time("2026-11-22T14:00:00Z"));
}

TEST_F(Schedules, ByCronRunAtItsTimesOnly) {
  begin({{"cron", "0 * * * *"}, {"timeZone", "Asia/Kolkata"}});  // minute 30 of each hour in UTC
  run_for(minutes(7));
  EXPECT_FALSE(status().last_cycle);
  EXPECT_EQ(status().next_cycle_time, *base::parse_time("2026-11-21T12:30:00Z"));
  run_for(minutes(4));
  ASSERT_TRUE(status().last_cycle);
  EXPECT_EQ(status().last_cycle->start, *base::parse_time("2026-11-21T12:30:00Z"));
  EXPECT_EQ(status().next_cycle_time, *base::parse_time("2026-11-21T13:30:00Z"));
  run_for(minutes(60));
  EXPECT_EQ(status().last_cycle->start, *base::parse_time("2026-11-21T13:30:00Z"));
}

TEST_F(Schedules, InABlackoutAdmitNothingThatWaits) {
  prepare();
  const std::string from = base::format_time(clock.now() + base::seconds(90));
  const std::string until = base::format_time(clock.now() + minutes(8));
  add_policy({{"interval", "1h"}, {"blackouts", Json::array({{{"from", from}, {"until", until}}})}},
             {{"rate", {{"perMinute", 1}, {"burst", 1}}}});
  run_for(minutes(2));
  ASSERT_EQ(evacuation_count(), 3U);
  const std::size_t before = granted();
  ASSERT_GT(before, 0U);
  ASSERT_LT(before, 3U);
  run_for(minutes(5));
  EXPECT_EQ(granted(), before);
  EXPECT_EQ(told("Suspended").reason, "Blackout");
  EXPECT_THAT(told("Suspended").message, HasSubstr("before " + until));
  run_for(minutes(3));
  EXPECT_EQ(told("Suspended").reason, "Active");
  EXPECT_GT(granted(), before);
}

class ScheduleTriggers : public Schedules {
 protected:
  void add_node(const std::string& name) { add(simulator::objects::node(name, "8", "16Gi")); }
  base::TimePoint last_start() const {
    const auto now = status();
    return now.last_cycle ? now.last_cycle->start : base::TimePoint();
  }
};

TEST_F(ScheduleTriggers, RunOneCycleForManyNodes) {
  begin({{"interval", "2h"}, {"triggers", Json::array({{{"type", "NodeAdded"}, {"debounce", "30s"}}})}});
  run_for(minutes(2));
  const auto first = last_start();
  const auto added = clock.now();
  for (int i = 0; i < 5; ++i) {
    add_node("new-" + std::to_string(i));
    run_for(base::seconds(5));
  }
  EXPECT_EQ(last_start(), first);
  run_for(base::seconds(10));
  const auto second = last_start();
  EXPECT_GE(second, added + base::seconds(30));
  EXPECT_LT(second, added + base::seconds(32));
  run_for(minutes(10));
  EXPECT_EQ(last_start(), second) << "the nodes that came after the first are in it";
  EXPECT_EQ(status().next_cycle_time, std::chrono::ceil<base::seconds>(second + std::chrono::hours(2)));
}

TEST_F(ScheduleTriggers, WaitForNoWindow) {
  begin({{"interval", "2h"},
         {"windows", Json::array({{{"start", "14:00"}, {"end", "15:00"}}})},
         {"triggers", Json::array({{{"type", "NodeAdded"}, {"debounce", "30s"}},
                                   {{"type", "NodeChanged"}, {"debounce", "30s"}}})}});
  add_node("new");
  run_for(minutes(5));
  EXPECT_FALSE(status().last_cycle);
  run_for(minutes(100));
  EXPECT_EQ(last_start(), *base::parse_time("2026-11-21T14:00:00Z"));
  edit(
      kube::kNodes, "node-a", [](Json& node) { node["spec"]["unschedulable"] = true; }, "");
  run_for(minutes(5));
  EXPECT_GT(last_start(), *base::parse_time("2026-11-21T14:05:00Z")) << "inside of one they run";
}

TEST_F(ScheduleTriggers, OfFailedPods) {
  begin({{"interval", "2h"}, {"triggers", Json::array({{{"type", "PodFailed"}, {"debounce", "1s"}}})}});
  run_for(minutes(2));
  const auto first = last_start();
  edit(kube::kPods, pods().front(), [](Json& pod) { pod["status"]["phase"] = "Failed"; });
  run_for(base::seconds(5));
  EXPECT_GT(last_start(), first);
}

TEST_F(Schedules, ThatCannotBeReadAreNamed) {
  begin({{"interval", "1m"}, {"timeZone", "Europe/Belrin"}});
  run_for(minutes(2));
  EXPECT_EQ(told("Ready").reason, "InvalidSpec");
  EXPECT_THAT(told("Ready").message, HasSubstr("spec.schedule.timeZone: \"Europe/Belrin\" is not a time zone"));
  EXPECT_EQ(evacuation_count(), 0U);
}

}  // namespace schedule_test
