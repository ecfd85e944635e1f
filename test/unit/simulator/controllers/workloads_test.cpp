#include "simulator/controllers/controllers.hpp"

#include <algorithm>
#include <set>

#include "test/unit/simulator/world.hpp"

namespace simulator {
namespace workloads_test {

using api::Json;

std::string first_uid(World& world, const std::string& pod) { return uid_of(*world.pod(pod)); }

// --- ReplicaSet

TEST(ReplicaSetTest, KeepsItsReplicas) {
  World world;
  world.add_nodes(2);
  world.add(objects::replica_set("shop", "web", 3, "100m", "64Mi"));
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 3);
  for (const char* field : {"replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"}) {
    EXPECT_EQ(world.status(kube::kReplicaSets, "web", field), 3) << field;
  }
  world.remove(kube::kPods, "shop", world.pod_names().front());
  world.advance(milliseconds(0));
  EXPECT_EQ(world.pods().size(), 4U) << "the replacement does not wait for the old pod to stop";
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 3);
  EXPECT_EQ(world.pods().size(), 3U);
}

TEST(ReplicaSetTest, ReplacesTerminalPodsAndKeepsThem) {
  World world;
  world.add_nodes(1);
  world.add(objects::replica_set("shop", "web", 1, "100m", "64Mi"));
  world.advance(seconds(5));
  world.edit(kube::kPods, "shop", world.pod_names().front(), [](Json& pod) { pod["status"]["phase"] = "Failed"; });
  world.advance(seconds(5));
  EXPECT_EQ(world.pods().size(), 2U);
  EXPECT_EQ(world.ready_pods(), 1);
}

TEST(ReplicaSetTest, CreatesPodsFromTheTemplate) {
  World world;
  world.add_nodes(1);
  Json web = objects::replica_set("shop", "web", 1, "250m", "64Mi");
  const Object owner = world.add(objects::annotate_pods(web, "example.dev/note", "kept"));
  world.advance(seconds(1));
  const Object pod = world.pods().front();
  EXPECT_EQ(api::text_at(*pod, {"metadata", "labels", "app"}), "web");
  EXPECT_EQ(api::text_at(*pod, {"metadata", "annotations", "example.dev/note"}), "kept");
  EXPECT_TRUE(api::text_at(*pod, {"metadata", "name"}).starts_with("web-"));
  EXPECT_EQ(controller_uid_of(*pod), uid_of(*owner));
  EXPECT_EQ(api::text_at(*pod, {"spec", "containers", "0"}), "") << "a list is no object";
  EXPECT_EQ(api::text_at(pod->at("spec").at("containers").at(0), {"resources", "requests", "cpu"}), "250m");
  EXPECT_EQ(api::number_at(*pod, {"spec", "terminationGracePeriodSeconds"}), 30);
  EXPECT_EQ(api::number_at(*pod, {"spec", "priority"}), 0);
  EXPECT_EQ(api::text_at(*pod, {"status", "qosClass"}), "Burstable");
}

TEST(ReplicaSetTest, CountsAvailableAfterMinReadySeconds) {
  World world;
  world.add_nodes(1);
  Json web = objects::replica_set("shop", "web", 2, "100m", "64Mi");
  web["spec"]["minReadySeconds"] = 30;
  world.add(web);
  world.advance(seconds(20));
  EXPECT_EQ(world.status(kube::kReplicaSets, "web", "readyReplicas"), 2);
  EXPECT_EQ(world.status(kube::kReplicaSets, "web", "availableReplicas"), 0);
  world.advance(seconds(15));
  EXPECT_EQ(world.status(kube::kReplicaSets, "web", "availableReplicas"), 2);
}

struct VictimCase {
  const char* name;
  void (*make_worse)(World& world, const std::string& pod);
};
class ReplicaSetVictim : public testing::TestWithParam<VictimCase> {};

