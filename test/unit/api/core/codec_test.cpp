#include "api/core/codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/core/pvc_risk.hpp"

namespace core_codec_test {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

base::TimePoint at(const char* text) { return base::parse_time(text).value(); }

constexpr const char* kPod = R"({
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {
    "name": "web-1", "namespace": "shop", "uid": "016da400-760b-46f1-844d-9b343c6af858", "resourceVersion": "815",
    "generation": 3, "creationTimestamp": "2026-11-21T03:00:00Z", "deletionTimestamp": "2026-11-21T04:00:00.5Z",
    "labels": {"app": "web", "tier": "a\"b"},
    "annotations": {"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "o-1", "controller": true}],
    "finalizers": ["a/b"],
    "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}]
  },
  "spec": {
    "nodeName": "n1", "schedulerName": "default-scheduler", "priority": 10, "priorityClassName": "high",
    "nodeSelector": {"disk": "ssd"}, "hostNetwork": true, "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "tolerations": [
      {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
      {"key": "b", "value": "v"},
      {"key": "c", "operator": "Gt", "value": "3"},
      {"key": "d", "operator": "Exists", "effect": "Future"}],
    "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
      "labelSelector": {"matchLabels": {"app": "web"}}, "minDomains": 3, "nodeAffinityPolicy": "Ignore",
      "nodeTaintsPolicy": "Honor", "matchLabelKeys": ["pod-template-hash"]}],
    "containers": [{"name": "c", "image": "web:1", "env": [{"name": "A", "value": "{[\"}"}],
      "resources": {"requests": {"memory": "1Gi", "cpu": "250m"}, "limits": {"cpu": 2}},
      "ports": [{"containerPort": 80}, {"containerPort": 8080, "hostPort": 8080}, {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]}],
    "initContainers": [{"name": "side", "restartPolicy": "Always"}, {"name": "once"}],
    "volumes": [
      {"name": "data", "persistentVolumeClaim": {"claimName": "data-web"}}, {"name": "tmp", "emptyDir": {}},
      {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}, {"name": "host", "hostPath": {"path": "/"}},
      {"name": "s", "secret": {"secretName": "x"}}, {"name": "cm", "configMap": {}}, {"name": "p", "projected": {}}],
    "overhead": {"cpu": "10m"}, "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    "resourceClaims": [{"name": "gpu"}], "schedulingGates": [{"name": "g"}], "schedulingGroup": {"podGroupName": "g"}
  },
  "status": {
    "phase": "Running", "reason": "Odd", "qosClass": "Burstable", "startTime": "2026-11-21T03:00:01Z",
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T03:00:09Z"}],
    "containerStatuses": [{"name": "c", "restartCount": 4, "ready": true, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
      "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-21T03:00:05Z"}}}],
    "initContainerStatuses": [{"name": "once", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}],
    "ephemeralContainerStatuses": [{"name": "debug"}]
  }
})";

TEST(DecodePodTest, ReadsTheMetadata) {
  const auto pod = api::decode_pod(kPod);
  ASSERT_TRUE(pod) << pod.error().message;
  const api::ObjectMeta& meta = pod->meta;
  EXPECT_EQ(meta.key().to_string(), "shop/web-1");
  EXPECT_EQ(meta.uid, "016da400-760b-46f1-844d-9b343c6af858");
  EXPECT_EQ(meta.resource_version, "815");
  EXPECT_EQ(meta.generation, 3);
  EXPECT_EQ(meta.creation_timestamp, at("2026-11-21T03:00:00Z"));
  EXPECT_EQ(meta.deletion_timestamp, at("2026-11-21T04:00:00.5Z"));
  EXPECT_EQ(meta.labels, (api::StringMap{{"app", "web"}, {"tier", "a\"b"}}));
  EXPECT_EQ(meta.annotations, (api::StringMap{{"note", "x"}})) << "last-applied-configuration is dropped";
  EXPECT_THAT(meta.owner_references, ElementsAre(api::OwnerReference{"apps/v1", "ReplicaSet", "web", "o-1", true}));
  EXPECT_THAT(meta.finalizers, ElementsAre("a/b"));
}

TEST(DecodePodTest, ReadsTheSpec) {
  const auto pod = api::decode_pod(kPod);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->node_name.value, "n1");
  EXPECT_EQ(pod->priority, 10);
  EXPECT_EQ(pod->priority_class_name, "high");
  EXPECT_EQ(pod->node_selector.value("disk"), "ssd");
  EXPECT_TRUE(pod->host_network && pod->uses_resource_claims && pod->has_scheduling_gates && pod->has_scheduling_group);
  EXPECT_EQ(pod->termination_grace_period_seconds, 30);
  EXPECT_EQ(pod->restart_policy, "Always");
  EXPECT_EQ(pod->scheduler_name, "default-scheduler");
  EXPECT_THAT(pod->overhead, ElementsAre(Pair("cpu", api::Quantity::from_milli(10))));
  EXPECT_THAT(pod->pod_requests, ElementsAre(Pair("cpu", api::Quantity::from_units(1))));
  EXPECT_THAT(pod->pod_limits, ElementsAre(Pair("cpu", api::Quantity::from_units(2))));
  EXPECT_EQ(pod->affinity, nullptr);
}

