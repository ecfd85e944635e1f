#include <optional>

#include "simulator/api/request_info.hpp"
#include "test/integration/evictors/switchover_scenarios_fixture.hpp"

/// PGO and Percona's operator, which wait for a trigger.
namespace pgo_scenarios_test {

using namespace switchover_scenarios_fixture;

/// PGO reconciles the cluster like its reconcilePatroniSwitchover: every failure skips the rest of the reconcile, and
/// it retries until the trigger is removed or its status contains it.
class Pgo : public Switchover {
 protected:
  void operator_works() {
    watcher = [this] { reconcile(); };
  }

  int failures = 0;          ///< number of failed reconciles
  int forced_failovers = 0;  ///< number of failovers with a risk of data loss
  bool patroni_fails = false;

 private:
  void reconcile() {
    const Json pgo = object(kPgo, "db");
    const Json spec = pgo["spec"]["patroni"]["switchover"];
    const std::string done = pgo.value(Json::json_pointer("/status/patroni/switchover"), "");
    if (!spec.value("enabled", false)) {
      if (!done.empty()) through_with("");
      return;
    }
    if (trigger().empty() || trigger() == done) return;
    const std::string target = spec.value("targetInstance", "");
    const bool forced = spec.value("type", "Switchover") == "Failover";
    const bool known = target.empty() || target == "db-0" || target == "db-1";
    const std::string to = target == "db-0" ? "pg-0" : "pg-1";
    if (patroni_fails || !known || (forced && target.empty()) || role_of(to) == "master") {
      ++failures;
      return;
    }
    if (forced) ++forced_failovers;
    promote(to);
    through_with(trigger());
  }

 protected:
  std::string trigger() const {
    return object(kPgo, "db")["metadata"]
        .value("annotations", Json::object())
        .value(kPgoPrefix + "trigger-switchover", "");
  }
  void through_with(const std::string& token) {
    edit(kPgo, "db", [&](Json& stored) { stored["status"]["patroni"]["switchover"] = token; });
  }
};

TEST_F(Pgo, IsTriggeredByOurTokenAndSaysWhenItIsThrough) {
  crunchy({{"enabled", true}});
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(30)));
  EXPECT_EQ(trigger(), get(name).status.token);
  promote("pg-1");
  run_for(seconds(60));
  EXPECT_TRUE(evictions().empty()) << "the label has moved, but PGO is not through with it";
  through_with(trigger());
  expect_evicted_as_replica(name, "pgo");
  EXPECT_EQ(trigger(), "") << "our trigger is gone";
}

TEST_F(Pgo, AReplicaStaysWhileTheLabelledPrimaryIsFrozen) {
  crunchy({{"enabled", true}});
  promote("pg-1");
  set_leader_key("");
  const std::string name = begin_evacuation();
  run_for(seconds(40));
  EXPECT_EQ(role_of("pg-1"), "master") << "Patroni does not run there, and nobody takes the label off";
  EXPECT_TRUE(evictions().empty()) << "the pod may be promoted";
  set_leader_key("pg-1");
  expect_evicted_as_replica(name, "pgo");
}

TEST_F(Pgo, WithoutTheRightToItsKeysIsNotTriggered) {
  crunchy({{"enabled", true}});
  operator_works();
  server->add_endpoint([](const auto& info, const kube::Request&) -> std::optional<kube::Response> {
    if (info.plural != "endpoints") return std::nullopt;
    return kube::Response{403, R"({"kind":"Status","reason":"Forbidden","code":403})", {}, "application/json"};
  });
  expect_end(begin_evacuation(), Phase::kFailed, "Forbidden", "evacuator-handoff-pgo");
  EXPECT_EQ(trigger(), "");
  EXPECT_EQ(role_of("pg-0"), "master") << "it was not switched over in vain";
}

