#include <nlohmann/json.hpp>

#include "simulator/behaviour.hpp"
#include "test/integration/rig/rig.hpp"

/// The machine's clock is set (by NTP or an administrator). Delays and backoffs must not depend on it.
namespace clock_step_test {

using base::minutes;
using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;

class ClockStep : public Rig {
 protected:
  void refuse(const char* verb, std::int64_t count = -1) {
    simulator::FaultRule down{simulator::FaultEffect::kUnavailable};
    down.verb = verb;
    down.resource = "evacuations";
    down.count = count;
    server->faults().add(down);
  }
};

TEST_F(ClockStep, OfAnHourBackDoesNotStopAFailedReconcile) {
  stage();
  start_operator();
  refuse("patch");
  const std::string name = evacuate(pods().front());
  run_for(seconds(5));
  ASSERT_EQ(phase(name), Phase::kPending);
  replica->wall.step = -minutes(60);
  server->faults().clear();
  EXPECT_TRUE(run_until([&] { return granted() == 1; }, minutes(2)));
}

TEST_F(ClockStep, OfAnHourBackDoesNotStopACache) {
  stage();
  start_operator();
  simulator::FaultRule cut{simulator::FaultEffect::kCutWatch};
  cut.resource = "evacuations";
  cut.count = 1;
  server->faults().add(cut);
  refuse("watch");
  run_for(seconds(20));
  replica->wall.step = -minutes(60);
  server->faults().clear();
  (void)evacuate(pods().front());
  EXPECT_TRUE(run_until([&] { return granted() == 1; }, minutes(2)));
}

/// Its next attempt is delayed by a backoff that is only in memory.
TEST_F(ClockStep, OfAnHourBackDoesNotHoldAnEvacuationWhoseAnswerWasLost) {
  stage();
  budget("web", "web", 3);
  start_operator();
  bool sent = false;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    if (sent || !request.path.ends_with("/eviction")) return;
    sent = true;
    refuse("patch");
  };
  const std::string name = evacuate(pods().front());
  ASSERT_TRUE(run_until([&] { return sent; }, seconds(30)));
  replica->wall.step = -minutes(60);
  server->faults().clear();
  EXPECT_TRUE(run_until([&] { return !get(name).status.blocked_by.empty(); }, minutes(2))) << reason(name);
}

TEST_F(ClockStep, OfAnHourAheadEndsWhatIsPastItsDeadlineAndKeepsItsPod) {
  stage();
  budget("web", "web", 3);
  start_operator();
  const std::string pod = pods().front();
  const std::string name = evacuate(pod, [](auto& spec) { spec["retry"] = {{"maxAttempts", 1}}; });
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kRequesting; }, seconds(30)));
  replica->wall.step = minutes(60);
  EXPECT_TRUE(run_until([&] { return api::is_terminal(phase(name)); }, minutes(2))) << reason(name);
  EXPECT_EQ(reason(name), "BlockedTimeout");
  EXPECT_TRUE(pod_exists(pod));
}

// --- clock ahead, then corrected: timestamps stored meanwhile are not trusted

/// Sets a decision TTL of hours, which counts from the creation time of the API server.
void be_patient(api::Json& spec) { spec["timeouts"]["decisionTTLSeconds"] = 36'000; }

TEST_F(ClockStep, OfTwoHoursAheadThatIsSetRightDoesNotHoldACancel) {
  stage();
  budget("web", "web", 3);
  start_operator();
  replica->wall.step = minutes(120);
  const std::string name = evacuate(pods().front(), be_patient);
  ASSERT_TRUE(run_until([&] { return !get(name).status.blocked_by.empty(); }, seconds(30))) << reason(name);
  replica->wall.step = {};
  cancel(name);
  EXPECT_TRUE(run_until([&] { return phase(name) == Phase::kCancelled; }, minutes(2))) << reason(name);
}

TEST_F(ClockStep, OfTwoHoursAheadThatIsSetRightDoesNotHoldTheNextAttempt) {
  stage();
  budget("web", "web", 3);
  for (const bool is_restarted : {false, true}) {
    SCOPED_TRACE(is_restarted);
    edit(kube::kPdbs, "web", [](api::Json& pdb) { pdb["spec"]["minAvailable"] = 3; });
    start_operator();
    replica->wall.step = minutes(120);
    const std::string name = evacuate(pods().front(), [](api::Json& spec) {
      be_patient(spec);
      spec["timeouts"]["blockedSeconds"] = 1;
    });
    ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kBackoff; }, minutes(2))) << reason(name);
    edit(kube::kPdbs, "web", [](api::Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
    if (is_restarted) start_operator("replica-2");
    replica->wall.step = {};
    ASSERT_TRUE(run_to_end(name, minutes(10))) << reason(name);
    EXPECT_EQ(phase(name), Phase::kSucceeded) << reason(name);
  }
}

TEST_F(ClockStep, OfThirtyDaysAheadThatIsSetRightKeepsNoFinishedOne) {
  stage(3, {{std::string(simulator::behaviour::kReadySeconds), "60"}});
  start_operator();
  const std::string name = evacuate(pods().front(), [](api::Json& spec) { spec["ttlSecondsAfterFinished"] = 600; });
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kVerifying; }, minutes(2))) << reason(name);
  replica->wall.step = std::chrono::hours(24 * 30);
  ASSERT_TRUE(run_until([&] { return has_ended(name); }, minutes(5))) << reason(name);
  replica->wall.step = {};
  run_for(minutes(9));
  EXPECT_TRUE(find(name));
  EXPECT_TRUE(run_until([&] { return !find(name); }, minutes(5)));
}

TEST_F(ClockStep, OfThirtyDaysAheadThatIsSetRightExcludesNothingForLong) {
  stage(3, {{std::string(simulator::behaviour::kReadySeconds), "60"}});
  add({{"apiVersion", "evacuator.dev/v1alpha1"},
       {"kind", "DeschedulerPolicy"},
       {"metadata", {{"name", "calm"}}},
       {"spec",
        {{"mode", "Automatic"},
         {"limits", {{"cooldown", {{"workload", "10m"}}}}},
         {"strategies",
          api::Json::array({{{"name", "PodLifeTime"}, {"args", {{"maxPodLifeTimeSeconds", 31'536'000}}}}})}}}});
  const auto of_calm = [](api::Json& spec) {
    be_patient(spec);
    spec["source"] = {{"policy", "calm"}};
  };
  start_operator();
  const std::string name = evacuate_as_operator(pods().front(), of_calm);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kVerifying; }, minutes(2))) << reason(name);
  replica->wall.step = std::chrono::hours(24 * 30);
  ASSERT_TRUE(run_until([&] { return has_ended(name); }, minutes(5))) << reason(name);
  run_for(minutes(2));
  replica->wall.step = {};
  run_for(minutes(1));
  const std::string next = evacuate_as_operator(pods().front(), of_calm);
  run_for(minutes(3));
  EXPECT_EQ(phase(next), Phase::kPending) << "it is excluded (cooling down) for ten minutes";
  ASSERT_TRUE(run_to_end(next, minutes(15))) << get(next).status.message;
  EXPECT_EQ(phase(next), Phase::kSucceeded) << reason(next);
}

}  // namespace clock_step_test