TEST(DecodePodTest, ReadsContainersWithSortedResourcesAndHostPorts) {
  const auto pod = api::decode_pod(kPod);
  ASSERT_TRUE(pod);
  ASSERT_EQ(pod->containers.size(), 1U);
  const api::Container& container = pod->containers[0];
  EXPECT_EQ(container.image, "web:1");
  EXPECT_THAT(container.requests, ElementsAre(Pair("cpu", api::Quantity::from_milli(250)),
                                              Pair("memory", api::Quantity::from_units(1 << 30))));
  EXPECT_THAT(container.limits, ElementsAre(Pair("cpu", api::Quantity::from_units(2)))) << "a bare number counts, too";
  EXPECT_THAT(container.host_ports, ElementsAre(api::HostPort{"", "TCP", 8080}, api::HostPort{"10.0.0.1", "UDP", 53}));
  ASSERT_EQ(pod->init_containers.size(), 2U);
  EXPECT_TRUE(pod->init_containers[0].restart_always);
  EXPECT_FALSE(pod->init_containers[1].restart_always);
}

TEST(DecodePodTest, ReadsTolerationsAndIgnoresUnknownOnes) {
  const auto pod = api::decode_pod(kPod);
  ASSERT_TRUE(pod);
  EXPECT_THAT(
      pod->tolerations,
      ElementsAre(api::Toleration{"a", true, "", api::TaintEffect::kNoExecute, base::seconds(300)},
                  api::Toleration{"b", false, "v", std::nullopt, std::nullopt},
                  api::Toleration{"c", false, "3", std::nullopt, std::nullopt, api::TolerationComparison::kGreaterThan},
                  api::Toleration{"d", true, "", std::nullopt, std::nullopt, api::TolerationComparison::kNever}))
      << "one that we do not know still counts";
}

struct PhaseCase {
  std::string name;
  std::string status;
  api::PodPhase phase;
};

class DecodePhaseTest : public testing::TestWithParam<PhaseCase> {};

TEST_P(DecodePhaseTest, KeepsAMissingOneApart) {
  const auto pod = api::decode_pod("{" + GetParam().status + "}");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->phase, GetParam().phase);
  EXPECT_FALSE(pod->is_terminal());
}

INSTANTIATE_TEST_SUITE_P(
    Phase, DecodePhaseTest,
    testing::Values(PhaseCase{"NoStatus", "", api::PodPhase::kNone},
                    PhaseCase{"EmptyStatus", R"("status": {})", api::PodPhase::kNone},
                    PhaseCase{"EmptyPhase", R"("status": {"phase": ""})", api::PodPhase::kNone},
                    PhaseCase{"OfTheFuture", R"("status": {"phase": "Dreaming"})", api::PodPhase::kNone},
                    PhaseCase{"Pending", R"("status": {"phase": "Pending"})", api::PodPhase::kPending},
                    PhaseCase{"Unknown", R"("status": {"phase": "Unknown"})", api::PodPhase::kUnknown}),
    [](const auto& test) { return test.param.name; });

TEST(DecodePodTest, CountsAnEmptyOwner) {
  const auto pod = api::decode_pod(R"({"metadata": {"ownerReferences": [{"kind": "", "uid": ""}, 3, null]}})");
  ASSERT_TRUE(pod);
  EXPECT_THAT(pod->meta.owner_references, ElementsAre(api::OwnerReference{}));
}

TEST(DecodePodTest, DistinguishesAnEmptyNodeAffinityFromNone) {
  const auto empty = api::decode_pod(R"({"spec": {"affinity": {"nodeAffinity": {}}}})");
  const auto none = api::decode_pod(R"({"spec": {"affinity": {"nodeAffinity": null}}})");
  ASSERT_TRUE(empty && none);
  ASSERT_NE(empty->affinity, nullptr);
  EXPECT_TRUE(empty->affinity->has_node_affinity);
  EXPECT_EQ(none->affinity, nullptr);
}

/// Requirement of the only term of a pod's required node affinity.
struct RequirementTextCase {
  std::string name;
  std::string text;
  bool is_well_formed;
};

class DecodeRequirementTest : public testing::TestWithParam<RequirementTextCase> {};