TEST_P(ReplicaSetVictim, GoesFirst) {
  World world;
  world.add_nodes(3);
  world.add(objects::replica_set("shop", "web", 3, "100m", "64Mi"));
  world.advance(seconds(10));
  const std::string victim = world.pod_names()[1];
  GetParam().make_worse(world, victim);
  world.advance(seconds(0));
  world.edit(kube::kReplicaSets, "shop", "web", [](Json& object) { object["spec"]["replicas"] = 2; });
  world.advance(seconds(5));
  const auto left = world.pod_names();
  EXPECT_EQ(left.size(), 2U);
  EXPECT_TRUE(std::ranges::find(left, victim) == left.end());
}

INSTANTIATE_TEST_SUITE_P(ReplicaSet, ReplicaSetVictim,
                         testing::Values(VictimCase{"ThatIsNotReady",
                                                    [](World& world, const std::string& pod) {
                                                      world.annotate(kube::kPods, "shop", pod, behaviour::kNeverReady,
                                                                     "1");
                                                    }},
                                         VictimCase{"WithTheLowestDeletionCost",
                                                    [](World& world, const std::string& pod) {
                                                      world.annotate(kube::kPods, "shop", pod,
                                                                     "controller.kubernetes.io/pod-deletion-cost",
                                                                     "-5");
                                                    }},
                                         VictimCase{"ThatIsReadyForTheShortestTime",
                                                    [](World& world, const std::string& pod) {
                                                      world.edit(kube::kPods, "shop", pod, [&](Json& object) {
                                                        for (Json& condition : object["status"]["conditions"]) {
                                                          if (condition["type"] == "Ready")
                                                            condition["lastTransitionTime"] =
                                                                base::format_time(world.now());
                                                        }
                                                      });
                                                    }}),
                         [](const auto& test) { return test.param.name; });

TEST(ReplicaSetTest, TakesUnscheduledPodsBeforeRunningOnes) {
  World world;
  world.add_nodes(1, "1", "1Gi");
  world.add(objects::replica_set("shop", "web", 3, "400m", "64Mi"));
  world.advance(seconds(10));
  ASSERT_EQ(world.ready_pods(), 2);
  world.edit(kube::kReplicaSets, "shop", "web", [](Json& object) { object["spec"]["replicas"] = 2; });
  world.advance(milliseconds(0));
  EXPECT_EQ(world.ready_pods(), 2) << "the pending one went";
}

// --- Deployment

TEST(DeploymentTest, MakesOneReplicaSetPerTemplateAndReportsStatus) {
  World world;
  world.add_nodes(2);
  world.add(objects::deployment("shop", "web", 3, "100m", "64Mi"));
  world.advance(seconds(5));
  const auto sets = world.cluster.store().list(kube::kReplicaSets, "shop");
  ASSERT_EQ(sets.size(), 1U);
  const std::string hash = api::text_at(*sets.front(), {"metadata", "labels", "pod-template-hash"});
  EXPECT_EQ(api::text_at(*sets.front(), {"metadata", "name"}), "web-" + hash);
  EXPECT_EQ(api::text_at(*world.pods().front(), {"metadata", "labels", "pod-template-hash"}), hash);
  for (const char* field : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}) {
    EXPECT_EQ(world.status(kube::kDeployments, "web", field), 3) << field;
  }
  EXPECT_EQ(world.status(kube::kDeployments, "web", "observedGeneration"), 1);
  const Object deployment = world.get(kube::kDeployments, "shop", "web");
  EXPECT_EQ(world.condition(deployment, "Available"), "True");
  EXPECT_EQ(world.condition(deployment, "Progressing", "reason"), "NewReplicaSetAvailable");
  EXPECT_EQ(api::text_at(*deployment, {"metadata", "annotations", "deployment.kubernetes.io/revision"}), "1");
}

struct RolloutCase {
  const char* name;
  const char* strategy;  ///< JSON
  int replicas;
  int least_ready;  ///< Minimum number of ready pods
  int most_pods;    ///< Maximum number of active pods
};
class DeploymentRollout : public testing::TestWithParam<RolloutCase> {};

