#include "controllers/advice/workloads.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/advice/resource_advice.hpp"

namespace controllers::advice {
namespace workloads_test {

using advisor::WorkloadKey;
using testing::ElementsAre;
using testing::SizeIs;

class Stage {
 public:
  std::shared_ptr<api::Pod> pod(const std::string& ns, const std::string& name, api::OwnerReference owner) {
    auto pod = std::make_shared<api::Pod>();
    pod->meta.ns = ns;
    pod->meta.name = name;
    pod->node_name = {"node-a"};
    owner.controller = true;
    if (!owner.kind.empty()) pod->meta.owner_references = {std::move(owner)};
    pod->containers = {{.name = "app",
                        .image = "",
                        .requests = {{"cpu", api::Quantity::from_milli(500)}},
                        .limits = {},
                        .host_ports = {}}};
    cluster.pods.push_back(pod);
    return pod;
  }
  void owned(const std::string& kind, const std::string& ns, const std::string& name, const std::string& uid,
             api::OwnerReference by) {
    auto object = std::make_shared<api::Workload>();
    object->kind = kind;
    object->meta.ns = ns;
    object->meta.name = name;
    object->meta.uid = uid;
    by.controller = true;
    if (!by.kind.empty()) object->meta.owner_references = {std::move(by)};
    between_[kind + "/" + ns + "/" + name] = object;
  }
  Advised advised(std::size_t most = 100) { return advised_workloads(cluster, most); }

  Cluster cluster{
      .pods = {},
      .workload = [this](std::string_view kind, const api::ObjectKey& key) -> std::shared_ptr<const api::Workload> {
        const auto at = between_.find(std::string(kind) + "/" + key.ns + "/" + key.name);
        return at == between_.end() ? nullptr : at->second;
      },
      .is_selected = [](const std::string& ns) { return ns != "kube-system"; }};