TEST_P(DecodeRequirementTest, AcceptsWhatTheApiServerAccepts) {
  const auto pod = api::decode_pod(
      R"({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
          {"matchExpressions": [)" +
      GetParam().text + "]}]}}}}}");
  ASSERT_TRUE(pod) << pod.error().message;
  const auto& term = pod->affinity->required_node_terms->at(0);
  EXPECT_EQ(term.match_expressions.at(0).is_well_formed(), GetParam().is_well_formed);
}

INSTANTIATE_TEST_SUITE_P(
    Selector, DecodeRequirementTest,
    testing::Values(
        RequirementTextCase{"In", R"({"key": "a", "operator": "In", "values": ["b", ""]})", true},
        RequirementTextCase{"GtInteger", R"({"key": "a", "operator": "Gt", "values": ["5"]})", true},
        RequirementTextCase{"GtWord", R"({"key": "a", "operator": "Gt", "values": ["x"]})", false},
        RequirementTextCase{"GtSign", R"({"key": "a", "operator": "Gt", "values": ["+5"]})", false},
        RequirementTextCase{"GtMinus", R"({"key": "a", "operator": "Gt", "values": ["-5"]})", false},
        RequirementTextCase{"NoKey", R"({"operator": "Exists"})", false},
        RequirementTextCase{"KeyWithABlank", R"({"key": "a b", "operator": "Exists"})", false},
        RequirementTextCase{"ValueWithABlank", R"({"key": "a", "operator": "NotIn", "values": ["b c"]})", false},
        RequirementTextCase{"OperatorOfTheFuture", R"({"key": "a", "operator": "Near", "values": ["b"]})", false}),
    [](const auto& test) { return test.param.name; });

TEST(DecodePodTest, ReadsTopologySpread) {
  const auto pod = api::decode_pod(kPod);
  ASSERT_TRUE(pod);
  api::TopologySpreadConstraint want;
  want.max_skew = 2;
  want.topology_key = "zone";
  want.schedule_anyway = true;
  want.label_selector = api::LabelSelector{{{"app", api::SelectorOperator::kIn, {"web"}}}};
  want.min_domains = 3;
  want.honor_node_affinity = false;
  want.honor_node_taints = true;
  want.match_label_keys = {"pod-template-hash"};
  EXPECT_THAT(pod->topology_spread, ElementsAre(want));
}

TEST(DecodePodTest, ReadsTheSchedulingGroup) {
  EXPECT_EQ(api::decode_pod(kPod)->scheduling_group, "g");
  const auto odd = api::decode_pod(R"({"metadata":{"name":"p"},"spec":{"schedulingGroup":"g"}})");
  EXPECT_FALSE(odd->has_scheduling_group);
}

TEST(DecodeSchedulingPodGroup, KnowsBothSpellingsOfTheMode) {
  const auto is_whole = [](const char* mode) {
    const auto group = api::decode_scheduling_pod_group(
        std::string(R"({"metadata":{"name":"g"},"spec":{"disruptionMode":)") + mode + "}}");
    return group && group->is_disrupted_whole;
  };
  for (const char* whole : {R"({"all":{}})", R"("PodGroup")", R"("All")"}) EXPECT_TRUE(is_whole(whole)) << whole;
  for (const char* single : {R"({"single":{}})", R"("Pod")", "null", "3", "{}"})
    EXPECT_FALSE(is_whole(single)) << single;
}

TEST(DecodePodTest, ReadsVolumes) {
  using api::VolumeKind;
  const auto pod = api::decode_pod(kPod);
  ASSERT_TRUE(pod);
  const auto volume = [](VolumeKind kind, std::string name, std::string source = "") {
    api::Volume made{kind, std::move(source)};
    made.name = std::move(name);
    return made;
  };
  EXPECT_THAT(
      pod->volumes,
      ElementsAre(volume(VolumeKind::kPersistentVolumeClaim, "data", "data-web"), volume(VolumeKind::kEmptyDir, "tmp"),
                  volume(VolumeKind::kEphemeral, "scratch", "web-1-scratch"), volume(VolumeKind::kHostPath, "host"),
                  volume(VolumeKind::kSecret, ""), volume(VolumeKind::kConfigMap, ""), volume(VolumeKind::kOther, "")));
}

TEST(DecodePodTest, ReadsTheStatus) {
  const auto pod = api::decode_pod(kPod);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->phase, api::PodPhase::kRunning);
  EXPECT_EQ(pod->status_reason, "Odd");
  EXPECT_EQ(pod->qos_class, "Burstable");
  EXPECT_EQ(pod->start_time, at("2026-11-21T03:00:01Z"));
  EXPECT_TRUE(pod->is_ready());
  ASSERT_EQ(pod->container_statuses.size(), 3U);
  const api::ContainerStatus& main = pod->container_statuses[1];
  EXPECT_EQ(main.restart_count, 4);
  EXPECT_TRUE(main.ready);
  EXPECT_EQ(main.waiting_reason, "CrashLoopBackOff");
  EXPECT_EQ(main.last_terminated_reason, "OOMKilled");
  EXPECT_EQ(main.last_exit_code, 137);
  EXPECT_EQ(main.last_finished_at, at("2026-11-21T03:00:05Z"));
  EXPECT_TRUE(pod->container_statuses[0].is_init) << "in whatever order they stand";
  EXPECT_EQ(pod->container_statuses[0].exit_code, 0);
  EXPECT_TRUE(pod->container_statuses[2].is_ephemeral);
}

TEST(DecodePodTest, ReadsAffinityOfEveryKind) {
  const auto pod = api::decode_pod(R"({"spec": {"affinity": {
    "nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "cpus", "operator": "Gt", "values": ["4"]}],
         "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}, {}]},
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]},
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {}, "namespaces": ["x"]}]},
    "podAntiAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "host", "namespaceSelector": {"matchLabels": {"t": "1"}}}],
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 9, "podAffinityTerm": {"topologyKey": "rack",
        "matchLabelKeys": ["m"], "mismatchLabelKeys": ["n"]}}]}}}})");
  ASSERT_TRUE(pod);
  ASSERT_NE(pod->affinity, nullptr);
  const api::Affinity& affinity = *pod->affinity;
  ASSERT_TRUE(affinity.required_node_terms);
  ASSERT_EQ(affinity.required_node_terms->size(), 2U);
  EXPECT_THAT(affinity.required_node_terms->at(0).match_expressions,
              ElementsAre(api::SelectorRequirement{"cpus", api::SelectorOperator::kGt, {"4"}}));
  EXPECT_THAT(affinity.required_node_terms->at(0).match_fields,
              ElementsAre(api::SelectorRequirement{"metadata.name", api::SelectorOperator::kIn, {"n1"}}));
  EXPECT_EQ(affinity.required_node_terms->at(1), api::NodeSelectorTerm{});
  ASSERT_EQ(affinity.preferred_node_terms.size(), 1U);
  EXPECT_EQ(affinity.preferred_node_terms[0].weight, 7);
  ASSERT_EQ(affinity.required_pod_affinity.size(), 1U);
  EXPECT_EQ(affinity.required_pod_affinity[0].label_selector, api::LabelSelector{});
  EXPECT_THAT(affinity.required_pod_affinity[0].namespaces, ElementsAre("x"));
  ASSERT_EQ(affinity.required_pod_anti_affinity.size(), 1U);
  EXPECT_EQ(affinity.required_pod_anti_affinity[0].label_selector, std::nullopt);
  ASSERT_TRUE(affinity.required_pod_anti_affinity[0].namespace_selector);
  ASSERT_EQ(affinity.preferred_pod_anti_affinity.size(), 1U);
  EXPECT_EQ(affinity.preferred_pod_anti_affinity[0].first, 9);
  EXPECT_THAT(affinity.preferred_pod_anti_affinity[0].second.match_label_keys, ElementsAre("m"));
  EXPECT_THAT(affinity.preferred_pod_anti_affinity[0].second.mismatch_label_keys, ElementsAre("n"));
}