TEST_P(DeploymentRollout, StaysWithinItsBounds) {
  const RolloutCase& c = GetParam();
  World world;
  world.add_nodes(4);
  Json web = objects::deployment("shop", "web", c.replicas, "100m", "64Mi");
  web["spec"]["strategy"] = Json::parse(c.strategy);
  world.add(web);
  world.advance(seconds(10));
  ASSERT_EQ(world.ready_pods(), c.replicas);
  world.edit(kube::kDeployments, "shop", "web",
             [](Json& object) { objects::annotate_pods(object, "example.dev/edition", "2"); });
  int least_ready = c.replicas;
  int most_pods = 0;
  const auto done = [&] {
    int active = 0;
    for (const Object& pod : world.pods()) active += facts_of(*pod).is_active();
    least_ready = std::min(least_ready, world.ready_pods());
    most_pods = std::max(most_pods, active);
    return world.status(kube::kDeployments, "web", "updatedReplicas") == c.replicas &&
           world.status(kube::kDeployments, "web", "replicas") == c.replicas &&
           world.status(kube::kDeployments, "web", "readyReplicas") == c.replicas && world.ready_pods() == c.replicas;
  };
  EXPECT_TRUE(world.cluster.run_until(done, minutes(5)));
  EXPECT_GE(least_ready, c.least_ready);
  EXPECT_LE(most_pods, c.most_pods);
  for (const Object& pod : world.pods()) {
    if (is_terminating(*pod)) continue;
    EXPECT_EQ(api::text_at(*pod, {"metadata", "annotations", "example.dev/edition"}), "2");
  }
  EXPECT_EQ(world.cluster.store().list(kube::kReplicaSets, "shop").size(), 2U) << "the old one stays for a rollback";
}

INSTANTIATE_TEST_SUITE_P(
    Deployment, DeploymentRollout,
    testing::Values(
        RolloutCase{"Default25Percent", R"({"type":"RollingUpdate"})", 8, 6, 10},
        RolloutCase{"SurgeOnly", R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}})", 3, 3,
                    4},
        RolloutCase{"NoSurge", R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":1}})", 3, 2,
                    3},
        RolloutCase{"BothZeroMeansOneUnavailable",
                    R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":0}})", 3, 2, 3},
        RolloutCase{"AllAtOnce",
                    R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":"100%","maxUnavailable":"100%"}})", 4, 0, 8},
        RolloutCase{"Recreate", R"({"type":"Recreate"})", 3, 0, 3}),
    [](const auto& test) { return test.param.name; });

TEST(DeploymentTest, ARolloutThatCannotGetReadyStopsAtTheBounds) {
  World world;
  world.add_nodes(4);
  world.add(objects::deployment("shop", "web", 4, "100m", "64Mi"));
  world.advance(seconds(10));
  world.edit(kube::kDeployments, "shop", "web",
             [](Json& object) { objects::annotate_pods(object, behaviour::kNeverReady, "1"); });
  world.advance(minutes(10));
  EXPECT_EQ(world.ready_pods(), 3);
  EXPECT_EQ(world.status(kube::kDeployments, "web", "updatedReplicas"), 2);
  EXPECT_EQ(world.condition(world.get(kube::kDeployments, "shop", "web"), "Available"), "True");
}

TEST(DeploymentTest, RollsBackToAnEarlierTemplate) {
  World world;
  world.add_nodes(4);
  world.add(objects::deployment("shop", "web", 2, "100m", "64Mi"));
  world.advance(seconds(10));
  const Json original = world.get(kube::kDeployments, "shop", "web")->at("spec").at("template");
  world.edit(kube::kDeployments, "shop", "web",
             [](Json& object) { objects::annotate_pods(object, "example.dev/edition", "2"); });
  world.advance(seconds(30));
  world.edit(kube::kDeployments, "shop", "web", [&](Json& object) { object["spec"]["template"] = original; });
  world.advance(seconds(30));
  EXPECT_EQ(world.cluster.store().list(kube::kReplicaSets, "shop").size(), 2U);
  EXPECT_EQ(world.ready_pods(), 2);
  EXPECT_EQ(api::text_at(*world.get(kube::kDeployments, "shop", "web"),
                         {"metadata", "annotations", "deployment.kubernetes.io/revision"}),
            "3");
}