TEST_F(Pgo, ThatMayNotSwitchOverIsNamedWithTheFix) {
  crunchy({{"enabled", false}});
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "spec.patroni.switchover.enabled");
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Pgo, ThatWouldForceAFailoverIsNotTriggered) {
  crunchy({{"enabled", true}, {"type", "Failover"}, {"targetInstance", "db-1"}});
  operator_works();
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "spec.patroni.switchover.type");
  run_for(seconds(60));
  EXPECT_EQ(forced_failovers, 0);
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(role_of("pg-0"), "master");
}

TEST_F(Pgo, WhoseTargetInstanceIsThePrimaryIsNotTriggered) {
  crunchy({{"enabled", true}, {"targetInstance", "db-0"}});
  operator_works();
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "spec.patroni.switchover.targetInstance");
  run_for(seconds(60));
  EXPECT_EQ(failures, 0) << "PGO was not made to fail";
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Pgo, WhoseTargetInstanceIsAReadyReplicaElsewhereIsTriggered) {
  crunchy({{"enabled", true}, {"targetInstance", "db-1"}});
  operator_works();
  expect_evicted_as_replica(begin_evacuation(), "pgo");
  EXPECT_EQ(trigger(), "");
}

TEST_F(Pgo, ACancelRemovesItsTrigger) {
  crunchy({{"enabled", true}});
  patroni_fails = true;
  operator_works();
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return failures > 0; }, seconds(60)));
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(condition(name, "RollbackComplete"), "Complete");
  EXPECT_EQ(trigger(), "");
  const int before = failures;
  patroni_fails = false;
  run_for(seconds(600));
  EXPECT_EQ(failures, before);
  EXPECT_EQ(role_of("pg-0"), "master") << "our trigger does not fire after the cancel";
}

TEST_F(Pgo, KeepsAForeignTrigger) {
  crunchy({{"enabled", true}});
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(30)));
  edit(kPgo, "db",
       [](Json& stored) { stored["metadata"]["annotations"][kPgoPrefix + "trigger-switchover"] = "by an admin"; });
  cancel(name);
  expect_end(name, Phase::kCancelled, "UserCancelled");
  EXPECT_EQ(trigger(), "by an admin");
}

TEST_F(Pgo, DoesNotOverwriteAPendingForeignTrigger) {
  crunchy({{"enabled", true}});
  edit(kPgo, "db",
       [](Json& stored) { stored["metadata"]["annotations"][kPgoPrefix + "trigger-switchover"] = "by an admin"; });
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed", "TriggerPending");
  EXPECT_EQ(trigger(), "by an admin");
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(role_of("pg-0"), "master");
}

TEST_F(Pgo, WaitsForAPendingForeignTriggerAndContinues) {
  crunchy({{"enabled", true}});
  edit(kPgo, "db",
       [](Json& stored) { stored["metadata"]["annotations"][kPgoPrefix + "trigger-switchover"] = "by an admin"; });
  const std::string name = begin_evacuation({{"switchover", "true"}}, 3);
  ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kBackoff; }, seconds(60)));
  operator_works();
  expect_evicted_as_replica(name, "pgo");
  EXPECT_EQ(trigger(), "by an admin") << "that one moved the primary, and stays";
}

TEST_F(Pgo, LeavesNoTriggerWhenThePodGoesInTheMiddleOfIt) {
  for (const bool told : {true, false}) {
    SCOPED_TRACE(told ? "the answer came" : "the answer was lost");
    if (told) crunchy({{"enabled", true}});
    patroni_fails = true;
    operator_works();
    const std::string name = begin_evacuation();
    if (!told) {
      replica->transport.before_each_call = [&](const kube::Request& request) {
        if (request.method == "PATCH" && request.path.find("postgresclusters") != std::string::npos)
          replica->transport.die();
      };
    }
    ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(60)));
    if (!told) start_operator("second");
    ASSERT_TRUE(cluster->store().remove(kube::kPods, {"shop", "pg-0"}, {}, 0));
    ASSERT_TRUE(run_to_end(name)) << get(name).status.message;
    EXPECT_EQ(phase(name), Phase::kSucceeded) << get(name).status.message;
    EXPECT_EQ(trigger(), "") << "PGO would try for ever";
    const int before = failures;
    run_for(seconds(600));
    EXPECT_EQ(failures, before);
    if (HasFailure()) return;
    promote("pg-0");
    run_for(seconds(60));
  }
}