TEST(DecodePodTest, NeverMatchesAnUnknownSelectorOperator) {
  const auto pod =
      api::decode_pod(R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
    {"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Like","values":["x"]}]}]}}}}})");
  ASSERT_TRUE(pod);
  EXPECT_FALSE(pod->affinity->required_node_terms->at(0).match_expressions[0].matches({{"a", "x"}}));
}

TEST(DecodePodTest, DropsHugeAnnotations) {
  const std::string just_kept(8192, 'k');
  const std::string dropped(8193, 'd');
  const auto pod =
      api::decode_pod(R"({"metadata":{"annotations":{"keep":")" + just_kept + R"(","drop":")" + dropped + R"("}}})");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->meta.annotations, (api::StringMap{{"keep", just_kept}}));
}

TEST(DecodePodTest, SharesEqualLabels) {
  const std::string text = R"({"metadata":{"labels":{"app":"web","v":"1"}}})";
  const auto first = api::decode_pod(text);
  const auto second = api::decode_pod(text);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->meta.labels.begin(), second->meta.labels.begin());
}

TEST(DecodePodTest, TreatsWrongTypesAsAbsent) {
  const auto pod = api::decode_pod(R"({"metadata": {"name": 7, "labels": ["x"], "annotations": {"a": 1, "b": "2"},
    "generation": "x", "creationTimestamp": "yesterday", "deletionTimestamp": null, "ownerReferences": {"kind": "x"},
    "finalizers": [1, "f"], "namespace": "shop"},
    "spec": {"nodeName": {}, "containers": "none", "priority": 1.5, "hostNetwork": "yes", "tolerations": [3, null, {"key": "t", "operator": "Exists"}],
      "volumes": [{"name": "v", "emptyDir": null}], "terminationGracePeriodSeconds": 99999999999999999999},
    "status": []})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->meta.key().to_string(), "shop/");
  EXPECT_TRUE(pod->meta.labels.empty());
  EXPECT_EQ(pod->meta.annotations, (api::StringMap{{"b", "2"}}));
  EXPECT_EQ(pod->meta.generation, 0);
  EXPECT_FALSE(pod->meta.is_terminating());
  EXPECT_TRUE(pod->meta.owner_references.empty());
  EXPECT_THAT(pod->meta.finalizers, ElementsAre("f"));
  EXPECT_TRUE(pod->node_name.empty() && pod->containers.empty() && !pod->priority && !pod->host_network);
  ASSERT_FALSE(pod->tolerations.empty());
  EXPECT_EQ(pod->tolerations.back().key, "t");
  EXPECT_EQ(pod->volumes.at(0).kind, api::VolumeKind::kOther);
  EXPECT_EQ(pod->phase, api::PodPhase::kNone);
}

struct BrokenCase {
  std::string name;
  std::string text;
  std::string error;
};

class BrokenTextTest : public testing::TestWithParam<BrokenCase> {};

TEST_P(BrokenTextTest, IsReportedAsAnError) {
  const auto& [name, text, error] = GetParam();
  const auto pod = api::decode_pod(text);
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().code, base::ErrorCode::kInvalid);
  EXPECT_THAT(pod.error().message, HasSubstr("decoding a Pod: "s + error));
  EXPECT_FALSE(api::decode_meta(text));
  EXPECT_FALSE(api::decode_node(text));
  EXPECT_FALSE(api::for_each_item(text, [](std::string_view) -> base::Status { return base::Done{}; }));
  EXPECT_FALSE(api::split_watch_line(text));
}

INSTANTIATE_TEST_SUITE_P(CoreCodec, BrokenTextTest,
                         testing::Values(BrokenCase{"Empty", "", ""}, BrokenCase{"Blank", " \n", ""},
                                         BrokenCase{"Html", "<html><body>502 Bad Gateway</body></html>", ""},
                                         BrokenCase{"AnArray", "[]", "the text is not a JSON object"},
                                         BrokenCase{"AString", "\"pod\"", "the text is not a JSON object"},
                                         BrokenCase{"ANumber", "17", "the text is not a JSON object"},
                                         BrokenCase{"Null", "null", "the text is not a JSON object"},
                                         BrokenCase{"Truncated", R"({"metadata":{"name":"x")", ""},
                                         BrokenCase{"TruncatedInAString", R"({"metadata":{"name":"x)", ""},
                                         BrokenCase{"TrailingText", R"({"metadata":{}} {"metadata":{}})", ""},
                                         BrokenCase{"UnbalancedBombInside", "{\"a\":" + std::string(200000, '[') + "}",
                                                    ""},
                                         BrokenCase{"NoUtf8", "{\"metadata\":{\"name\":\"\xff\xfe\"}}", ""}),
                         [](const auto& test) { return test.param.name; });

TEST(DecodePodTest, SurvivesABalancedDepthBomb) {
  const std::string bomb =
      "{\"x\":" + std::string(100000, '[') + std::string(100000, ']') + ",\"metadata\":{\"name\":\"p\"}}";
  const auto pod = api::decode_pod(bomb);
  if (pod) {
    EXPECT_EQ(pod->meta.name, "p");
  }
}

TEST(DecodePodTest, SurvivesEveryTruncation) {
  const std::string whole = kPod;
  for (std::size_t length = 0; length < whole.size() - 1; ++length) {
    EXPECT_FALSE(api::decode_pod(whole.substr(0, length))) << length;
  }
}

