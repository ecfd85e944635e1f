#include <nlohmann/json.hpp>

#include "simulator/objects.hpp"
#include "test/integration/rig/kubevirt_stage.hpp"

/// A pod whose PersistentVolumeClaim is being deleted or Lost is its last user: when the pod ends, the PVC is removed,
/// and with reclaim policy Delete the volume, too. Such a pod stays, whatever requested the move.
namespace claims_test {

using api::Json;
using base::seconds;
using integration::KubeVirtStage;
using integration::Rig;
using Phase = api::EvacuationPhase;

constexpr const char* kProtection = "kubernetes.io/pvc-protection";
const std::string kClaim = "data-db-0";

template <typename Stage>
class WithClaims : public Stage {
 protected:
  /// Acts as the PVC protection controller: a PVC that is being deleted is removed once no pod uses it, together with
  /// its volume.
  void protect_claims() {
    this->watcher = [this] {
      for (const auto& claim : this->cluster->store().list(kube::kPersistentVolumeClaims, "shop")) {
        const Json& meta = (*claim)["metadata"];
        if (!meta.contains("deletionTimestamp") || is_used(meta["name"])) continue;
        this->edit(kube::kPersistentVolumeClaims, meta["name"],
                   [](Json& stored) { stored["metadata"]["finalizers"] = Json::array(); });
      }
    };
  }
  void delete_claim(const std::string& name = kClaim) {
    this->edit(kube::kPersistentVolumeClaims, name,
               [](Json& claim) { claim["metadata"]["finalizers"] = Json::array({kProtection}); });
    const auto answer = this->server->handle(kube::delete_request(kube::kPersistentVolumeClaims, {"shop", name}, ""),
                                             {"admin", {}, "kubectl"});
    EXPECT_EQ(answer.status, 200) << answer.body;
    this->settle();
  }
  bool volume_exists(const std::string& claim = kClaim) const {
    const auto stored = this->cluster->store().get(kube::kPersistentVolumeClaims, {"shop", claim});
    return stored &&
           this->cluster->store().get(kube::kPersistentVolumes,
                                      {"", stored->value(Json::json_pointer("/spec/volumeName"), std::string("none"))});
  }
  void expect_refused(const std::string& name, const std::string& says) {
    ASSERT_TRUE(this->run_to_end(name)) << this->get(name).status.message;
    EXPECT_EQ(this->phase(name), Phase::kFailed);
    EXPECT_EQ(this->reason(name), "NotEvictable") << this->get(name).status.message;
    EXPECT_NE(this->get(name).status.message.find(says), std::string::npos) << this->get(name).status.message;
    EXPECT_EQ(this->granted(), 0u);
    this->run_for(seconds(60));
  }

