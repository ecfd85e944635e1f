#include <gtest/gtest.h>

#include "test/unit/controllers/evacuation/reconciler_fixture.hpp"

namespace evacuation_whole_pod_group_test {

using namespace evacuation_reconciler_fixture;

/// When a single pod of a scheduling.k8s.io PodGroup may leave.
class WholePodGroup : public Shell {
 protected:
  /// Returns the phase that the Evacuation of a pod of PodGroup "g" reaches.
  std::string phase_with(const kube::Store<api::SchedulingPodGroup>* stored_groups, base::Duration pause = seconds(1)) {
    server.pod["spec"]["schedulingGroup"]["podGroupName"] = "g";
    pods.put(std::make_shared<const api::Pod>(*api::decode_pod(server.pod.dump())));
    auto with_groups = dependencies();
    with_groups.pod_groups = stored_groups;
    with_groups.pod_group_kind = kube::kPodGroups;
    controllers::evacuation::Reconciler of_groups{with_groups};
    for (int i = 0; i < 3; ++i) {
      (void)of_groups.reconcile(key);
      clock.advance(pause);
    }
    return server.evacuation.value(Json::json_pointer("/status/phase"), "");
  }
  /// Sets the server's answer to each list of PodGroups.
  void answers_with(const kube::Response& answer) {
    server.scripted["/podgroups"].clear();
    for (int i = 0; i < 10; ++i) server.script("/podgroups", answer);
  }
  static kube::Response list_of(const char* mode) {
    Json items = Json::array();
    if (*mode)
      items.push_back({{"metadata", {{"name", "g"}, {"namespace", "shop"}, {"uid", "group-uid"}}},
                       {"spec", {{"disruptionMode", {{mode, Json::object()}}}}}});
    return ScriptedServer::json(200, Json{{"kind", "PodGroupList"}, {"items", items}}.dump());
  }
  void put_group(bool is_disrupted_whole) {
    api::SchedulingPodGroup group;
    group.meta.ns = "shop";
    group.meta.name = "g";
    group.is_disrupted_whole = is_disrupted_whole;
    groups.put(std::make_shared<const api::SchedulingPodGroup>(group));
  }
  kube::Store<api::SchedulingPodGroup> groups;
};

TEST_F(WholePodGroup, ThatIsCachedKeepsItsPods) {
  put_group(true);
  EXPECT_EQ(phase_with(&groups), "Failed");
  EXPECT_EQ(server.evacuation["status"]["reason"], "NotEvictable");
  EXPECT_EQ(calls("POST /web-1/eviction"), 0);
}

TEST_F(WholePodGroup, ThatTheCacheDoesNotKnowIsReadBeforeACall) {
  answers_with(list_of("all"));
  EXPECT_EQ(phase_with(&groups), "Failed");
  EXPECT_EQ(server.evacuation["status"]["message"],
            "its PodGroup g (scheduling.k8s.io) has disruptionMode All: its pods do not leave individually");
  EXPECT_EQ(calls("POST /web-1/eviction"), 0);
}

TEST_F(WholePodGroup, ThatTheCacheDoesNotKnowYetMayLetItsPodsGo) {
  answers_with(list_of("single"));
  EXPECT_EQ(phase_with(&groups), "Evicting");
}

TEST_F(WholePodGroup, ThatDoesNotExistKeepsNoPod) {
  answers_with(list_of(""));
  EXPECT_EQ(phase_with(&groups), "Evicting");
}

TEST_F(WholePodGroup, ThatCannotBeReadIsWaitedFor) {
  const auto busy = ScriptedServer::json(500, R"({"kind":"Status","code":500})");
  answers_with(busy);
  EXPECT_NE(phase_with(&groups), "Failed");
  EXPECT_EQ(calls("POST /web-1/eviction"), 0);
  answers_with(list_of("single"));
  EXPECT_EQ(phase_with(&groups), "Evicting");
}

TEST_F(WholePodGroup, ThatMayNotBeReadKeepsItsPods) {
  const auto refused = ScriptedServer::json(403, R"({"kind":"Status","reason":"Forbidden","code":403})");
  answers_with(refused);
  EXPECT_NE(phase_with(&groups), "Failed") << "it may pass";
  EXPECT_EQ(phase_with(&groups, seconds(15)), "Failed") << "not before the right has been missing for a while";
  EXPECT_EQ(server.evacuation["status"]["message"],
            "its PodGroup g (scheduling.k8s.io) is unknown, and may have to leave as a whole");
  EXPECT_EQ(calls("POST /web-1/eviction"), 0);
}

TEST_F(WholePodGroup, ThatLeavesPodByPodKeepsNone) {
  put_group(false);
  EXPECT_EQ(phase_with(&groups), "Evicting");
}

TEST_F(WholePodGroup, CannotExistWhereTheServerHasNoSuchKind) { EXPECT_EQ(phase_with(nullptr), "Evicting"); }

}  // namespace evacuation_whole_pod_group_test