TEST(DecodeNodeTest, ReadsTaintsResourcesAndConditions) {
  const auto node = api::decode_node(R"({"metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}, {"key": "f", "effect": "Future"}]},
    "status": {"capacity": {"cpu": "4", "pods": "110"}, "allocatable": {"pods": "110", "cpu": "3800m", "broken": "x"},
      "conditions": [{"type": "Ready", "status": "False"}, {"type": "MemoryPressure", "status": "Weird"}]}})");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->name().value, "n1");
  EXPECT_TRUE(node->unschedulable);
  EXPECT_THAT(node->taints, ElementsAre(api::Taint{"k", "v", api::TaintEffect::kNoExecute},
                                        api::Taint{"f", "", api::TaintEffect::kOther}));
  EXPECT_EQ(api::amount_of(node->capacity, "cpu"), api::Quantity::from_units(4));
  EXPECT_THAT(node->allocatable,
              ElementsAre(Pair("cpu", api::Quantity::from_milli(3800)), Pair("pods", api::Quantity::from_units(110))));
  EXPECT_FALSE(node->is_ready());
  EXPECT_EQ(node->conditions.at(1).status, api::ConditionStatus::kUnknown);
}

TEST(DecodePdbTest, ReadsSpecAndStatus) {
  const auto pdb = api::decode_pdb(R"({"apiVersion": "policy/v1", "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"minAvailable": "50%", "maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow",
      "selector": {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}},
    "status": {"observedGeneration": 2, "disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 4}})");
  ASSERT_TRUE(pdb);
  EXPECT_EQ(pdb->min_available, (api::IntOrPercent{50, true}));
  EXPECT_EQ(pdb->max_unavailable, (api::IntOrPercent{1, false}));
  EXPECT_TRUE(pdb->always_allow_unhealthy);
  EXPECT_FALSE(pdb->from_v1beta1);
  EXPECT_EQ(pdb->selector->requirements.size(), 2U);
  EXPECT_EQ(pdb->observed_generation, 2);
  EXPECT_EQ(pdb->disruptions_allowed, 1);
  EXPECT_EQ(pdb->current_healthy, 3);
  EXPECT_EQ(pdb->desired_healthy, 2);
  EXPECT_EQ(pdb->expected_pods, 4);
}

struct SelectorCase {
  std::string name;
  std::string selector;
  bool v1;
  bool v1beta1;
};

class PdbSelectorTest : public testing::TestWithParam<SelectorCase> {};

TEST_P(PdbSelectorTest, CoversAPodByTheRulesOfItsVersion) {
  const auto& [name, selector, v1, v1beta1] = GetParam();
  const std::string rest = R"(,"metadata":{"namespace":"shop"},"spec":{)" + selector + "}}";
  api::Pod pod;
  pod.meta.ns = "shop";
  pod.meta.labels = {{"app", "web"}};
  EXPECT_EQ(api::decode_pdb(R"({"apiVersion":"policy/v1")" + rest)->covers(pod), v1);
  EXPECT_EQ(api::decode_pdb(R"({"apiVersion":"policy/v1beta1")" + rest)->covers(pod), v1beta1);
  EXPECT_EQ(api::decode_pdb_v1beta1(R"({"x":1)" + rest)->covers(pod), v1beta1) << "an item of a v1beta1 list";
  pod.meta.ns = "other";
  EXPECT_FALSE(api::decode_pdb(R"({"apiVersion":"policy/v1")" + rest)->covers(pod));
}

INSTANTIATE_TEST_SUITE_P(
    CoreCodec, PdbSelectorTest,
    testing::Values(SelectorCase{"Absent", "", false, false}, SelectorCase{"Null", R"("selector":null)", false, false},
                    SelectorCase{"Empty", R"("selector":{})", true, false},
                    SelectorCase{"Matching", R"("selector":{"matchLabels":{"app":"web"}})", true, true},
                    SelectorCase{"Other", R"("selector":{"matchLabels":{"app":"db"}})", false, false}),
    [](const auto& test) { return test.param.name; });

struct WorkloadCase {
  std::string name;
  std::string text;
  std::string kind;
  std::int32_t replicas;
  std::int32_t ready;
};

class DecodeWorkloadTest : public testing::TestWithParam<WorkloadCase> {};

TEST_P(DecodeWorkloadTest, CountsReplicas) {
  const auto& [name, text, kind, replicas, ready] = GetParam();
  const auto workload = api::decode_workload(text);
  ASSERT_TRUE(workload);
  EXPECT_EQ(workload->kind, kind);
  EXPECT_EQ(workload->replicas, replicas);
  EXPECT_EQ(workload->ready_replicas, ready);
}

INSTANTIATE_TEST_SUITE_P(
    CoreCodec, DecodeWorkloadTest,
    testing::Values(
        WorkloadCase{"OfADeployment",
                     R"({"kind":"Deployment","spec":{"replicas":3},"status":{"readyReplicas":2,"replicas":3}})",
                     "Deployment", 3, 2},
        WorkloadCase{"OfAJob", R"({"kind":"Job","spec":{"parallelism":4,"completions":9},"status":{"active":1}})",
                     "Job", 4, 1},
        WorkloadCase{"OfADaemonSet",
                     R"({"kind":"DaemonSet","status":{"numberReady":5,"desiredNumberScheduled":6},"spec":{}})",
                     "DaemonSet", 6, 5},
        WorkloadCase{"OfOneThatLeavesThemOut", R"({"kind":"ReplicaSet","spec":{}})", "ReplicaSet", 1, 0},
        WorkloadCase{"OfAListItem", R"({"spec":{"replicas":0}})", "", 0, 0}),
    [](const auto& test) { return test.param.name; });