class PgoSwitchover : public Pgo {
 protected:
  /// Makes PostgresClusters unreadable for the operator, or readable again.
  void hide_clusters(bool hidden) {
    server->faults().clear();
    if (!hidden) return;
    simulator::FaultRule down{simulator::FaultEffect::kUnavailable};
    down.verb = "get";
    down.resource = "postgresclusters";
    down.count = -1;
    server->faults().add(down);
  }
  /// Returns an Evacuation that ended while its trigger was unreadable.
  std::string end_unseen(bool pod_goes) {
    const std::string name = evacuate("pg-0", [&](Json& spec) {
      spec["evictors"] = Json::array({{{"name", "stateful-handoff"}, {"parameters", {{"switchover", "true"}}}}});
      spec["retry"] = {{"maxAttempts", 1}};
      spec["timeouts"] = {{"abortSeconds", 60}, {"verifySeconds", 60}};
    });
    EXPECT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(60)));
    hide_clusters(true);
    if (pod_goes) {
      EXPECT_TRUE(cluster->store().remove(kube::kPods, {"shop", "pg-0"}, {}, 0));
    } else {
      cancel(name);
    }
    EXPECT_TRUE(run_until([&] { return api::is_terminal(phase(name)); }, seconds(200))) << reason(name);
    settle();
    return name;
  }
};

TEST_F(PgoSwitchover, AnUnreadableTriggerKeepsTheFinalizerTemporarily) {
  crunchy({{"enabled", true}});
  patroni_fails = true;
  operator_works();
  for (const bool pod_goes : {false, true}) {
    SCOPED_TRACE(pod_goes ? "the pod is gone" : "the pod stays");
    const std::string name = end_unseen(pod_goes);
    EXPECT_FALSE(get(name).meta.finalizers.empty()) << reason(name);
    run_for(seconds(30));
    EXPECT_FALSE(get(name).meta.finalizers.empty());
    hide_clusters(false);
    ASSERT_TRUE(run_to_end(name, seconds(25)));
    EXPECT_EQ(trigger(), "") << "PGO would try for ever";
    delete_evacuation(name);
    if (HasFailure()) return;
  }
}

TEST_F(PgoSwitchover, AnUnreadableTriggerDoesNotKeepTheFinalizerForever) {
  crunchy({{"enabled", true}});
  patroni_fails = true;
  operator_works();
  const std::string name = end_unseen(false);
  EXPECT_TRUE(run_to_end(name, seconds(61)));
  EXPECT_NE(trigger(), "");
  hide_clusters(false);
}

TEST_F(Pgo, KeepsAForeignTriggerWhenThePodLeaves) {
  crunchy({{"enabled", true}});
  const std::string name = begin_evacuation();
  ASSERT_TRUE(run_until([&] { return !trigger().empty(); }, seconds(60)));
  edit(kPgo, "db",
       [](Json& stored) { stored["metadata"]["annotations"][kPgoPrefix + "trigger-switchover"] = "by an admin"; });
  ASSERT_TRUE(cluster->store().remove(kube::kPods, {"shop", "pg-0"}, {}, 0));
  ASSERT_TRUE(run_to_end(name)) << get(name).status.message;
  EXPECT_EQ(trigger(), "by an admin");
}

