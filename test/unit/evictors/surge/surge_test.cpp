#include "evictors/surge/surge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "evictors/surge/surge_state.hpp"
#include "test/unit/evictors/objects.hpp"

namespace surge_test {

using namespace evictors_test;
using api::EvacuationPhase;
using api::Json;
using evictors::NextMove;
using evictors::ResponseClass;
using evictors::Rollback;
using evictors::Support;
using evictors::Verification;
using evictors::surge::SurgeEvictor;
using testing::HasSubstr;

constexpr const char* kMarkKey = "surge.evacuator.dev/in-progress";
constexpr const char* kNewUid = "aaaaaaaa-0000-4000-8000-000000000002";

Json pod_json(const std::string& name, const std::string& uid, const std::string& node, bool ready) {
  Json pod = {{"metadata",
               {{"namespace", "shop"},
                {"name", name},
                {"uid", uid},
                {"resourceVersion", "7"},
                {"creationTimestamp", "2026-11-21T11:00:00Z"},
                {"labels", {{"app", "web"}}},
                {"ownerReferences",
                 {{{"apiVersion", "apps/v1"},
                   {"kind", "ReplicaSet"},
                   {"name", "web-5f"},
                   {"uid", "rs"},
                   {"controller", true}}}}}},
              {"spec", {{"nodeName", node}, {"containers", Json::array()}}},
              {"status", {{"phase", "Running"}, {"conditions", Json::array()}}}};
  if (ready) pod["status"]["conditions"].push_back({{"type", "Ready"}, {"status", "True"}});
  return pod;
}

Json budget_json(const Json& spec, int desired, int expected) {
  Json budget = {{"metadata", {{"namespace", "shop"}, {"name", "web"}, {"uid", "b"}}},
                 {"spec", {{"selector", {{"matchLabels", {{"app", "web"}}}}}}},
                 {"status", {{"desiredHealthy", desired}, {"currentHealthy", expected}, {"expectedPods", expected}}}};
  budget["spec"].update(spec);
  return budget;
}

/// A Deployment shop/web with one pod on node-a. Tests edit its parts before they use them.
struct World {
  explicit World(EvacuationPhase phase = EvacuationPhase::kPreparing) : of(evacuation(phase)) {
    target.node_name = {"node-a"};
    target.meta.owner_references = {{"apps/v1", "ReplicaSet", "web-5f", "rs", true}};
    target.meta.labels = api::StringMap({{"app", "web"}});
    target.conditions = {{"Ready", api::ConditionStatus::kTrue, "", "", 0, {}}};
    of.spec.node_name = {"node-a"};
    of.spec.evictors = {{"surge", {}}};
  }

  /// Sets the evictor as already chosen.
  World& chosen(const std::string& mode = "ExtraReplica") {
    of.status.evictor = "surge";
    of.status.adapter = mode;
    return *this;
  }
  World& marked(int from, int to, const std::string& token = kToken, const std::string& mode = "ExtraReplica") {
    deployment["metadata"]["annotations"][kMarkKey] = Json{
        {"token", token}, {"evacuation", "web-1-7c1a8c1e"}, {"mode", mode}, {"from", from},
        {"to", to},       {"before", {"7c1a8c1e"}}}.dump();
    deployment["spec"]["replicas"] = to;
    for (const char* field : {"replicas", "updatedReplicas", "availableReplicas"}) deployment["status"][field] = to;
    return *this;
  }
  World& ref(const std::string& name, const std::string& value) {
    of.status.refs.emplace_back(name, value);
    return *this;
  }
  World& remembered() {
    return ref("workloadKind", "Deployment")
        .ref("workload", "web")
        .ref("workloadUid", "d")
        .ref("replicas", "1")
        .ref("marked", "true");
  }
  World& with_pod(Json pod) {
    pods.push_back(std::move(pod));
    return *this;
  }

