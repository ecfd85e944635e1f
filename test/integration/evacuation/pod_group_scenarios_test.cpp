#include <algorithm>
#include <nlohmann/json.hpp>

#include "controllers/admission/request.hpp"
#include "test/integration/rig/crash.hpp"
#include "test/integration/rig/rig.hpp"

/// PodGroups on the simulated cluster (docs/concepts/pod-groups.md): all members leave or none, in the configured
/// order, across crashes.
namespace pod_group_scenarios_test {

using api::Json;
using base::seconds;
using fakes::Death;
using integration::Rig;
using Phase = api::EvacuationPhase;

const std::string kGroup = "evacuator.dev/group";
const std::string kOrder = "evacuator.dev/group-order";

class PodGroup : public Rig {
 protected:
  /// Creates `replicas` pods of one group, each on its own node. The group is set in the pod template, so replacements
  /// belong to it, too.
  std::vector<std::string> begin(int replicas = 3) {
    stage(replicas, {{kGroup, "trainer"}});
    start_operator();
    return pods();
  }
  std::vector<std::string> evacuate_all(const std::vector<std::string>& names,
                                        const std::function<void(Json&)>& edit = {}) {
    std::vector<std::string> made;
    for (const std::string& pod : names) made.push_back(evacuate(pod, edit));
    return made;
  }
  void expect_end(const std::vector<std::string>& names, Phase phase, const std::string& why) {
    for (const std::string& name : names) {
      ASSERT_TRUE(run_to_end(name)) << name << " " << api::to_string(this->phase(name)) << " "
                                    << get(name).status.message;
      EXPECT_EQ(this->phase(name), phase) << name << ": " << get(name).status.message;
      EXPECT_EQ(reason(name), why) << name << ": " << get(name).status.message;
    }
  }
  /// Changes the stored status as another writer. The caches see it in the next round.
  void edit_stored(const std::string& name, const std::function<void(Json&)>& change) {
    (void)cluster->store().mutate(kube::kEvacuations, {"shop", name}, simulator::Part::kAll,
                                  [&](Json& object) -> base::Status {
                                    change(object["status"]);
                                    return base::Done{};
                                  });
  }
  /// Checks continuously that no member is evicted before all have voted.
  void watch_votes(const std::vector<std::string>& names) {
    watcher = [this, names] {
      if (granted() == 0) return;
      for (const std::string& name : names) EXPECT_NE(condition(name, "GroupReady"), "") << name;
    };
  }
};

TEST_F(PodGroup, WaitsUntilAllAreAskedToLeave) {
  const auto names = begin();
  const std::string first = evacuate(names[0]);
  const std::string second = evacuate(names[1]);
  run_for(seconds(60));
  for (const std::string& each : {first, second}) {
    EXPECT_EQ(phase(each), Phase::kPending);
    EXPECT_EQ(condition(each, "SlotAcquired"), "WaitingForGroup");
    const auto blocked = get(each).status.blocked_by;
    ASSERT_EQ(blocked.size(), 1u);
    EXPECT_NE(blocked[0].message.find(names[2] + " (no Evacuation)"), std::string::npos) << blocked[0].message;
  }
  EXPECT_TRUE(evictions().empty());
  const std::string third = evacuate(names[2]);
  watch_votes({first, second, third});
  expect_end({first, second, third}, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(granted(), 3u);
}

TEST_F(PodGroup, AnIncompleteGroupDoesNotLeave) {
  const auto names = begin();
  expect_end({evacuate(names[0])}, Phase::kCancelled, "DecisionExpired");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(PodGroup, ThoseThatLeaveAtOnceFindAReplacementEach) {
  const auto made = evacuate_all(begin());
  expect_end(made, Phase::kSucceeded, "Evicted");
  std::set<std::string> replacements;
  for (const std::string& name : made) replacements.insert(get(name).status.outcome->replacement->uid);
  EXPECT_EQ(replacements.size(), made.size());
}

TEST_F(PodGroup, ADryRunOfOneIsNotItsLeaving) {
  const auto names = begin(2);
  const std::string waits = evacuate(names[0]);
  expect_end({evacuate(names[1], [](Json& spec) { spec["dryRun"] = true; })}, Phase::kSucceeded, "DryRun");
  run_for(seconds(60));
  EXPECT_EQ(phase(waits), Phase::kPending);
  EXPECT_EQ(condition(waits, "SlotAcquired"), "WaitingForGroup");
  EXPECT_EQ(granted(), 0u);  // the dry run took part in the vote
}

TEST_F(PodGroup, APodThatIsTakenOutOfItsGroupLeavesAlone) {
  const auto names = begin();
  annotate(names[0], kGroup, "");
  expect_end({evacuate(names[0])}, Phase::kSucceeded, "Evicted");
  EXPECT_EQ(granted(), 1u);
}

TEST_F(PodGroup, StaysWhenABudgetNeverAllowsAll) {
  const auto names = begin();
  budget("web", "web", 2);  // allows one of the three
  const auto made = evacuate_all(names);
  run_for(seconds(30));
  EXPECT_EQ(get(made[0]).status.blocked_by.at(0).name, "web");
  expect_end(made, Phase::kCancelled, "DecisionExpired");
  EXPECT_TRUE(evictions().empty());
}

/// The retry interval of the members is much longer.
TEST_F(PodGroup, GoesAtOnceWhenItsBudgetOpens) {
  const auto names = begin();
  budget("web", "web", 2);  // allows one of the three
  const auto made = evacuate_all(names);
  run_for(seconds(75));
  ASSERT_EQ(get(made[2]).status.blocked_by.at(0).name, "web");
  edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 1; });
  run_for(seconds(5));
  EXPECT_EQ(granted(), 0u) << "two of three may go, not all";
  edit(kube::kPdbs, "web", [](Json& pdb) { pdb["spec"]["minAvailable"] = 0; });
  EXPECT_TRUE(run_until([&] { return granted() == 3; }, seconds(5)));
  expect_end(made, Phase::kSucceeded, "Evicted");
}

TEST_F(PodGroup, GoesAtOnceWhenItsBudgetIsDeleted) {
  const auto names = begin();
  budget("web", "web", 3);
  const auto made = evacuate_all(names);
  run_for(seconds(75));
  ASSERT_EQ(get(made[0]).status.blocked_by.at(0).name, "web");
  ASSERT_EQ(server->handle(kube::delete_request(kube::kPdbs, {"shop", "web"}, ""), {"alice", {}, "kubectl"}).status,
            200);
  EXPECT_TRUE(run_until([&] { return granted() == 3; }, seconds(5)));
}

TEST_F(PodGroup, StaysWhenOneCannotLeave) {
  const auto names = begin();
  std::vector<std::string> made = {evacuate(names[0]), evacuate(names[1])};
  made.push_back(evacuate(names[2], [](Json& spec) { spec["evictors"] = Json::array({{{"name", "kubevirt"}}}); }));
  expect_end({made[2]}, Phase::kFailed, "NotEvictable");
  expect_end({made[0], made[1]}, Phase::kCancelled, "DecisionExpired");  // they had not begun
  EXPECT_NE(get(made[0]).status.message.find(names[2] + " (Failed NotEvictable)"), std::string::npos);
  EXPECT_TRUE(evictions().empty());
}

TEST_F(PodGroup, StaysWhenOneIsCancelledBeforeTheFirstLeft) {
  const auto names = begin();
  // The third member stays in its preparation, so the gate remains closed.
  annotate(names[2], "handoff.evacuator.dev/mode", "required");
  annotate(names[2], "handoff.evacuator.dev/phases", "pre,migrate");
  annotate(names[2], "simulator.evacuator.dev/handoff", "ack=1s, heartbeat=10s, aborted=2s");
  const auto made = evacuate_all(names);
  ASSERT_TRUE(run_until([&] { return condition(made[0], "GroupReady") == "Prepared"; }, seconds(30)));
  cancel(made[2]);
  expect_end({made[2]}, Phase::kCancelled, "UserCancelled");
  expect_end({made[0], made[1]}, Phase::kFailed, "GroupStays");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(PodGroup, AWithdrawnVoteDoesNotCountAlthoughTheCacheLags) {
  const auto names = begin(2);
  annotate(names[1], "handoff.evacuator.dev/mode", "required");
  annotate(names[1], "handoff.evacuator.dev/phases", "pre,migrate");
  annotate(names[1], "simulator.evacuator.dev/handoff", "ack=1s, pre-done=20s, heartbeat=10s, ready=5s, aborted=2s");
  const auto made = evacuate_all(names);
  ASSERT_TRUE(run_until([&] { return condition(made[0], "GroupReady") == "Prepared"; }, seconds(30)));
  bool taken_back = false;
  // Happens in the middle of the second member's reads, where the caches lag behind.
  replica->transport.before_each_call = [&](const kube::Request& request) {
    const bool looks = request.method == "GET" && request.path.ends_with("/pods/" + names[1]);
    if (taken_back || !looks || annotation(names[1], "handoff.evacuator.dev/pre-done").empty()) return;
    taken_back = true;
    edit_stored(made[0], [](Json& status) {
      status["phase"] = "Backoff";
      status["nextActionAt"] = "2026-11-21T13:00:00Z";
      for (Json& each : status["conditions"]) {
        if (each["type"] == "GroupReady") each["status"] = "False";
      }
    });
  };
  ASSERT_TRUE(run_until([&] { return taken_back; }, seconds(60)));
  run_for(seconds(10));
  EXPECT_EQ(phase(made[1]), Phase::kPreparing);
  EXPECT_NE(condition(made[1], "GroupReady"), "Leaving");
  EXPECT_TRUE(evictions().empty());
}

/// The window that ADR 7 describes: between the last read of the votes and the write of the first Leaving.
TEST_F(PodGroup, AVoteWithdrawnAfterTheLastReadIsACancelAfterTheGate) {
  const auto names = begin(2);
  const auto made = evacuate_all(names);
  std::size_t stays = 2;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    const bool commits = request.method == "PATCH" && request.path.ends_with("/status") &&
                         request.body.find("\"Leaving\"") != std::string::npos;
    if (stays != 2 || !commits) return;
    stays = request.path.find(made[0]) == std::string::npos ? 0 : 1;
    edit_stored(made[stays], [](Json& status) {
      status["phase"] = "Backoff";
      status["nextActionAt"] = "2026-11-21T13:00:00Z";
      for (Json& each : status["conditions"]) {
        if (each["type"] == "GroupReady") each["status"] = "False";
      }
    });
  };
  ASSERT_TRUE(run_until([&] { return granted() == 1; }, seconds(60)));
  run_for(seconds(10));
  ASSERT_NE(stays, 2u);
  EXPECT_EQ(granted(), 1u);
  EXPECT_TRUE(pod_exists(names[stays])) << "it alone stays";
  EXPECT_EQ(phase(made[stays]), Phase::kBackoff);
}

TEST_F(PodGroup, LeavesInTheStatedOrder) {
  const auto names = begin();
  annotate(names[0], kOrder, "1");  // leads the group
  const auto made = evacuate_all(names);
  bool early = false;
  bool looked = false;
  watcher = [&] {
    if (granted() < 3 || looked) return;
    looked = true;
    for (const std::size_t worker : {1, 2})
      early |= phase(made[worker]) != Phase::kVerifying && !api::is_terminal(phase(made[worker]));
  };
  expect_end(made, Phase::kSucceeded, "Evicted");
  EXPECT_FALSE(early) << "the leader left before its workers were gone";
  EXPECT_EQ(evictions().back().key.name, names[0]);
}

TEST_F(PodGroup, OneAtATimeWhereTheLimitsHoldOnlyOne) {
  limits = {api::IntOrPercent{3, false}, {}, {}, {}};
  stage(4);
  auto names = pods();
  for (std::size_t i = 0; i < 4; ++i) annotate(names[i], kGroup, i % 2 == 0 ? "even" : "odd");
  start_operator();
  const auto made = evacuate_all(names);  // even and odd pods request in turns
  bool mixed = false;
  watcher = [&] {
    int slots[2] = {0, 0};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto now = find(made[i]);
      slots[i % 2] += now && controllers::holds_slot(*now) ? 1 : 0;
    }
    mixed |= slots[0] > 0 && slots[1] > 0 && slots[0] + slots[1] > 3;
  };
  expect_end(made, Phase::kSucceeded, "Evicted");
  EXPECT_FALSE(mixed);
}