TEST(DecodeOtherKindsTest, ReadsTheNeededFields) {
  const auto priority = api::decode_priority_class(R"({"metadata":{"name":"high"},"value":1000,"globalDefault":true})");
  ASSERT_TRUE(priority);
  EXPECT_EQ(priority->value, 1000);
  EXPECT_TRUE(priority->global_default);
  const auto pvc =
      api::decode_pvc(R"({"metadata":{"name":"d"},"spec":{"volumeName":"pv1","storageClassName":"fast"}})");
  ASSERT_TRUE(pvc);
  EXPECT_EQ(pvc->volume_name, "pv1");
  EXPECT_EQ(pvc->storage_class, "fast");
  const auto pv = api::decode_pv(R"({"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":
    [{"key":"zone","operator":"In","values":["a"]}]}]}}}})");
  ASSERT_TRUE(pv);
  EXPECT_EQ(pv->required_node_terms.size(), 1U);
  EXPECT_FALSE(pv->is_local);
  for (const char* source : {"local", "hostPath"}) {
    const auto disk = api::decode_pv(R"({"spec":{")" + std::string(source) + R"(":{"path":"/mnt"}}})");
    EXPECT_TRUE(disk && disk->is_local) << source;
  }
  EXPECT_EQ(api::decode_namespace(R"({"metadata":{"name":"shop","labels":{"a":"b"}}})")->meta.labels.value("a"), "b");
  EXPECT_EQ(api::decode_meta(R"({"kind":"Whatever","metadata":{"name":"x"}})")->name, "x");
}

TEST(DecodeOtherKindsTest, ReadsWhetherAPvcCanBeUsedAgain) {
  const auto going = api::decode_pvc(R"({"metadata":{"name":"d","deletionTimestamp":"2026-11-21T12:00:00Z"},
    "spec":{"volumeName":"pv1"},"status":{"phase":"Bound"}})");
  EXPECT_TRUE(going->meta.is_terminating());
  EXPECT_EQ(going->volume_name, "pv1");
  for (const char* text : {R"({"spec":{"volumeName":"pv1"},"status":{"phase":"Lost"}})",
                           R"({"status":{"phase":"Lost"},"spec":{"volumeName":"pv1"}})"}) {
    EXPECT_EQ(api::decode_pvc(text)->volume_name, api::kLostVolume) << text;
  }
  EXPECT_EQ(api::decode_pvc(R"({"spec":{"volumeName":"pv1"},"status":{"phase":["Lost"]}})")->volume_name, "pv1");
}

TEST(ClaimRiskTest, IsAboutTheLastUseOfAVolume) {
  const auto pod = api::decode_pod(R"({"metadata":{"name":"p","uid":"u1"}})");
  const auto risk_of = [&](const char* text) { return api::pvc_risk(*api::decode_pvc(text), *pod); };
  EXPECT_EQ(risk_of(R"({"spec":{"volumeName":"pv1"},"status":{"phase":"Bound"}})"), api::PvcRisk::kNone);
  EXPECT_EQ(risk_of(R"({"status":{"phase":"Pending"}})"), api::PvcRisk::kNone);
  EXPECT_EQ(risk_of(R"({"status":{"phase":"Lost"}})"), api::PvcRisk::kLost);
  EXPECT_EQ(risk_of(R"({"metadata":{"deletionTimestamp":"2026-11-21T12:00:00Z"},"status":{"phase":"Lost"}})"),
            api::PvcRisk::kBeingDeleted);
  const char* owned = R"({"metadata":{"deletionTimestamp":"2026-11-21T12:00:00Z","ownerReferences":
    [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u1","controller":true}]}})";
  EXPECT_EQ(risk_of(owned), api::PvcRisk::kNone) << "made for its own ephemeral volume: it goes with the pod anyway";
  const char* owned_by_another = R"({"metadata":{"deletionTimestamp":"2026-11-21T12:00:00Z","ownerReferences":
    [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u2","controller":true}]}})";
  EXPECT_EQ(risk_of(owned_by_another), api::PvcRisk::kBeingDeleted);
}

TEST(DecodeOtherKindsTest, ReadsFieldsOfVolumes) {
  const auto pvc = api::decode_pvc(R"({"spec":{"accessModes":["ReadWriteOnce"],
    "resources":{"requests":{"storage":"10Gi"},"limits":{"storage":"20Gi"}}}})");
  EXPECT_EQ(pvc->request.units(), std::int64_t{10} << 30);
  EXPECT_EQ(pvc->access_modes, std::vector<std::string>{"ReadWriteOnce"});
  const auto pv =
      api::decode_pv(R"({"spec":{"claimRef":{"name":"a"},"storageClassName":"fast","accessModes":["ReadOnlyMany"],
    "capacity":{"storage":"5Gi"},"csi":{"driver":"ebs.csi.aws.com","volumeHandle":"vol-1"}}})");
  EXPECT_TRUE(pv->is_claimed);
  EXPECT_EQ(pv->storage_class, "fast");
  EXPECT_EQ(pv->csi_driver, "ebs.csi.aws.com");
  EXPECT_EQ(pv->capacity.units(), std::int64_t{5} << 30);
  const auto pod = api::decode_pod(R"({"metadata":{"name":"p"},"spec":{
    "volumes":[{"name":"s","ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"fast"}}}}],
    "resourceClaims":[{"name":"a","resourceClaimName":"gpu"},{"name":"b","resourceClaimTemplateName":"gpus"}]}})");
  EXPECT_EQ(pod->volumes.at(0), (api::Volume{api::VolumeKind::kEphemeral, "p-s", "fast", nullptr, "s"}));
  EXPECT_TRUE(pod->uses_resource_claims);
  EXPECT_TRUE(pod->makes_resource_claims);
  EXPECT_EQ(pod->resource_claims, std::vector<std::string>{"gpu"});
  EXPECT_FALSE(api::decode_pod(R"({"spec":{"resourceClaims":[]}})")->uses_resource_claims);
}