  evictors::EvictorContext context() {
    documents.clear();
    const auto add = [this](const std::string& name, const Json& body) {
      documents.push_back({name, 200, body.dump()});
    };
    add("replicaset", replica_set);
    if (deployment_code == 200) {
      add("deployment", deployment);
    } else {
      documents.push_back({"deployment", deployment_code, "no"});
    }
    add("pods", {{"metadata", Json::object()}, {"items", pods}});
    add("budgets", {{"items", budgets}});
    add("autoscalers", {{"items", autoscalers}});
    if (!claim.is_null()) add("claim/data", claim);
    if (!holder.is_null()) add("holder", holder);
    auto result = evictors_test::context(of, target, now);
    if (pod_gone) result.pod = nullptr;
    result.parameters = of.spec.evictors[0].parameters;
    result.documents = documents;
    return result;
  }

  api::Evacuation of;
  api::Pod target = pod();
  bool pod_gone = false;
  base::TimePoint now = kNoon;
  Json pod_template = {{"metadata", {{"labels", {{"app", "web"}}}}}, {"spec", {{"containers", Json::array()}}}};
  Json replica_set = {
      {"metadata",
       {{"namespace", "shop"},
        {"name", "web-5f"},
        {"uid", "rs"},
        {"ownerReferences",
         {{{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "web"}, {"uid", "d"}, {"controller", true}}}}}},
      {"spec", {{"template", pod_template}}}};
  Json deployment = {
      {"metadata", {{"namespace", "shop"}, {"name", "web"}, {"uid", "d"}, {"resourceVersion", "9"}, {"generation", 3}}},
      {"spec", {{"replicas", 1}, {"selector", {{"matchLabels", {{"app", "web"}}}}}, {"template", pod_template}}},
      {"status", {{"observedGeneration", 3}, {"replicas", 1}, {"updatedReplicas", 1}, {"availableReplicas", 1}}}};
  int deployment_code = 200;
  Json pods = Json::array({pod_json("web-1", kUid, "node-a", true)});
  Json budgets = Json::array();
  Json autoscalers = Json::array();
  Json claim;
  Json holder;
  std::vector<evictors::Document> documents;
};

Json patch_of(const evictors::Action& action) { return Json::parse(action.request.body); }

// --- mark

TEST(SurgeMark, RoundTripsAndRefusesInvalidInput) {
  const evictors::surge::Mark mark{"e.1", "evac",          evictors::surge::Mode::kRollingRestart, 3, 3,
                                   "d.7", {"aaaa", "bbbb"}};
  EXPECT_EQ(evictors::surge::decode_mark(encode(mark)), mark);
  const std::string bad[] = {"",
                             "x",
                             "[]",
                             "{}",
                             R"({"token":"t","mode":"Dance","from":1,"to":2})",
                             R"({"token":"t","mode":"ExtraReplica","from":0,"to":1})",
                             R"({"token":"t","mode":"ExtraReplica","from":1,"to":900})",
                             R"({"token":"t","mode":"ExtraReplica","from":2,"to":1})",
                             R"({"mode":"ExtraReplica","from":1,"to":2})",
                             R"({"token":7,"mode":"ExtraReplica","from":"1","to":2})",
                             std::string(300'000, '{')};
  for (const std::string& each : bad) EXPECT_FALSE(evictors::surge::decode_mark(each)) << each.substr(0, 60);
}

// --- reads

std::vector<std::string> names_of(const std::vector<evictors::Read>& reads) {
  std::vector<std::string> names;
  for (const auto& read : reads) names.push_back(read.name);
  return names;
}

TEST(Surge, ReadsObjectsInSequence) {
  World world;
  auto context = world.context();
  context.documents = {};
  EXPECT_THAT(names_of(SurgeEvictor().reads(context)),
              testing::UnorderedElementsAre("replicaset", "autoscalers", "budgets"));
  const std::vector<evictors::Document> first = {{"replicaset", 200, world.replica_set.dump()}};
  context.documents = first;
  EXPECT_THAT(names_of(SurgeEvictor().reads(context)), testing::Contains("deployment"));
  const std::vector<evictors::Document> second = {first[0], {"deployment", 200, world.deployment.dump()}};
  context.documents = second;
  const auto reads = SurgeEvictor().reads(context);
  const auto pods = std::find_if(reads.begin(), reads.end(), [](const auto& read) { return read.name == "pods"; });
  ASSERT_NE(pods, reads.end());
  EXPECT_EQ(pods->request.target(), "/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb&limit=500");
}

TEST(Surge, ReadsEverythingAgainBeforeTheNextAttempt) {
  World world(EvacuationPhase::kBackoff);
  auto context = world.chosen().context();
  context.documents = {};
  EXPECT_THAT(names_of(SurgeEvictor().reads(context)),
              testing::UnorderedElementsAre("replicaset", "autoscalers", "budgets"));
  world.of.status.phase = EvacuationPhase::kInProgress;
  EXPECT_THAT(names_of(SurgeEvictor().reads(context)), testing::UnorderedElementsAre("replicaset"));
}

TEST(Surge, FindsTheWorkloadAfterThePodAndItsReplicaSetAreDeleted) {
  World world(EvacuationPhase::kVerifying);
  world.chosen().remembered();
  world.pod_gone = true;
  auto context = world.context();
  context.documents = {};
  EXPECT_THAT(names_of(SurgeEvictor().reads(context)), testing::Contains("deployment"));
}

// --- probe

struct ProbeRow {
  const char* name;
  std::function<void(World&)> change;
  const char* mode;  ///< Chosen mode, empty if the probe refuses
  const char* why = "";
};

void use_autoscaler(World& w) {
  w.autoscalers.push_back(
      {{"metadata", {{"name", "web"}}}, {"spec", {{"scaleTargetRef", {{"kind", "Deployment"}, {"name", "web"}}}}}});
}

void parameter(World& w, const char* name, const char* value) {
  w.of.spec.evictors[0].parameters.emplace_back(name, value);
}

void three(World& w) {
  w.deployment["spec"]["replicas"] = 3;
  w.with_pod(pod_json("web-2", "bbbbbbbb-2", "node-b", true)).with_pod(pod_json("web-3", "cccccccc-3", "node-c", true));
}

void check_probes(std::initializer_list<ProbeRow> rows) {
  for (const ProbeRow& row : rows) {
    World world;
    row.change(world);
    const auto probe = SurgeEvictor().probe(world.context());
    EXPECT_EQ(probe.adapter, row.mode) << row.name << ": " << probe.reason;
    EXPECT_EQ(probe.support, *row.mode ? Support::kSupported : Support::kUnsupported) << row.name;
    EXPECT_THAT(probe.reason, HasSubstr(row.why)) << row.name;
  }
}

TEST(SurgeProbe, ChoosesTheLeastDisruptiveModeByReplicasAndBudgets) {
  check_probes({
      {"single replica", [](World&) {}, "ExtraReplica"},
      {"three, no budget", three, "", "an eviction does not interrupt"},
      {"three, always", [](World& w) { three(w), parameter(w, "when", "Always"); }, "ExtraReplica"},
      {"three, others not ready", [](World& w) { w.deployment["spec"]["replicas"] = 3; }, "ExtraReplica"},
      {"three of three demanded",
       [](World& w) {
         three(w), w.budgets.push_back(budget_json({{"minAvailable", 3}}, 3, 3));
       },
       "ExtraReplica"},
      {"two of three demanded",
       [](World& w) {
         three(w), w.budgets.push_back(budget_json({{"minAvailable", 2}}, 2, 3));
       },
       "", "does not interrupt"},
      {"none may ever go, single",
       [](World& w) {
         w.budgets.push_back(budget_json({{"maxUnavailable", 0}}, 1, 1));
       },
       "RollingRestart"},
      {"all of them, single",
       [](World& w) {
         w.budgets.push_back(budget_json({{"minAvailable", "100%"}}, 1, 1));
       },
       "RollingRestart"},
      {"none may ever go, three",
       [](World& w) {
         three(w), w.budgets.push_back(budget_json({{"maxUnavailable", 0}}, 3, 3));
       },
       "", "set mode: RollingRestart"},
      {"half of a single one",
       [](World& w) {
         w.budgets.push_back(budget_json({{"minAvailable", "50%"}}, 1, 1));
       },
       "ExtraReplica"},
  });
}

TEST(SurgeProbe, ChoosesTheLeastDisruptiveModeByAutoscalerAndStrategy) {
  check_probes({
      {"autoscaler, single", use_autoscaler, "RollingRestart"},
      {"autoscaler, extra wanted", [](World& w) { use_autoscaler(w), parameter(w, "mode", "ExtraReplica"); }, "",
       "are managed by HorizontalPodAutoscaler web"},
      {"autoscaler and maxUnavailable 1",
       [](World& w) {
         use_autoscaler(w), w.deployment["spec"]["strategy"] = {{"rollingUpdate", {{"maxUnavailable", 1}}}};
       },
       "", "maxUnavailable to 0"},
      {"restart wanted", [](World& w) { parameter(w, "mode", "RollingRestart"); }, "RollingRestart"},
      {"Recreate",
       [](World& w) {
         w.deployment["spec"]["strategy"] = {{"type", "Recreate"}};
       },
       "", "strategy Recreate"},
  });
}

TEST(SurgeProbe, ReportsWhyAPodCannotBeSurged) {
  check_probes({
      {"operator above",
       [](World& w) {
         w.deployment["metadata"]["ownerReferences"] = {
             {{"apiVersion", "x/v1"}, {"kind", "Shop"}, {"name", "s"}, {"uid", "s"}, {"controller", true}}};
       },
       "", "is itself managed by Shop s"},
      {"exclusive volume",
       [](World& w) {
         w.claim = {{"spec", {{"accessModes", {"ReadWriteOnce"}}}}};
       },
       "", "PersistentVolumeClaim data"},
      {"shared volume",
       [](World& w) {
         w.claim = {{"spec", {{"accessModes", {"ReadWriteMany"}}}}};
       },
       "ExtraReplica"},
      {"too many", [](World& w) { w.deployment["spec"]["replicas"] = 101; }, "", "at most 100"},
      {"may not read", [](World& w) { w.deployment_code = 403; }, "", "apply config/surge"},
      {"StatefulSet",
       [](World& w) {
         w.target.meta.owner_references = {{"apps/v1", "StatefulSet", "db", "s", true}};
       },
       "", "ordinal identities"},
      {"Job",
       [](World& w) {
         w.target.meta.owner_references = {{"batch/v1", "Job", "j", "s", true}};
       },
       "", "a pod of Job j cannot be surged"},
      {"bare", [](World& w) { w.target.meta.owner_references.clear(); }, "", "no controller"},
      {"ReplicaSet alone",
       [](World& w) { w.replica_set["metadata"].erase("ownerReferences"), w.replica_set["spec"]["replicas"] = 1; },
       "ExtraReplica"},
  });
}

TEST(SurgeProbe, WaitsForUnreadableObjectsInsteadOfUsingTheNextEvictor) {
  World world;
  world.deployment_code = 503;
  auto probe = SurgeEvictor().probe(world.context());
  EXPECT_EQ(probe.support, Support::kUnavailable);
  EXPECT_TRUE(probe.hold);
  EXPECT_EQ(probe.until, kNoon + base::seconds(5));
  auto nothing_read = world.context();
  nothing_read.documents = {};
  EXPECT_EQ(SurgeEvictor().probe(nothing_read).support, Support::kUnavailable);
  EXPECT_TRUE(SurgeEvictor().needs_capacity(nothing_read)) << "a surge pod may be needed";
  world.target.meta.owner_references = {{"batch/v1", "Job", "j", "s", true}};
  EXPECT_FALSE(SurgeEvictor().needs_capacity(world.context()));
}

TEST(SurgeProbe, UsesTheProgressDeadlineOfTheDeployment) {
  World world;
  world.deployment["spec"]["progressDeadlineSeconds"] = 90;
  EXPECT_EQ(SurgeEvictor().probe(world.context()).total, base::seconds(90));
  world.of.spec.timeouts.total = base::seconds(40);
  EXPECT_EQ(SurgeEvictor().probe(world.context()).total, base::seconds(40));
}

TEST(Surge, ChecksItsParameters) {
  const auto errors =
      SurgeEvictor().validate({{"mode", "Sideways"}, {"when", "Never"}, {"speed", "9"}}, api::FieldPath("p"));
  std::string all;
  for (const auto& error : errors) all += error.to_string() + "\n";
  EXPECT_THAT(all, HasSubstr("p.mode: must be Auto, ExtraReplica or RollingRestart, not Sideways"));
  EXPECT_THAT(all, HasSubstr("p.when: must be Outage or Always, not Never"));
  EXPECT_THAT(all, HasSubstr("p.speed: unknown parameter"));
}

// --- plan

TEST(SurgePlan, BeginsWithReplicasAndMarkInOneGuardedPatch) {
  World world;
  const auto plan = SurgeEvictor().plan(world.chosen().context());
  ASSERT_EQ(plan.next, NextMove::kAct) << plan.why;
  EXPECT_EQ(plan.action->name, "BeginSurge");
  EXPECT_EQ(plan.action->request.path, "/apis/apps/v1/namespaces/shop/deployments/web");
  const Json patch = patch_of(*plan.action);
  EXPECT_EQ(patch["metadata"]["resourceVersion"], "9");
  EXPECT_EQ(patch["metadata"]["uid"], "d");
  EXPECT_EQ(patch["spec"], (Json{{"replicas", 2}}));
  const auto mark = evictors::surge::decode_mark(patch["metadata"]["annotations"][kMarkKey].get<std::string>());
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->token, kToken);
  EXPECT_EQ(mark->from, 1);
  EXPECT_EQ(mark->before, std::set<std::string>{"7c1a8c1e"});
}

TEST(SurgePlan, RestartsByTheTemplate) {
  World world;
  const auto plan = SurgeEvictor().plan(world.chosen("RollingRestart").context());
  ASSERT_EQ(plan.next, NextMove::kAct) << plan.why;
  const Json patch = patch_of(*plan.action);
  EXPECT_EQ(patch["spec"]["template"]["metadata"]["annotations"]["surge.evacuator.dev/restarted-for"], kToken);
  EXPECT_FALSE(patch["spec"].contains("replicas"));
}

struct StepRow {
  const char* name;
  EvacuationPhase phase;
  std::function<void(World&)> change;
  NextMove next;
  const char* action = "";
  const char* why = "";
};

std::function<void(World&)> extra(bool ready, const char* node = "node-b") {
  return [=](World& w) { w.marked(1, 2).with_pod(pod_json("web-9", kNewUid, node, ready)); };
}

void check_steps(std::initializer_list<StepRow> rows) {
  for (const StepRow& row : rows) {
    World world(row.phase);
    row.change(world.chosen());
    const auto plan = SurgeEvictor().plan(world.context());
    EXPECT_EQ(plan.next, row.next) << row.name << ": " << plan.why;
    EXPECT_EQ(plan.action ? plan.action->name : "", row.action) << row.name;
    EXPECT_THAT(plan.why, HasSubstr(row.why)) << row.name;
  }
}

TEST(SurgePlan, TakesTheNextStepWhilePreparing) {
  check_steps({
      {"marked", EvacuationPhase::kPreparing, [](World& w) { w.marked(1, 2); }, NextMove::kProceed},
      {"paused", EvacuationPhase::kPreparing, [](World& w) { w.deployment["spec"]["paused"] = true; }, NextMove::kWait,
       "", "it is paused"},
      {"rollout", EvacuationPhase::kPreparing, [](World& w) { w.deployment["status"]["updatedReplicas"] = 0; },
       NextMove::kWait, "", "rollout"},
      {"not yet observed", EvacuationPhase::kPreparing, [](World& w) { w.deployment["metadata"]["generation"] = 4; },
       NextMove::kWait, "", "rollout"},
      {"another surge", EvacuationPhase::kPreparing,
       [](World& w) {
         w.marked(1, 2, "other.1").holder = {{"metadata", {{"uid", "other"}}}, {"status", {{"phase", "InProgress"}}}};
       },
       NextMove::kWait, "", "Evacuation web-1-7c1a8c1e, which surges"},
      {"another surge that ended", EvacuationPhase::kPreparing,
       [](World& w) {
         w.marked(1, 2, "other.1").holder = {{"metadata", {{"uid", "other"}}}, {"status", {{"phase", "Failed"}}}};
       },
       NextMove::kAct, "ReleaseOrphanedSurge"},
      {"another surge that ends", EvacuationPhase::kPreparing,
       [](World& w) {
         w.marked(1, 2, "other.1").holder = {{"metadata", {{"uid", "other"}, {"finalizers", {"x"}}}},
                                             {"status", {{"phase", "Failed"}}}};
       },
       NextMove::kWait},
      {"unreadable mark", EvacuationPhase::kPreparing,
       [](World& w) { w.deployment["metadata"]["annotations"][kMarkKey] = "hello"; }, NextMove::kWait, "",
       "removed manually"},
  });
}

TEST(SurgePlan, TakesTheNextStepWithTheExtraPod) {
  check_steps({
      {"no pod yet", EvacuationPhase::kInProgress, [](World& w) { w.marked(1, 2); }, NextMove::kWait, "",
       "to create the surge pod"},
      {"pod not ready", EvacuationPhase::kInProgress, extra(false), NextMove::kWait, "", "pod web-9 to be ready"},
      {"pod ready", EvacuationPhase::kInProgress, extra(true), NextMove::kAct, "PostEviction"},
      {"pod ready on the source", EvacuationPhase::kInProgress, extra(true, "node-a"), NextMove::kWait},
      {"still ready when asking", EvacuationPhase::kRequesting, extra(true), NextMove::kAct, "PostEviction"},
      {"no longer ready", EvacuationPhase::kRequesting, extra(false), NextMove::kWait},
      {"rollout meanwhile", EvacuationPhase::kInProgress,
       [](World& w) { extra(true)(w), w.deployment["status"]["updatedReplicas"] = 1; }, NextMove::kWait, "", "rollout"},
      {"scaled up meanwhile", EvacuationPhase::kInProgress,
       [](World& w) {
         extra(true)(w), w.deployment["spec"]["replicas"] = 5, w.deployment["status"]["replicas"] = 5,
                         w.deployment["status"]["updatedReplicas"] = 5;
       },
       NextMove::kAct, "PostEviction"},
      {"ready for too short", EvacuationPhase::kInProgress,
       [](World& w) {
         extra(true)(w), w.deployment["spec"]["minReadySeconds"] = 30, w.deployment["status"]["availableReplicas"] = 1;
       },
       NextMove::kWait, "", "minReadySeconds"},
      {"restarting", EvacuationPhase::kInProgress,
       [](World& w) { w.marked(1, 1, kToken, "RollingRestart").with_pod(pod_json("web-9", kNewUid, "node-b", true)); },
       NextMove::kWait, "", "its owner deletes the pod"},
      {"not readable", EvacuationPhase::kInProgress, [](World& w) { w.deployment_code = 500; }, NextMove::kWait, "",
       "responded with 500"},
  });
}

TEST(SurgePlan, ADryRunOnlySendsADryRunRequest) {
  World world(EvacuationPhase::kRequesting);
  world.of.spec.dry_run = true;
  const auto plan = SurgeEvictor().plan(world.chosen().context());
  ASSERT_EQ(plan.next, NextMove::kAct);
  EXPECT_EQ(plan.action->request.query, "dryRun=All");
  const auto verdict =
      SurgeEvictor().classify(world.context(), *plan.action, kube::Response{200, R"({"kind":"Deployment"})", {}, ""});
  EXPECT_EQ(verdict.answer, ResponseClass::kAcceptedInBackground);
}

// --- failures

TEST(Surge, ReportsTheFailure) {
  const auto failure = [](const std::function<void(World&)>& change) {
    World world(EvacuationPhase::kInProgress);
    change(world.chosen().remembered());
    const auto seen = SurgeEvictor().observe(world.context());
    return seen.failed ? seen.failed->reason + (seen.failed->retryable ? "+" : "") : std::string();
  };
  EXPECT_EQ(failure([](World& w) { w.marked(1, 2); }), "");
  EXPECT_EQ(failure([](World&) {}), "MarkRemoved");
  EXPECT_EQ(failure([](World& w) { w.marked(1, 2).deployment["spec"]["replicas"] = 1; }), "ScaledMeanwhile");
  EXPECT_EQ(failure([](World& w) { w.deployment_code = 404; }), "WorkloadGone");
  EXPECT_EQ(failure([](World& w) { w.marked(1, 2).deployment["metadata"]["uid"] = "another"; }), "WorkloadGone");
  EXPECT_EQ(failure([](World& w) { w.deployment_code = 503; }), "") << "may heal";
  EXPECT_EQ(failure([](World& w) { w.marked(1, 2).with_pod(pod_json("web-9", kNewUid, "node-a", false)); }),
            "LandedOnSourceNode+");
  EXPECT_EQ(failure([](World& w) {
              w.marked(1, 1, kToken, "RollingRestart").with_pod(pod_json("web-9", kNewUid, "node-a", false));
            }),
            "LandedOnSourceNode+");
}

// --- undo

TEST(SurgeUndo, RestoresReplicasUnlessTheyWereChanged) {
  World world(EvacuationPhase::kAborting);
  world.chosen().remembered().marked(1, 2);
  EXPECT_EQ(SurgeEvictor().undone(world.context()), Rollback::kPending);
  auto actions = SurgeEvictor().undo(world.context());
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].name, "EndSurge");
  Json patch = patch_of(actions[0]);
  EXPECT_EQ(patch["spec"], (Json{{"replicas", 1}}));
  EXPECT_TRUE(patch["metadata"]["annotations"][kMarkKey].is_null());
  EXPECT_EQ(patch["metadata"]["resourceVersion"], "9");

  world.deployment["spec"]["replicas"] = 4;
  patch = patch_of(SurgeEvictor().undo(world.context())[0]);
  EXPECT_FALSE(patch.contains("spec")) << "their number stays";
}

TEST(SurgeUndo, MarksAReadySurplusPodFirst) {
  World world(EvacuationPhase::kAborting);
  world.chosen().remembered().marked(1, 2).with_pod(pod_json("web-9", kNewUid, "node-b", true));
  const auto actions = SurgeEvictor().undo(world.context());
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(actions[0].name, "MarkSurplusPod");
  EXPECT_EQ(actions[0].request.path, "/api/v1/namespaces/shop/pods/web-9");
  world.pods[1]["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] = "-1000000";
  EXPECT_EQ(SurgeEvictor().undo(world.context())[0].name, "EndSurge");
  world.pods[1] = pod_json("web-9", kNewUid, "node-b", false);
  EXPECT_EQ(SurgeEvictor().undo(world.context())[0].name, "EndSurge") << "an unready pod goes first anyway";
}

TEST(SurgeUndo, RestoresTheTemplateUnlessItWasChanged) {
  World world(EvacuationPhase::kAborting);
  world.chosen("RollingRestart").remembered().marked(1, 1, kToken, "RollingRestart");
  const Json::json_pointer annotation("/spec/template/metadata/annotations/surge.evacuator.dev~1restarted-for");
  world.deployment[annotation] = kToken;
  Json patch = patch_of(SurgeEvictor().undo(world.context())[0]);
  const Json::json_pointer annotations("/spec/template/metadata/annotations");
  ASSERT_TRUE(patch.contains(annotations)) << patch;
  EXPECT_TRUE(patch[annotations].is_null()) << "ours was the only one";
  world.deployment[annotations]["other"] = "x";
  world.replica_set[annotations]["other"] = "x";
  patch = patch_of(SurgeEvictor().undo(world.context())[0]);
  ASSERT_TRUE(patch.contains(annotation)) << patch;
  EXPECT_TRUE(patch[annotation].is_null());
  world.deployment["spec"]["template"]["spec"]["hostNetwork"] = true;
  patch = patch_of(SurgeEvictor().undo(world.context())[0]);
  EXPECT_FALSE(patch.contains("spec")) << "a rollout of theirs is not touched";
}

TEST(SurgeUndo, ReportsWhenItIsDone) {
  const auto undone = [](const std::function<void(World&)>& change) {
    World world(EvacuationPhase::kAborting);
    change(world.chosen());
    return SurgeEvictor().undone(world.context());
  };
  const auto sent = [](World& w, bool resolved) {
    w.of.status.intent = api::EvacuationIntent{"BeginSurge", kToken, kNoon, resolved, "", ""};
  };
  EXPECT_EQ(undone([](World&) {}), Rollback::kNothingToDo);
  EXPECT_EQ(undone([](World& w) { w.marked(1, 2, "other.1"); }), Rollback::kNothingToDo);
  EXPECT_EQ(undone([](World& w) { w.remembered(); }), Rollback::kComplete);
  EXPECT_EQ(undone([&](World& w) { sent(w, false); }), Rollback::kPending) << "may be on its way";
  EXPECT_EQ(undone([&](World& w) { sent(w, false), w.now = kNoon + base::seconds(35); }), Rollback::kComplete);
  EXPECT_EQ(undone([](World& w) { w.remembered().deployment_code = 500; }), Rollback::kPending);
  EXPECT_EQ(undone([](World& w) { w.remembered().deployment_code = 404; }), Rollback::kComplete);
}

TEST(Surge, NeverChangesAForeignMark) {
  World world(EvacuationPhase::kAborting);
  world.chosen().remembered().marked(1, 2, "other.1");
  EXPECT_TRUE(SurgeEvictor().undo(world.context()).empty());
  EXPECT_TRUE(SurgeEvictor().cleanup(world.context()).empty());
  EXPECT_FALSE(SurgeEvictor().departing(world.context()));
  world.pod_gone = true;
  EXPECT_FALSE(SurgeEvictor().verify(world.context()).action);
}

// --- verification after the pod has left

TEST(SurgeVerify, RestoresReplicasAndReportsTheReplacement) {
  World world(EvacuationPhase::kVerifying);
  world.chosen().remembered().ref("replacement", kNewUid).marked(1, 2);
  world.pods =
      Json::array({pod_json("web-9", kNewUid, "node-b", true), pod_json("web-10", "dddddddd-4", "node-a", true)});
  world.pod_gone = true;
  auto arrival = SurgeEvictor().verify(world.context());
  EXPECT_EQ(arrival.state, Verification::State::kArrived);
  EXPECT_TRUE(arrival.unfinished);
  ASSERT_TRUE(arrival.action && arrival.replacement);
  EXPECT_EQ(arrival.action->name, "MarkSurplusPod");
  EXPECT_THAT(arrival.action->request.path, HasSubstr("/pods/web-10")) << "the right one goes";
  EXPECT_EQ(arrival.replacement->name, "web-9");

  world.pods.erase(1);
  arrival = SurgeEvictor().verify(world.context());
  EXPECT_EQ(patch_of(*arrival.action)["spec"], (Json{{"replicas", 1}}));

  world.deployment["metadata"].erase("annotations");
  world.deployment["spec"]["replicas"] = 1;
  arrival = SurgeEvictor().verify(world.context());
  EXPECT_FALSE(arrival.action || arrival.unfinished);
  EXPECT_EQ(arrival.state, Verification::State::kArrived);
}

TEST(SurgeVerify, WaitsForMissingObjects) {
  World world(EvacuationPhase::kVerifying);
  world.chosen().remembered();
  world.pods = Json::array({pod_json("web-9", kNewUid, "node-b", false)});
  world.pod_gone = true;
  EXPECT_EQ(SurgeEvictor().verify(world.context()).state, Verification::State::kPending);
  world.deployment_code = 503;
  EXPECT_TRUE(SurgeEvictor().verify(world.context()).unfinished);
  world.deployment_code = 404;
  EXPECT_EQ(SurgeEvictor().verify(world.context()).state, Verification::State::kNotExpected);
}

// --- hostile documents

TEST(Surge, SurvivesInvalidInput) {
  const std::string bodies[] = {"",
                                "null",
                                "[]",
                                "{}",
                                "<html>",
                                R"({"metadata":7,"spec":[],"status":"x"})",
                                R"({"metadata":{"name":"web","uid":"d","annotations":"x"},"spec":{"replicas":"many"}})",
                                R"({"items":[{"metadata":{"uid":1}},null,7],"metadata":[]})",
                                std::string(5000, '[')};
  for (const std::string& body : bodies) {
    for (const auto phase : {EvacuationPhase::kPreparing, EvacuationPhase::kInProgress, EvacuationPhase::kAborting}) {
      World world(phase);
      world.chosen().remembered();
      auto context = world.context();
      for (auto& document : world.documents) document.body = body;
      context.documents = world.documents;
      (void)SurgeEvictor().reads(context);
      (void)SurgeEvictor().probe(context);
      (void)SurgeEvictor().observe(context);
      (void)SurgeEvictor().undone(context);
      EXPECT_NE(SurgeEvictor().plan(context).next, NextMove::kAct) << body.substr(0, 40);
      EXPECT_TRUE(SurgeEvictor().undo(context).empty()) << body.substr(0, 40);
    }
  }
}

}  // namespace surge_test