TEST(DeploymentTest, ScalesUpDownAndToZero) {
  World world;
  world.add_nodes(4);
  world.add(objects::deployment("shop", "web", 2, "100m", "64Mi"));
  for (const int replicas : {5, 1, 0, 3}) {
    world.edit(kube::kDeployments, "shop", "web", [&](Json& object) { object["spec"]["replicas"] = replicas; });
    world.advance(seconds(10));
    EXPECT_EQ(world.ready_pods(), replicas);
    EXPECT_EQ(world.pods().size(), static_cast<std::size_t>(replicas));
  }
}

TEST(DeploymentTest, APausedOneKeepsItsTemplate) {
  World world;
  world.add_nodes(4);
  world.add(objects::deployment("shop", "web", 2, "100m", "64Mi"));
  world.advance(seconds(10));
  world.edit(kube::kDeployments, "shop", "web", [](Json& object) {
    object["spec"]["paused"] = true;
    objects::annotate_pods(object, "example.dev/edition", "2");
  });
  world.advance(seconds(30));
  for (const Object& pod : world.pods())
    EXPECT_EQ(api::text_at(*pod, {"metadata", "annotations", "example.dev/edition"}), "");
}

// --- StatefulSet

TEST(StatefulSetTest, OrderedReadyMakesOnePodAfterTheOther) {
  World world;
  world.add_nodes(3);
  world.add(objects::stateful_set("shop", "db", 3, "100m", "64Mi"));
  world.advance(milliseconds(1500));
  EXPECT_EQ(world.pod_names(), (std::vector<std::string>{"db-0"}));
  world.advance(seconds(2));
  EXPECT_EQ(world.pod_names(), (std::vector<std::string>{"db-0", "db-1"}));
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 3);
  EXPECT_EQ(world.status(kube::kStatefulSets, "db", "readyReplicas"), 3);
  EXPECT_EQ(world.status(kube::kStatefulSets, "db", "updatedReplicas"), 3);
}

TEST(StatefulSetTest, ParallelCreatesPodsTogether) {
  World world;
  world.add_nodes(3);
  Json db = objects::stateful_set("shop", "db", 3, "100m", "64Mi");
  db["spec"]["podManagementPolicy"] = "Parallel";
  world.add(db);
  world.advance(milliseconds(0));
  EXPECT_EQ(world.pods().size(), 3U);
}

TEST(StatefulSetTest, RecreatesTheSameNameWithANewUidOnlyWhenTheOldPodIsGone) {
  World world;
  world.add_nodes(3);
  Json db = objects::stateful_set("shop", "db", 2, "100m", "64Mi");
  world.add(objects::annotate_pods(db, behaviour::kStopSeconds, "10"));
  world.advance(seconds(10));
  const std::string before = first_uid(world, "db-0");
  world.remove(kube::kPods, "shop", "db-0");
  world.advance(seconds(9));
  EXPECT_EQ(first_uid(world, "db-0"), before);
  world.advance(seconds(1));
  EXPECT_NE(first_uid(world, "db-0"), before);
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 2);
}

TEST(StatefulSetTest, ReplacesAFailedPod) {
  World world;
  world.add_nodes(3);
  world.add(objects::stateful_set("shop", "db", 1, "100m", "64Mi"));
  world.advance(seconds(10));
  const std::string before = first_uid(world, "db-0");
  world.edit(kube::kPods, "shop", "db-0", [](Json& pod) { pod["status"]["phase"] = "Failed"; });
  world.advance(seconds(5));
  EXPECT_NE(first_uid(world, "db-0"), before);
}