TEST(DecodeOtherKindsTest, ReadsFieldsThatDecideBetweenVolumes) {
  const auto pvc = api::decode_pvc(R"({"spec":{"volumeMode":"Block","volumeAttributesClassName":"gold",
    "selector":{"matchLabels":{"tier":"gold"}}}})");
  EXPECT_TRUE(pvc->wants_block);
  EXPECT_EQ(pvc->attributes_class, "gold");
  EXPECT_TRUE(pvc->selector.has_value());
  const auto pv = api::decode_pv(R"({"spec":{"volumeMode":"Block","volumeAttributesClassName":"gold",
    "claimRef":{"namespace":"shop","name":"a","uid":"u"},"awsElasticBlockStore":{"volumeID":"v"}},
    "status":{"phase":"Available"}})");
  EXPECT_TRUE(pv->is_block);
  EXPECT_EQ(pv->attributes_class, "gold");
  EXPECT_EQ(pv->claim, (api::ObjectKey{"shop", "a"}));
  EXPECT_EQ(pv->claim_uid, "u");
  EXPECT_EQ(pv->phase, "Available");
  EXPECT_EQ(pv->csi_driver, "ebs.csi.aws.com") << "its plugin was moved to CSI";
  const auto pod = api::decode_pod(R"({"metadata":{"name":"p"},"spec":{"volumes":[{"name":"s","ephemeral":
    {"volumeClaimTemplate":{"spec":{"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}}}}]}})");
  ASSERT_NE(pod->volumes.at(0).claim_template, nullptr);
  EXPECT_EQ(pod->volumes[0].claim_template->request.units(), std::int64_t{1} << 30);
}

TEST(DecodeOtherKindsTest, ReadsTheSyncFailureOfABudget) {
  const auto pdb = [](const char* condition) {
    return api::decode_pdb(R"({"status":{"conditions":[)" + std::string(condition) + "]}}")->sync_failure;
  };
  EXPECT_EQ(pdb(R"({"type":"DisruptionAllowed","status":"False","reason":"SyncFailed","message":"no scale"})"),
            "no scale");
  EXPECT_EQ(pdb(R"({"type":"DisruptionAllowed","status":"False","reason":"SyncFailed"})"), "SyncFailed");
  EXPECT_EQ(pdb(R"({"type":"DisruptionAllowed","status":"False","reason":"InsufficientPods","message":"x"})"), "");
}

/// Returns the allocated cpu of the only container of a pod that is being resized, or "" if it equals the request.
std::string held_cpu(const std::string& status, const std::string& more = "") {
  const auto pod = api::decode_pod(R"({"spec":{"containers":[{"name":"c","resources":{"requests":
    {"cpu":"300m","memory":"1Gi"}}}]},"status":{"containerStatuses":[{"name":"c",)" +
                                   status + "}]" + more + "}}");
  const auto& held = pod->containers.at(0).held;
  if (held == nullptr) return "";
  EXPECT_EQ(api::amount_of(*held, "memory").units(), std::int64_t{1} << 30);
  return api::amount_of(*held, "cpu").to_string();
}

TEST(DecodePodTest, ReadsTheAllocationOfAResizedContainer) {
  EXPECT_EQ(held_cpu(R"("ready":true)"), "");
  EXPECT_EQ(held_cpu(R"("resources":{"requests":{"cpu":"300m","memory":"1Gi"}})"), "");
  EXPECT_EQ(held_cpu(R"("resources":{"requests":{"cpu":"900m","memory":"1Gi"}})"), "900m") << "it shrinks";
  EXPECT_EQ(held_cpu(R"("resources":{"requests":{"cpu":"100m"}},"allocatedResources":{"cpu":"500m"})"), "500m");
  EXPECT_EQ(held_cpu(R"("resources":{"requests":{"cpu":"100m","memory":"1Gi"}})"), "") << "it grows";
  EXPECT_EQ(held_cpu(R"("resources":{"requests":{"cpu":"100m","memory":"1Gi"}})",
                     R"(,"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"}])"),
            "100m");
}

TEST(DecodePodTest, ReadsTheAllocationOfAResizedPod) {
  const auto pod = api::decode_pod(R"({"spec":{"containers":[{"name":"c"}],"resources":{"requests":{"cpu":"300m"}}},
    "status":{"resources":{"requests":{"cpu":"800m"}},"allocatedResources":{"cpu":"300m"}}})");
  ASSERT_NE(pod->held_pod_requests, nullptr);
  EXPECT_EQ(api::amount_of(*pod->held_pod_requests, "cpu").to_string(), "800m");
}

TEST(DecodePodTest, KeepsTheNominatedNodeOfAPendingPod) {
  EXPECT_EQ(api::decode_pod(R"({"status":{"nominatedNodeName":"n1"}})")->nominated_node.value, "n1");
  EXPECT_EQ(api::decode_pod(R"({"spec":{"nodeName":"n2"},"status":{"nominatedNodeName":"n1"}})")->nominated_node.value,
            "");
}

TEST(DecodeOtherKindsTest, ReadsStorageClasses) {
  const auto waiting = api::decode_storage_class(R"({"metadata":{"name":"fast",
    "annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"ebs.csi.aws.com",
    "volumeBindingMode":"WaitForFirstConsumer",
    "allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a","b"]}]}]})");
  ASSERT_TRUE(waiting);
  EXPECT_TRUE(waiting->waits_for_pod);
  EXPECT_TRUE(waiting->makes_volumes);
  EXPECT_TRUE(waiting->is_default);
  ASSERT_EQ(waiting->allowed_topologies.size(), 1U);
  EXPECT_EQ(waiting->allowed_topologies[0].match_expressions.at(0).values, (std::vector<std::string>{"a", "b"}));
  const auto local = api::decode_storage_class(R"({"provisioner":"kubernetes.io/no-provisioner"})");
  EXPECT_FALSE(local->waits_for_pod) << "Immediate is the default";
  EXPECT_FALSE(local->makes_volumes);
  EXPECT_FALSE(local->is_default);
}

