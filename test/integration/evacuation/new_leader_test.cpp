#include <nlohmann/json.hpp>

#include "test/integration/rig/rig.hpp"

/// A standby learns its predecessor's admissions through a watch. A half-open watch looks like one without events.
namespace new_leader_test {

using base::seconds;
using integration::Rig;
using Phase = api::EvacuationPhase;

class NewLeader : public Rig {
 protected:
  NewLeader() { limits = {api::IntOrPercent{3, false}, {}, {}, {}}; }

  int in_flight() const {
    int count = 0;
    for (const auto& object : cluster->store().list(kube::kEvacuations, "shop")) {
      const auto evacuation = api::decode_evacuation(*object);
      if (evacuation && evacuation->status.attempt > 0 && !api::is_terminal(evacuation->status.phase)) ++count;
    }
    return count;
  }
};

/// I7: two slots. The leader grants them to C and D. The standby, whose watch broke before that, would grant them to A
/// and B.
TEST_F(NewLeader, GrantsNoSlotAgainThatItsHalfOpenWatchDidNotShow) {
  stage(4);
  budget("web", "web", 4);  // blocks every eviction, so that slots stay occupied
  start_operator("replica-1");
  const auto names = pods();
  replica->may_act = false;
  const std::string c = evacuate(names[2]);
  const std::string d = evacuate(names[3]);
  settle();
  replica->informers_frozen = true;  // only the leader receives the next two
  const std::string a = evacuate(names[0]);
  const std::string b = evacuate(names[1]);

  auto standby = std::make_unique<integration::Operator>(*server, clock, "replica-2", limits);
  standby->follow();
  simulator::FaultRule half_open{simulator::FaultEffect::kStallWatch};
  half_open.verb = "watch";
  half_open.resource = "evacuations";
  half_open.count = 1;
  server->faults().add(half_open);
  standby->follow();

  replica->may_act = true;
  run_for(seconds(20));
  ASSERT_EQ(phase(c), Phase::kRequesting);
  ASSERT_EQ(phase(d), Phase::kRequesting);
  ASSERT_EQ(in_flight(), 2);

  replica = std::move(standby);
  watcher = [this] { EXPECT_LE(in_flight(), 2); };
  run_for(seconds(80));
  EXPECT_EQ(phase(a), Phase::kPending);
  EXPECT_EQ(phase(b), Phase::kPending);
  EXPECT_EQ(in_flight(), 2);
}

TEST_F(NewLeader, ReconcilesNothingBeforeItsListHasCome) {
  stage();
  const std::string name = evacuate(pods().front());
  auto standby = std::make_unique<integration::Operator>(*server, clock, "replica-2", limits);
  standby->follow();
  simulator::FaultRule down{simulator::FaultEffect::kUnavailable};
  down.verb = "list";
  down.resource = "evacuations";
  server->faults().add(down);
  replica = std::move(standby);
  run_for(seconds(60));
  EXPECT_EQ(phase(name), Phase::kPending);
  EXPECT_EQ(in_flight(), 0);
  server->faults().clear();
  EXPECT_TRUE(run_to_end(name));
}

/// `kubectl scale --replicas=0` and back, an hour later (docs/upgrade.md).
TEST_F(NewLeader, EndsEvacuationsThatExpiredDuringDowntimeAndContinuesOthers) {
  stage(4);
  budget("web", "web", 4);
  start_operator("replica-1");
  const auto names = pods();
  const auto bearing = [](int blocked_seconds) {
    return [=](api::Json& spec) {
      spec["timeouts"] = {{"blockedSeconds", blocked_seconds}};
      spec["retry"] = {{"maxAttempts", 1}};
    };
  };
  const std::string expiring = evacuate(names[0], bearing(600));
  const std::string patient = evacuate(names[1], bearing(36'000));
  const auto both_are = [&](Phase wanted) { return phase(expiring) == wanted && phase(patient) == wanted; };
  ASSERT_TRUE(run_until([&] { return both_are(Phase::kRequesting); }, seconds(60)));
  stop_operator();
  run_for(std::chrono::hours(1));
  EXPECT_TRUE(both_are(Phase::kRequesting));
  start_operator("replica-2");
  ASSERT_TRUE(run_to_end(expiring, seconds(120)));
  EXPECT_EQ(phase(expiring), Phase::kFailed);
  EXPECT_EQ(reason(expiring), "BlockedTimeout") << get(expiring).status.message;
  EXPECT_TRUE(pod_exists(names[0]));
  EXPECT_EQ(phase(patient), Phase::kRequesting);
  edit(kube::kPdbs, "web", [](api::Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  ASSERT_TRUE(run_to_end(patient));
  EXPECT_EQ(phase(patient), Phase::kSucceeded) << get(patient).status.message;
  EXPECT_FALSE(pod_exists(names[1]));
}

}  // namespace new_leader_test