TEST(StatefulSetTest, ShrinksFromTheTopOneByOne) {
  World world;
  world.add_nodes(3);
  Json db = objects::stateful_set("shop", "db", 4, "100m", "64Mi");
  world.add(objects::annotate_pods(db, behaviour::kStopSeconds, "5"));
  world.advance(seconds(20));
  world.edit(kube::kStatefulSets, "shop", "db", [](Json& object) { object["spec"]["replicas"] = 2; });
  world.advance(seconds(1));
  EXPECT_TRUE(is_terminating(*world.pod("db-3")));
  EXPECT_FALSE(is_terminating(*world.pod("db-2")));
  world.advance(seconds(20));
  EXPECT_EQ(world.pod_names(), (std::vector<std::string>{"db-0", "db-1"}));
}

TEST(StatefulSetTest, UpdatesFromTheTopAndHonoursThePartition) {
  World world;
  world.add_nodes(3);
  Json db = objects::stateful_set("shop", "db", 3, "100m", "64Mi");
  db["spec"]["updateStrategy"] = {{"type", "RollingUpdate"}, {"rollingUpdate", {{"partition", 1}}}};
  world.add(db);
  world.advance(seconds(20));
  const std::string zero = first_uid(world, "db-0");
  const std::string one = first_uid(world, "db-1");
  world.edit(kube::kStatefulSets, "shop", "db",
             [](Json& object) { objects::annotate_pods(object, "example.dev/edition", "2"); });
  world.advance(seconds(1));
  EXPECT_EQ(first_uid(world, "db-1"), one) << "first db-2";
  world.advance(seconds(30));
  EXPECT_EQ(api::text_at(*world.pod("db-2"), {"metadata", "annotations", "example.dev/edition"}), "2");
  EXPECT_EQ(api::text_at(*world.pod("db-1"), {"metadata", "annotations", "example.dev/edition"}), "2");
  EXPECT_EQ(first_uid(world, "db-0"), zero) << "below the partition";
}

TEST(StatefulSetTest, ClaimsOutliveThePodAndBindItToItsZone) {
  World world;
  for (const auto& [name, zone] :
       std::vector<std::pair<const char*, const char*>>{{"node-a1", "a"}, {"node-a2", "a"}, {"node-b1", "b"}}) {
    world.add(objects::node(name, "4", "8Gi", {{"topology.kubernetes.io/zone", zone}}));
  }
  Json db = objects::stateful_set("shop", "db", 1, "100m", "64Mi");
  world.add(objects::add_claim(db, "data", "10Gi", true));
  world.advance(seconds(5));
  const Object claim = world.get(kube::kPersistentVolumeClaims, "shop", "data-db-0");
  ASSERT_TRUE(claim);
  EXPECT_EQ(api::text_at(*claim, {"status", "phase"}), "Bound");
  const std::string home = world.node_of("db-0");
  world.edit(kube::kNodes, "", home, [](Json& node) { node["spec"]["unschedulable"] = true; });
  world.remove(kube::kPods, "shop", "db-0");
  world.advance(seconds(10));
  EXPECT_EQ(home, "node-a1");
  EXPECT_EQ(world.node_of("db-0"), "node-a2") << "its volume is in zone a";
  EXPECT_EQ(uid_of(*world.get(kube::kPersistentVolumeClaims, "shop", "data-db-0")), uid_of(*claim));
}

// --- DaemonSet