TEST(DecodeOtherKindsTest, ReadsAttachLimitsAndDevices) {
  const auto node = api::decode_csi_node(R"({"metadata":{"name":"n1"},"spec":{"drivers":[
    {"name":"ebs.csi.aws.com","nodeID":"i-1","allocatable":{"count":25}},{"name":"other","nodeID":"x"}]}})");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->drivers, (std::vector<api::CsiNode::Driver>{{"ebs.csi.aws.com", 25}, {"other", std::nullopt}}));
  const auto claim = api::decode_resource_claim(R"({"metadata":{"name":"gpu"},"status":{"allocation":{"nodeSelector":
    {"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}}})");
  ASSERT_TRUE(claim);
  EXPECT_TRUE(claim->is_allocated);
  EXPECT_EQ(claim->node_terms.size(), 1U);
  EXPECT_FALSE(api::decode_resource_claim(R"({"status":{}})")->is_allocated);
}

base::Result<api::ListMeta> collect(std::string_view text, std::vector<std::string>& items) {
  return api::for_each_item(text, [&](std::string_view item) -> base::Status {
    items.emplace_back(item);
    return base::Done{};
  });
}

TEST(ForEachItemTest, GivesTheRawTextOfEveryItemInOrder) {
  std::vector<std::string> items;
  const auto meta = collect(R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"abc",
    "remainingItemCount":12},"items":[{"a": {"b":[1,2]}}, {"c":"}"}]})",
                            items);
  ASSERT_TRUE(meta) << meta.error().message;
  EXPECT_THAT(items, ElementsAre(R"({"a": {"b":[1,2]}})", R"({"c":"}"})"));
  EXPECT_EQ(meta->kind, "PodList");
  EXPECT_EQ(meta->api_version, "v1");
  EXPECT_EQ(meta->resource_version, "7");
  EXPECT_EQ(meta->continue_token, "abc");
  EXPECT_EQ(meta->remaining_item_count, 12);
}

TEST(ForEachItemTest, FindsMetadataBehindTheItems) {
  std::vector<std::string> items;
  const auto meta = collect(R"({"items":[{}],"metadata":{"resourceVersion":"9"},"kind":"X"})", items);
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->resource_version, "9");
  EXPECT_EQ(items.size(), 1U);
}

TEST(ForEachItemTest, TreatsNullAndMissingItemsAsEmpty) {
  std::vector<std::string> items;
  EXPECT_TRUE(collect(R"({"items":null,"metadata":{}})", items));
  EXPECT_TRUE(collect(R"({"metadata":{}})", items));
  EXPECT_TRUE(items.empty());
}

TEST(ForEachItemTest, LetsTheCallbackDecode) {
  std::vector<std::string> names;
  const auto meta = api::for_each_item(
      R"({"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"1"}})",
      [&](std::string_view item) -> base::Status {
        const auto pod = api::decode_pod(item);
        if (!pod) return pod.error();
        names.push_back(pod->meta.name);
        return base::Done{};
      });
  ASSERT_TRUE(meta);
  EXPECT_EQ(meta->resource_version, "1");
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

TEST(ForEachItemTest, StopsWithTheErrorOfTheCallback) {
  int calls = 0;
  const auto meta = api::for_each_item(R"({"items":[{},{},{}]})", [&](std::string_view) -> base::Status {
    if (++calls == 2) return base::Error{base::ErrorCode::kCancelled, "enough"};
    return base::Done{};
  });
  ASSERT_FALSE(meta);
  EXPECT_EQ(meta.error().code, base::ErrorCode::kCancelled);
  EXPECT_EQ(calls, 2);
}

TEST(ForEachItemTest, RefusesItemsThatAreNoObjects) {
  std::vector<std::string> items;
  const auto meta = collect(R"({"items":[{},7]})", items);
  ASSERT_FALSE(meta);
  EXPECT_THAT(meta.error().message, HasSubstr("items[1] is not an object"));
}

TEST(SplitWatchLineTest, GivesTypeAndAViewOfTheObject) {
  const std::string line = R"({"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"x"}}})"
                           "\n";
  const auto watch = api::split_watch_line(line);
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_EQ(watch->type, "MODIFIED");
  EXPECT_EQ(watch->object, R"({"kind":"Pod","metadata":{"name":"x"}})");
  EXPECT_GE(watch->object.data(), line.data());
  EXPECT_LT(watch->object.data(), line.data() + line.size());
}

TEST(SplitWatchLineTest, TakesTheMembersInAnyOrder) {
  const auto watch = api::split_watch_line(R"({"object":{},"x":[{}],"type":"ADDED"})");
  ASSERT_TRUE(watch);
  EXPECT_EQ(watch->type, "ADDED");
  EXPECT_EQ(watch->object, "{}");
}

TEST(SplitWatchLineTest, RefusesLinesWithoutTypeOrObject) {
  EXPECT_THAT(api::split_watch_line(R"({"object":{}})").error().message, HasSubstr("no type"));
  EXPECT_THAT(api::split_watch_line(R"({"type":"ADDED"})").error().message, HasSubstr("no object"));
  EXPECT_THAT(api::split_watch_line(R"({"type":"ADDED","object":[]})").error().message, HasSubstr("no object"));
}

}  // namespace core_codec_test
