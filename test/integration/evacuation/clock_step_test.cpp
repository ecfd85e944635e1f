#include <nlohmann/json.hpp>

#include "test/integration/rig/rig.hpp"

/// Somebody sets the machine's clock (NTP, an administrator): delays and back-offs do not go by it.
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

/// Its next try is put off by a delay that is in memory only.
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

}  // namespace clock_step_test