TEST(DaemonSetTest, RunsOnePodPerEligibleNode) {
  World world;
  world.add_nodes(3);
  world.add(objects::node("special", "4", "8Gi", {{"disk", "ssd"}}));
  world.edit(kube::kNodes, "", "node-1", [](Json& node) { node["spec"]["unschedulable"] = true; });
  world.edit(kube::kNodes, "", "node-2", [](Json& node) {
    node["spec"]["taints"] = Json::array({Json{{"key", "dedicated"}, {"value", "x"}, {"effect", "NoSchedule"}}});
  });
  world.add(objects::daemon_set("shop", "agent", "100m", "64Mi"));
  Json on_ssd = objects::daemon_set("kube-system", "ssd", "100m", "64Mi");
  objects::template_of(on_ssd)["spec"]["nodeSelector"] = {{"disk", "ssd"}};
  world.add(on_ssd);
  world.advance(seconds(5));
  std::set<std::string> nodes;
  for (const Object& pod : world.pods()) nodes.insert(api::text_at(*pod, {"spec", "nodeName"}));
  EXPECT_EQ(nodes, (std::set<std::string>{"node-1", "node-3", "special"}))
      << "cordon does not matter, a foreign taint does";
  EXPECT_EQ(world.status(kube::kDaemonSets, "agent", "desiredNumberScheduled"), 3);
  EXPECT_EQ(world.status(kube::kDaemonSets, "agent", "numberReady"), 3);
  ASSERT_EQ(world.pods("kube-system").size(), 1U);
  EXPECT_EQ(api::text_at(*world.pods("kube-system").front(), {"spec", "nodeName"}), "special");
}

TEST(DaemonSetTest, FollowsNodesThatComeGoAndChange) {
  World world;
  world.add_nodes(1);
  world.add(objects::daemon_set("shop", "agent", "100m", "64Mi"));
  world.advance(seconds(5));
  world.add(objects::node("node-2", "4", "8Gi"));
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 2);
  world.edit(kube::kNodes, "", "node-1", [](Json& node) {
    node["spec"]["taints"] = Json::array({Json{{"key", "gone"}, {"effect", "NoExecute"}}});
  });
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 1);
  world.remove(kube::kNodes, "", "node-2");
  world.advance(minutes(2));
  EXPECT_EQ(world.pods().size(), 0U);
}

TEST(DaemonSetTest, ReplacesOldPodsOneByOne) {
  World world;
  world.add_nodes(3);
  world.add(objects::daemon_set("shop", "agent", "100m", "64Mi"));
  world.advance(seconds(5));
  world.edit(kube::kDaemonSets, "shop", "agent",
             [](Json& object) { objects::annotate_pods(object, "example.dev/edition", "2"); });
  int least = 3;
  const auto done = [&] {
    least = std::min(least, world.ready_pods());
    return world.status(kube::kDaemonSets, "agent", "updatedNumberScheduled") == 3 && world.ready_pods() == 3;
  };
  EXPECT_TRUE(world.cluster.run_until(done, minutes(2)));
  EXPECT_EQ(least, 2);
}

// --- Job

struct JobCase {
  const char* name;
  const char* spec;  ///< Merged into the spec of the Job
  const char* exit_code;
  base::Duration after;
  const char* want_condition;
  const char* want_reason;
  int want_succeeded;
  int want_failed;
};
class JobTest : public testing::TestWithParam<JobCase> {};

TEST_P(JobTest, EndsAs) {
  const JobCase& c = GetParam();
  World world;
  world.add_nodes(3);
  Json job = objects::job("shop", "sum", 3, 2, "10s");
  job["spec"].merge_patch(Json::parse(c.spec));
  world.add(objects::annotate_pods(job, behaviour::kExitCode, c.exit_code));
  world.advance(c.after);
  const Object seen = world.get(kube::kJobs, "shop", "sum");
  EXPECT_EQ(world.condition(seen, c.want_condition), "True");
  EXPECT_EQ(world.condition(seen, c.want_condition, "reason"), c.want_reason);
  EXPECT_EQ(world.status(kube::kJobs, "sum", "succeeded"), c.want_succeeded);
  EXPECT_EQ(world.status(kube::kJobs, "sum", "failed"), c.want_failed);
  for (const Object& pod : world.pods()) EXPECT_FALSE(facts_of(*pod).is_active());
}