 private:
  bool is_used(const std::string& claim) const {
    for (const auto& pod : this->cluster->store().list(kube::kPods, "shop")) {
      if ((*pod)["spec"].value("nodeName", "").empty()) continue;
      for (const Json& volume : (*pod)["spec"].value("volumes", Json::array())) {
        if (volume.value(Json::json_pointer("/persistentVolumeClaim/claimName"), std::string()) == claim) return true;
      }
    }
    return false;
  }
};

class RiskyClaim : public WithClaims<Rig> {
 protected:
  /// Creates db-0 and db-1, each with its own PVC, and the operator. Returns the first pod.
  std::string begin() {
    namespace objects = simulator::objects;
    add(objects::name_space("shop"));
    for (const char* node : {"node-a", "node-b", "node-c"}) add(objects::node(node, "8", "16Gi"));
    Json set = objects::stateful_set("shop", "db", 2, "100m", "64Mi");
    objects::add_claim(set, "data", "1Gi", false);
    add(std::move(set));
    EXPECT_TRUE(run_until([&] { return pods("db").size() == 2; }, std::chrono::minutes(2)));
    run_for(seconds(60));
    protect_claims();
    start_operator();
    EXPECT_TRUE(volume_exists());
    return "db-0";
  }
  void lose_volume(const std::string& name) {
    const auto claim = cluster->store().get(kube::kPersistentVolumeClaims, {"shop", name});
    const auto volume = claim->at("spec").at("volumeName").get<std::string>();
    EXPECT_TRUE(cluster->store().remove(kube::kPersistentVolumes, {"", volume}));
    edit(kube::kPersistentVolumeClaims, name, [](Json& stored) { stored["status"]["phase"] = "Lost"; });
  }
};

TEST_F(RiskyClaim, AttackByAManualEvacuationDoesNotCostTheVolumeOfAClaimThatIsBeingDeleted) {
  const std::string pod = begin();
  delete_claim();
  const std::string name = evacuate(pod);
  expect_refused(name, "its PersistentVolumeClaim data-db-0 is being deleted");
  EXPECT_EQ(get(name).status.attempt, 0) << "it never had a slot";
  EXPECT_EQ(condition(name, "Accepted"), "NotEvictable");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(volume_exists());
  const std::string other = evacuate("db-1");
  ASSERT_TRUE(run_to_end(other));
  EXPECT_EQ(phase(other), Phase::kSucceeded) << "its own claim is not touched";
}

TEST_F(RiskyClaim, TheVolumeWouldHaveGoneWithThePod) {
  const std::string pod = begin();
  delete_claim();
  ASSERT_TRUE(cluster->store().remove(kube::kPods, {"shop", pod}, {}, 0));
  run_for(seconds(60));
  EXPECT_FALSE(volume_exists()) << "this is what the others of this file are about";
}

TEST_F(RiskyClaim, ALostPvcKeepsItsPod) {
  const std::string pod = begin();
  lose_volume(kClaim);
  expect_refused(evacuate(pod), "its PersistentVolumeClaim data-db-0 is Lost");
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(RiskyClaim, AMissingPvcKeepsItsPod) {
  const std::string pod = begin();
  ASSERT_TRUE(cluster->store().remove(kube::kPersistentVolumeClaims, {"shop", kClaim}, {}, 0));
  settle();
  expect_refused(evacuate(pod), "its PersistentVolumeClaim data-db-0 does not exist");
  EXPECT_TRUE(pod_exists(pod));
}

TEST_F(RiskyClaim, DeletedWhileABudgetBlocksEndsTheEvacuation) {
  const std::string pod = begin();
  budget("db", "db", 2);
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_until([&] { return get(name).status.blocked_count > 0; }, seconds(60))) << reason(name);
  delete_claim();
  expect_refused(name, "is being deleted");
  EXPECT_TRUE(pod_exists(pod));
  EXPECT_TRUE(volume_exists());
}

/// Nothing is polled while the owner works, and the pod itself does not change.
TEST_F(RiskyClaim, DeletedWhileTheOwnersTurnLastsTakesOurMarkBack) {
  const std::string prefix = "handoff.evacuator.dev/";
  for (const bool lost : {false, true}) {
    SCOPED_TRACE(lost ? "Lost" : "being deleted");
    const std::string pod = lost ? "db-1" : begin();
    annotate(pod, prefix + "mode", "required");
    const std::string name = evacuate(pod);
    ASSERT_TRUE(run_until([&] { return phase(name) == Phase::kInProgress; }, seconds(30))) << reason(name);
    annotate(pod, prefix + "ack", get(name).status.token);
    run_for(seconds(10));
    ASSERT_EQ(phase(name), Phase::kInProgress);
    if (lost) {
      lose_volume("data-db-1");
    } else {
      delete_claim();
    }
    settle();
    EXPECT_EQ(phase(name), Phase::kAborting) << "at once, and not when the owner is late";
    EXPECT_NE(annotation(pod, prefix + "abort"), "");
    annotate(pod, prefix + "aborted", get(name).status.token);
    ASSERT_TRUE(run_to_end(name, seconds(60)));
    EXPECT_EQ(reason(name), "NotEvictable") << get(name).status.message;
    EXPECT_EQ(annotation(pod, prefix + "request"), "") << "the owner must not act on it any more";
    EXPECT_EQ(granted(), 0U);
  }
}

TEST_F(RiskyClaim, TheCallIsDecidedOnALiveLookAndNotOnTheCache) {
  const std::string pod = begin();
  settle();
  const std::string name = evacuate(pod);
  bool deleted = false;
  replica->transport.before_each_call = [&](const kube::Request& request) {
    // The caches receive no events from the first write on, and the PVC is deleted at that moment.
    if (deleted || request.method == "GET") return;
    replica->informers_frozen = deleted = true;
    edit(kube::kPersistentVolumeClaims, kClaim,
         [](Json& claim) { claim["metadata"]["finalizers"] = Json::array({kProtection}); });
    (void)server->handle(kube::delete_request(kube::kPersistentVolumeClaims, {"shop", kClaim}, ""),
                         {"admin", {}, "kubectl"});
  };
  run_for(seconds(30));
  EXPECT_TRUE(deleted);
  EXPECT_EQ(granted(), 0u);
  EXPECT_TRUE(volume_exists());
  replica->informers_frozen = false;
  expect_refused(name, "is being deleted");
}

TEST_F(RiskyClaim, ADryRunSaysSo) {
  const std::string pod = begin();
  delete_claim();
  expect_refused(evacuate(pod, [](Json& spec) { spec["dryRun"] = true; }), "is being deleted");
}

TEST_F(RiskyClaim, NoEvictorMovesSuchAPod) {
  const std::string pod = begin();
  annotate(pod, "handoff.evacuator.dev/mode", "required");
  delete_claim();
  for (const char* evictor : {"annotation", "stateful-handoff", "surge", "eviction-api"}) {
    SCOPED_TRACE(evictor);
    const std::string name = evacuate(pod, [&](Json& spec) { spec["evictors"] = Json::array({{{"name", evictor}}}); });
    expect_refused(name, "is being deleted");
    EXPECT_EQ(annotation(pod, "handoff.evacuator.dev/request"), "") << "nobody was asked";
    delete_evacuation(name);
    run_for(seconds(10));
  }
}

TEST_F(RiskyClaim, TheClaimOfAnEphemeralVolumeGoesWithItsPodByContract) {
  stage(2);
  start_operator();
  const std::string pod = pods().front();
  edit(kube::kPods, pod, [](Json& stored) {
    stored["spec"]["volumes"] = Json::array({{{"name", "scratch"}, {"ephemeral", Json::object()}}});
  });
  Json claim = simulator::objects::persistent_volume_claim("shop", pod + "-scratch", "1Gi");
  Json owner = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod}, {"uid", pod_uid(pod)}, {"controller", true}};
  claim["metadata"]["ownerReferences"] = Json::array({owner});
  add(claim);
  delete_claim(pod + "-scratch");
  const std::string name = evacuate(pod);
  ASSERT_TRUE(run_to_end(name)) << get(name).status.message;
  EXPECT_EQ(phase(name), Phase::kSucceeded) << get(name).status.message;
}

class RiskyVm : public WithClaims<KubeVirtStage> {};

TEST_F(RiskyVm, AMachineIsNotMigratedAwayFromADiskThatIsBeingDeleted) {
  begin();
  protect_claims();
  const std::string pod = machine("vm");
  add(simulator::objects::persistent_volume_claim("shop", "disk", "1Gi"));
  edit(kube::kPods, pod, [](Json& stored) {
    stored["spec"]["volumes"].push_back({{"name", "disk"}, {"persistentVolumeClaim", {{"claimName", "disk"}}}});
  });
  delete_claim("disk");
  const std::string name = evacuate(pod);
  expect_refused(name, "its PersistentVolumeClaim disk is being deleted");
  EXPECT_TRUE(migrations().empty());
  EXPECT_TRUE(pod_exists(pod));
}

}  // namespace claims_test