 private:
  std::map<std::string, std::shared_ptr<api::Workload>> between_;
};

api::OwnerReference reference(const std::string& version, const std::string& kind, const std::string& name,
                              const std::string& uid) {
  return {version, kind, name, uid, true};
}

TEST(AdvisedWorkloads, AreTheOwnersOfTheirPods) {
  Stage stage;
  stage.owned("ReplicaSet", "shop", "web-abc", "rs", reference("apps/v1", "Deployment", "web", "dep"));
  stage.pod("shop", "web-abc-1", reference("apps/v1", "ReplicaSet", "web-abc", "rs"));
  stage.pod("shop", "web-abc-2", reference("apps/v1", "ReplicaSet", "web-abc", "rs"));
  stage.pod("shop", "db-0", reference("apps/v1", "StatefulSet", "db", "sts"));
  stage.owned("Job", "shop", "night-1", "job", reference("batch/v1", "CronJob", "night", "cron"));
  stage.pod("shop", "night-1-x", reference("batch/v1", "Job", "night-1", "job"));
  const Advised advised = stage.advised();
  ASSERT_THAT(advised.workloads, SizeIs(3));
  const AdvisedWorkload& web = advised.workloads.at({"shop", "Deployment", "web"});
  EXPECT_EQ(web.owner.uid, "dep");
  EXPECT_EQ(web.owner.api_version, "apps/v1");
  EXPECT_EQ(web.replicas, 2);
  EXPECT_EQ(*web.containers.at(0).resources.cpu_request, 0.5);
  EXPECT_FALSE(web.containers.at(0).resources.memory_request);
  EXPECT_EQ(advised.workloads.at({"shop", "CronJob", "night"}).owner.uid, "cron");
  EXPECT_EQ(advised.pods.at("shop/db-0").workload, (WorkloadKey{"shop", "StatefulSet", "db"}));
}

/// Any user who may create pods controls all of these owner references.
TEST(AdvisedWorkloads, OmitPodsWithoutAWorkload) {
  struct Case {
    const char* name;
    api::OwnerReference owner;
  };
  for (const Case& each : {Case{"nobody's", {}}, Case{"a mirror pod's node", reference("v1", "Node", "node-a", "n")},
                           Case{"a Job of nobody", reference("batch/v1", "Job", "once", "j")},
                           Case{"a ReplicaSet that is not known", reference("apps/v1", "ReplicaSet", "web-abc", "rs")},
                           Case{"no UID", reference("apps/v1", "StatefulSet", "db", "")},
                           Case{"no version", reference("", "StatefulSet", "db", "u")},
                           Case{"a kind that is none", reference("apps/v1", "State/Set", "db", "u")},
                           Case{"a name that is none", reference("apps/v1", "StatefulSet", "../db", "u")},
                           Case{"a long name", reference("apps/v1", "StatefulSet", std::string(250, 'a'), "u")}}) {
    Stage stage;
    auto pod = stage.pod("shop", "web-abc-xyz12", each.owner);
    pod->meta.labels = {{"pod-template-hash", "abc"}};
    EXPECT_THAT(stage.advised().workloads, SizeIs(0)) << each.name;
  }
  Stage stage;
  stage.pod("kube-system", "db-0", reference("apps/v1", "StatefulSet", "db", "u"));
  stage.pod("shop", "over-0", reference("apps/v1", "StatefulSet", "over", "u"))->phase = api::PodPhase::kSucceeded;
  stage.owned("ReplicaSet", "shop", "web-abc", "of another pod", reference("apps/v1", "Deployment", "web", "dep"));
  stage.pod("shop", "web-abc-1", reference("apps/v1", "ReplicaSet", "web-abc", "rs"));
  const Advised advised = stage.advised();
  ASSERT_THAT(advised.workloads, SizeIs(1));
  EXPECT_EQ(advised.workloads.begin()->first.kind, "ReplicaSet") << "as far as the UIDs tell";
}

TEST(AdvisedWorkloads, HaveTheContainersOfTheirNewestPodAndTheirKills) {
  Stage stage;
  auto old_pod = stage.pod("shop", "db-0", reference("apps/v1", "StatefulSet", "db", "u"));
  auto new_pod = stage.pod("shop", "db-1", reference("apps/v1", "StatefulSet", "db", "u"));
  new_pod->meta.creation_timestamp = old_pod->meta.creation_timestamp + base::minutes(1);
  new_pod->containers[0].requests = {{"cpu", api::Quantity::from_milli(900)}};
  new_pod->init_containers.resize(2);
  new_pod->init_containers[0].name = "once";
  new_pod->init_containers[1].name = "mesh";
  new_pod->init_containers[1].restart_always = true;
  old_pod->container_statuses.resize(1);
  old_pod->container_statuses[0].name = "app";
  old_pod->container_statuses[0].last_terminated_reason = "OOMKilled";
  const auto advised = stage.advised();
  const auto& containers = advised.workloads.begin()->second.containers;
  ASSERT_THAT(containers, SizeIs(2));
  EXPECT_EQ(*containers[0].resources.cpu_request, 0.9);
  EXPECT_EQ(containers[0].oom_kills, 1U);
  EXPECT_EQ(containers[1].name, "mesh");
  new_pod->containers.resize(50);
  EXPECT_THAT(stage.advised().workloads.begin()->second.containers, SizeIs(api::kMaxAdvisedContainers));
}

TEST(FairShare, GivesEveryNamespaceAsMuchAsTheOthers) {
  std::set<WorkloadKey> wanted;
  for (int i = 0; i < 1000; ++i) wanted.insert({"aaa-greedy", "Deployment", fmt::format("w{:04}", i)});
  for (const char* name : {"api", "web"}) wanted.insert({"shop", "Deployment", name});
  wanted.insert({"zoo", "StatefulSet", "db"});
  EXPECT_EQ(fair_share(wanted, 5000), wanted);
  const auto share = fair_share(wanted, 10);
  EXPECT_THAT(share, SizeIs(10));
  EXPECT_TRUE(share.contains({"shop", "Deployment", "web"}));
  EXPECT_TRUE(share.contains({"zoo", "StatefulSet", "db"}));
  EXPECT_EQ(fair_share(wanted, 3),
            (std::set<WorkloadKey>{
                {"aaa-greedy", "Deployment", "w0000"}, {"shop", "Deployment", "api"}, {"zoo", "StatefulSet", "db"}}));
}

TEST(AdviceName, IsKindAndName) { EXPECT_EQ(advice_name({"shop", "StatefulSet", "db.main"}), "statefulset-db.main"); }

}  // namespace workloads_test
}  // namespace controllers::advice