INSTANTIATE_TEST_SUITE_P(Job, JobTest,
                         testing::Values(JobCase{"Complete", "{}", "0", seconds(30), "Complete", "CompletionsReached",
                                                 3, 0},
                                         JobCase{"WithoutCompletionsOneIsEnough", R"({"completions":null})", "0",
                                                 seconds(30), "Complete", "CompletionsReached", 2, 0},
                                         JobCase{"FailedAfterTheBackoffLimit", R"({"backoffLimit":2,"parallelism":1})",
                                                 "1", minutes(3), "Failed", "BackoffLimitExceeded", 0, 3},
                                         JobCase{"FailedAtTheDeadline", R"({"activeDeadlineSeconds":5})", "0",
                                                 seconds(10), "Failed", "DeadlineExceeded", 0, 0}),
                         [](const auto& test) { return test.param.name; });

TEST(JobDetailsTest, RunsAtMostParallelismAtOnceAndPausesAfterFailures) {
  World world;
  world.add_nodes(3);
  Json job = objects::job("shop", "sum", 4, 2, "10s");
  world.add(objects::annotate_pods(job, behaviour::kExitCode, "1"));
  int most = 0;
  world.cluster.run_until(
      [&] {
        int active = 0;
        for (const Object& pod : world.pods()) active += facts_of(*pod).is_active();
        most = std::max(most, active);
        return false;
      },
      seconds(12));
  EXPECT_EQ(most, 2);
  EXPECT_EQ(world.pods().size(), 2U) << "two failures: a pause of 20 s";
  world.advance(seconds(21));
  EXPECT_EQ(world.pods().size(), 4U);
}

TEST(JobDetailsTest, ADeletedPodCountsAsFailedAndIsReplaced) {
  World world;
  world.add_nodes(3);
  world.add(objects::job("shop", "sum", 1, 1, "60s"));
  world.advance(seconds(5));
  world.remove(kube::kPods, "shop", world.pod_names().front());
  world.advance(seconds(30));
  EXPECT_EQ(world.status(kube::kJobs, "sum", "failed"), 1);
  EXPECT_EQ(world.status(kube::kJobs, "sum", "active"), 1);
}

TEST(JobDetailsTest, IsDeletedAfterItsTtl) {
  World world;
  world.add_nodes(3);
  Json job = objects::job("shop", "sum", 1, 1, "1s");
  job["spec"]["ttlSecondsAfterFinished"] = 60;
  world.add(job);
  world.advance(seconds(50));
  EXPECT_TRUE(world.get(kube::kJobs, "shop", "sum"));
  world.advance(seconds(30));
  EXPECT_FALSE(world.get(kube::kJobs, "shop", "sum"));
  EXPECT_TRUE(world.pods().empty()) << "the garbage collector takes its pods";
}

// --- hostile owners

TEST(WorkloadsTest, SurviveHostileSpecs) {
  World world;
  world.add_nodes(2);
  int n = 0;
  for (const char* kind : {"ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job"}) {
    for (
        const char* spec :
        {R"({"replicas":"many","template":5})", R"({"replicas":-3,"template":{"spec":[]},"selector":"x","strategy":7})",
         R"({"template":{"metadata":{"labels":[1]},"spec":{"containers":{}}},"replicas":1,"minReadySeconds":9223372036854775807})",
         R"({"completions":-1,"parallelism":"x","backoffLimit":-9,"activeDeadlineSeconds":-1,"volumeClaimTemplates":[3]})"}) {
      world.add({{"apiVersion", std::string(kind) == "Job" ? "batch/v1" : "apps/v1"},
                 {"kind", kind},
                 {"metadata", {{"name", "odd-" + std::to_string(++n)}, {"namespace", "shop"}}},
                 {"spec", Json::parse(spec)}});
    }
  }
  world.advance(minutes(1));
  SUCCEED() << "no crash, and the cluster came to rest";
}

}  // namespace workloads_test
}  // namespace simulator