/// Percona's operator 3.0: PostgresCluster in its own API group, created from a PerconaPGCluster whose annotations and
/// settings overwrite it in each reconcile.
class Percona : public Switchover {
 protected:
  void percona(const Json& switchover) {
    begin_pgo();
    custom(kPerconaPg, {{"spec", {{"patroni", {{"switchover", switchover}}}}}});
    custom(kPerconaPgo, Json::object());
    const Json uid = object(kPerconaPg, "db")["metadata"]["uid"];
    edit(kPerconaPgo, "db", [&](Json& stored) {
      stored["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "pgv2.percona.com/v2"},
                                                            {"kind", "PerconaPGCluster"},
                                                            {"name", "db"},
                                                            {"uid", uid},
                                                            {"controller", true}}});
    });
    watcher = [this] {
      copy_down();
      switch_over();
    };
  }
  std::string trigger(const kube::ResourceType& type) const {
    return object(type, "db")["metadata"]
        .value("annotations", Json::object())
        .value(kPgoPrefix + "trigger-switchover", "");
  }

 protected:
  void copy_down() {
    const Json own = object(kPerconaPg, "db");
    const Json annotations = own["metadata"].value("annotations", Json::object());
    const Json inner = object(kPerconaPgo, "db");
    if (inner["metadata"].value("annotations", Json::object()) == annotations && inner.contains("spec")) return;
    edit(kPerconaPgo, "db", [&](Json& stored) {
      stored["metadata"]["annotations"] = annotations;
      stored["spec"] = own["spec"];
    });
  }
  void switch_over() {
    const std::string wanted = trigger(kPerconaPgo);
    const Json pgo = object(kPerconaPgo, "db");
    const bool enabled = pgo.value(Json::json_pointer("/spec/patroni/switchover/enabled"), false);
    if (!enabled || wanted.empty() || wanted == pgo.value(Json::json_pointer("/status/patroni/switchover"), "")) return;
    promote("pg-1");
    edit(kPerconaPgo, "db", [&](Json& stored) { stored["status"]["patroni"]["switchover"] = wanted; });
  }
};

TEST_F(Percona, IsTriggeredByItsOwnObject) {
  percona({{"enabled", true}});
  settle();
  expect_evicted_as_replica(begin_evacuation(), "pgo");
  EXPECT_EQ(trigger(kPerconaPg), "");
  run_for(seconds(60));
  EXPECT_EQ(trigger(kPerconaPgo), "");
}

/// The inner operator runs alone, so no outer object overwrites the annotations.
TEST_F(Percona, WithoutAnObjectOfItsOwnTheInnerOneIsTriggered) {
  begin_pgo();
  custom(kPerconaPgo, {{"spec", {{"patroni", {{"switchover", {{"enabled", true}}}}}}}});
  watcher = [this] { switch_over(); };
  settle();
  expect_evicted_as_replica(begin_evacuation(), "pgo");
  EXPECT_EQ(trigger(kPerconaPgo), "");
}

TEST_F(Percona, WithoutSwitchoverNamesTheObjectToChange) {
  percona({{"enabled", false}});
  settle();
  expect_end(begin_evacuation(), Phase::kFailed, "HandoffFailed",
             "set spec.patroni.switchover.enabled to true on PerconaPGCluster db");
  EXPECT_EQ(trigger(kPerconaPg), "");
  EXPECT_TRUE(evictions().empty());
}

TEST_F(Pgo, DoesNotSwitchOverAgainWhenItIsEnabledAgainLater) {
  crunchy({{"enabled", true}});
  operator_works();
  expect_evicted_as_replica(begin_evacuation(), "pgo");
  run_for(seconds(60));
  promote("pg-0");
  for (const bool enabled : {false, true}) {
    edit(kPgo, "db", [&](Json& stored) { stored["spec"]["patroni"]["switchover"]["enabled"] = enabled; });
    run_for(seconds(60));
  }
  EXPECT_EQ(role_of("pg-0"), "master") << "no stale trigger is left";
}

TEST_F(Pgo, AProcessThatDiesAtEachCallLeavesNoTrigger) {
  crunchy({{"enabled", true}});
  operator_works();
  evacuate_over_deaths_at_each_call([&](const std::string&) { EXPECT_EQ(trigger(), ""); }, [] {});
}

TEST_F(Pgo, ThatNeverActsRunsIntoItsTotal) {
  crunchy({{"enabled", true}});
  const std::string name = begin_evacuation();
  const auto began = clock.now();
  expect_end(name, Phase::kFailed, "ProgressTimeout");
  EXPECT_GE(clock.now() - began, seconds(1200));
  EXPECT_EQ(trigger(), "");
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(role_of("pg-0"), "master");
}

}  // namespace pgo_scenarios_test