TEST_F(PodGroup, ALimitThatIsTooSmallIsNamed) {
  limits = {api::IntOrPercent{2, false}, {}, {}, {}};
  const auto made = evacuate_all(begin());
  run_for(seconds(60));
  const auto blocked = get(made[2]).status.blocked_by;
  ASSERT_EQ(blocked.size(), 1u);
  EXPECT_NE(blocked[0].message.find("at most 2"), std::string::npos) << blocked[0].message;
  expect_end(made, Phase::kCancelled, "DecisionExpired");
}

/// Two pods of a group. The operator crashes at one call and another one takes over.
class PodGroupPlay final : public Rig {
 public:
  void TestBody() override {}

  int run(int die_at, Death how) {
    stage(2, {{kGroup, "trainer"}});
    start_operator("first");
    const auto names = pods();
    made = {evacuate(names[0]), evacuate(names[1])};
    watcher = [this] {
      if (granted() == 0) return;
      for (const std::string& each : made)
        if (condition(each, "GroupReady").empty()) alone = true;
    };
    const int before = replica->transport.calls();
    if (die_at >= 0) replica->transport.die_in(die_at, how);
    run_to_end_over_deaths(made, std::chrono::hours(1));
    return replica->transport.calls() - before;
  }
  std::vector<Phase> ends() const { return {phase(made[0]), phase(made[1])}; }
  using Rig::granted;

  std::vector<std::string> made;
  bool alone = false;  ///< whether one pod was evicted before the other had voted
};

TEST(PodGroupCrash, AtEveryCall) {
  int calls = 0;
  {
    PodGroupPlay play;
    calls = play.run(-1, Death::kBeforeTheCall);
    ASSERT_EQ(play.ends(), (std::vector<Phase>{Phase::kSucceeded, Phase::kSucceeded}));
  }
  ASSERT_GT(calls, 16);
  integration::die_at_every_call(calls, [](int at, Death how) {
    PodGroupPlay play;
    play.run(at, how);
    EXPECT_EQ(play.ends(), (std::vector<Phase>{Phase::kSucceeded, Phase::kSucceeded}));
    EXPECT_EQ(play.granted(), 2u);
    EXPECT_FALSE(play.alone);
  });
}

}  // namespace pod_group_scenarios_test
