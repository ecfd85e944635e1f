#include "planner/scheduling/evictability_rules.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "planner/scheduling/pdb_budget.hpp"
#include "test/builders/cluster.hpp"

namespace scheduling {
namespace evictability_test {

using api::PodProtection;
using builders::ClusterBuilder;
using builders::kNoon;
using builders::labels_in;
using builders::NodeBuilder;
using builders::PodBuilder;

using P = PodBuilder;
using E = api::Evictability;
using C = ClusterBuilder;

struct EvictabilityCase {
  std::string name;
  std::function<void(P& pod, E& spec, C& rest)> arrange;
  std::string want;  ///< Expected reason, empty if evictable
};

void expect_verdict(const EvictabilityCase& c, api::Compatibility compatibility) {
  P pod("p");
  E spec;
  C rest;
  pod.on("n");
  rest.add(NodeBuilder("n"));
  c.arrange(pod, spec, rest);
  const auto cluster = rest.add(pod).build();
  api::FieldErrors errors;
  const EvictabilityRules rules(spec, *cluster, kNoon, errors, compatibility);
  EXPECT_THAT(errors, testing::IsEmpty());
  const PodIndex index = cluster->find_pod(pod.build().meta.ns, "p").value();
  const auto refusal = rules.refusal(index);
  EXPECT_EQ(refusal ? refusal->reason : "", c.want);
  if (refusal) {
    EXPECT_THAT(refusal->message(), testing::Not(testing::HasSubstr("{")));
  }
}

class EvictabilityTest : public testing::TestWithParam<EvictabilityCase> {};

/// Upstream's rules. test/unit/planner/strategies/compatibility_test.cpp covers our different defaults.
TEST_P(EvictabilityTest, Judges) { expect_verdict(GetParam(), api::Compatibility::kUpstream); }

/// Rules that upstream does not have.
class OwnEvictabilityTest : public testing::TestWithParam<EvictabilityCase> {};
TEST_P(OwnEvictabilityTest, Judges) { expect_verdict(GetParam(), api::Compatibility::kNone); }

void disable(E& spec, PodProtection protection) { spec.pod_protections.default_disabled.push_back(protection); }
void enable(E& spec, PodProtection protection) { spec.pod_protections.extra_enabled.push_back(protection); }
void volume(P& pod, api::VolumeKind kind, std::string source = "") {
  pod.with([&](api::Pod& x) { x.volumes.push_back({kind, std::move(source)}); });
}
api::PersistentVolumeClaim claim(std::string storage_class) {
  api::PersistentVolumeClaim each;
  each.meta.ns = "default";
  each.meta.name = "data";
  each.storage_class = std::move(storage_class);
  return each;
}

INSTANTIATE_TEST_SUITE_P(
    Defaults, EvictabilityTest,
    testing::Values(
        EvictabilityCase{"AllowsAnOwnedPod", [](P&, E&, C&) {}, ""},
        EvictabilityCase{"RefusesAMirrorPod", [](P& p, E&, C&) { p.annotate("kubernetes.io/config.mirror", "x"); },
                         "MirrorPod"},
        EvictabilityCase{"RefusesAStaticPod", [](P& p, E&, C&) { p.annotate("kubernetes.io/config.source", "file"); },
                         "StaticPod"},
        EvictabilityCase{"AllowsSourceApi", [](P& p, E&, C&) { p.annotate("kubernetes.io/config.source", "api"); }, ""},
        EvictabilityCase{"RefusesATerminatingPod", [](P& p, E&, C&) { p.terminating(); }, "Terminating"},
        EvictabilityCase{"RefusesABarePod", [](P& p, E&, C&) { p.bare(); }, "BarePod"},
        EvictabilityCase{"RefusesAFailedBarePod", [](P& p, E&, C&) { p.bare().phase(api::PodPhase::kFailed); },
                         "BarePod"},
        EvictabilityCase{
            "AllowsAFailedBarePodOnRequest",
            [](P& p, E& e, C&) { p.bare().phase(api::PodPhase::kFailed), disable(e, PodProtection::kFailedBarePods); },
            ""},
        EvictabilityCase{"NeverAllowsARunningBarePod",
                         [](P& p, E& e, C&) { p.bare(), disable(e, PodProtection::kFailedBarePods); }, "BarePod"},
        EvictabilityCase{"RefusesADaemonSetPod", [](P& p, E&, C&) { p.owned_by("DaemonSet", "ds"); }, "DaemonSetPod"},
        EvictabilityCase{
            "AllowsADaemonSetPodOnRequest",
            [](P& p, E& e, C&) { p.owned_by("DaemonSet", "ds"), disable(e, PodProtection::kDaemonSetPods); }, ""},
        EvictabilityCase{"RefusesHostPath", [](P& p, E&, C&) { volume(p, api::VolumeKind::kHostPath); },
                         "LocalStorage"},
        EvictabilityCase{"RefusesEmptyDir", [](P& p, E&, C&) { volume(p, api::VolumeKind::kEmptyDir); },
                         "LocalStorage"},
        EvictabilityCase{"RefusesHostPathsOfAVirtualMachine",
                         [](P& p, E&, C&) {
                           p.label("kubevirt.io", "virt-launcher").annotate("kubevirt.io/domain", "db");
                           volume(p, api::VolumeKind::kHostPath);
                         },
                         "LocalStorage"},
        EvictabilityCase{"RefusesEmptyDirsOfWhatOnlyClaimsToBeALauncher",
                         [](P& p, E&, C&) {
                           p.label("kubevirt.io", "virt-launcher");
                           volume(p, api::VolumeKind::kEmptyDir);
                         },
                         "LocalStorage"},
        EvictabilityCase{"AllowsConfigMaps", [](P& p, E&, C&) { volume(p, api::VolumeKind::kConfigMap); }, ""},
        EvictabilityCase{"AllowsLocalStorageOnRequest",
                         [](P& p, E& e, C&) {
                           volume(p, api::VolumeKind::kEmptyDir), disable(e, PodProtection::kPodsWithLocalStorage);
                         },
                         ""}),
    [](const auto& test) { return test.param.name; });

/// Adds an emptyDir volume called `name`.
void scratch(P& pod, const char* name) {
  volume(pod, api::VolumeKind::kEmptyDir);
  pod.with([&](api::Pod& p) { p.volumes.edit().back().name = name; });
}

void in_group(P& pod, const char* name) {
  pod.with([&](api::Pod& p) { p.scheduling_group.edit() = name; });
}

void add_group(C& cluster, const char* name, bool is_whole) {
  api::SchedulingPodGroup group;
  group.meta.ns = "default";
  group.meta.name = name;
  group.is_disrupted_whole = is_whole;
  cluster.add(std::move(group));
}

constexpr auto kSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";

INSTANTIATE_TEST_SUITE_P(
    Volumes, OwnEvictabilityTest,
    testing::Values(
        EvictabilityCase{"OfALauncherAreNoDataOfItsVirtualMachine",
                         [](P& p, E&, C&) {
                           p.label("kubevirt.io", "virt-launcher").annotate("kubevirt.io/domain", "db");
                           volume(p, api::VolumeKind::kEmptyDir);
                         },
                         ""},
        EvictabilityCase{"AreWaivedByName",
                         [](P& p, E& e, C&) { scratch(p, "tmp"), e.pod_protections.ignored_volumes = {"tmp"}; }, ""},
        EvictabilityCase{"AreNotWaivedByAnotherName",
                         [](P& p, E& e, C&) { scratch(p, "data"), e.pod_protections.ignored_volumes = {"tmp"}; },
                         "LocalStorage"},
        EvictabilityCase{
            "AreWaivedOneByOne",
            [](P& p, E& e, C&) { scratch(p, "tmp"), scratch(p, "data"), e.pod_protections.ignored_volumes = {"tmp"}; },
            "LocalStorage"},
        EvictabilityCase{"AreWaivedAsForClusterAutoscaler",
                         [](P& p, E&, C&) {
                           scratch(p, "tmp"), scratch(p, "cache"),
                               p.annotate("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "tmp, cache");
                         },
                         ""},
        EvictabilityCase{"AreNotWaivedByAPartOfAName",
                         [](P& p, E&, C&) {
                           scratch(p, "tmp"),
                               p.annotate("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "tmp2");
                         },
                         "LocalStorage"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Completion, OwnEvictabilityTest,
    testing::Values(EvictabilityCase{"KeepsARunningPod",
                                     [](P& p, E&, C&) { p.annotate(kSafeToEvict, "on-completion"); }, "NotSafeToEvict"},
                    EvictabilityCase{"KeepsNoPodThatHasEnded",
                                     [](P& p, E&, C&) {
                                       p.annotate(kSafeToEvict, "on-completion").phase(api::PodPhase::kSucceeded);
                                     },
                                     ""},
                    EvictabilityCase{"KeepsNoneWhereAutoscalersDoNotCount",
                                     [](P& p, E& e, C&) {
                                       p.annotate(kSafeToEvict, "on-completion"),
                                           e.autoscaler_annotations = api::AutoscalerAnnotations::kIgnore;
                                     },
                                     ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    SchedulingGroups, OwnEvictabilityTest,
    testing::Values(
        EvictabilityCase{"ThatLeaveAsAWholeStay", [](P& p, E&, C& c) { in_group(p, "g"), add_group(c, "g", true); },
                         "PodGroupLeavesWhole"},
        EvictabilityCase{"WhoseEvictAnnotationWaivesNothing",
                         [](P& p, E&, C& c) {
                           in_group(p, "g"), add_group(c, "g", true),
                               p.annotate("descheduler.alpha.kubernetes.io/evict");
                         },
                         "PodGroupLeavesWhole"},
        EvictabilityCase{"ThatLeaveOneByOneGo", [](P& p, E&, C& c) { in_group(p, "g"), add_group(c, "g", false); }, ""},
        EvictabilityCase{"ThatAreNotKnownStay", [](P& p, E&, C& c) { in_group(p, "g"), add_group(c, "h", false); },
                         "PodGroupUnknown"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Priorities, EvictabilityTest,
    testing::Values(
        EvictabilityCase{"RefusesSystemCritical", [](P& p, E&, C&) { p.priority(2'000'000'000); }, "SystemCritical"},
        EvictabilityCase{"AllowsOneBelow", [](P& p, E&, C&) { p.priority(1'999'999'999); }, ""},
        EvictabilityCase{"RefusesTheThresholdItself",
                         [](P& p, E& e, C&) {
                           p.priority(100), e.priority_threshold = {100, ""};
                         },
                         "PriorityTooHigh"},
        EvictabilityCase{"AllowsBelowTheThreshold",
                         [](P& p, E& e, C&) {
                           p.priority(99), e.priority_threshold = {100, ""};
                         },
                         ""},
        EvictabilityCase{"AllowsAPodWithoutPriority",
                         [](P&, E& e, C&) {
                           e.priority_threshold = {-5, ""};
                         },
                         ""},
        EvictabilityCase{
            "ResolvesThePriorityClass",
            [](P& p, E& e, C& c) {
              p.priority(50), c.add_priority_class("high", 50), e.priority_threshold = {std::nullopt, "high"};
            },
            "PriorityTooHigh"},
        EvictabilityCase{"DropsTheThresholdWithTheProtection",
                         [](P& p, E& e, C&) {
                           p.priority(2'000'000'001), e.priority_threshold = {100, ""};
                           disable(e, PodProtection::kSystemCriticalPods);
                         },
                         ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Extras, EvictabilityTest,
    testing::Values(
        EvictabilityCase{"AllowsClaimsByDefault",
                         [](P& p, E&, C&) { volume(p, api::VolumeKind::kPersistentVolumeClaim, "data"); }, ""},
        EvictabilityCase{"RefusesClaims",
                         [](P& p, E& e, C&) {
                           volume(p, api::VolumeKind::kPersistentVolumeClaim, "data"),
                               enable(e, PodProtection::kPodsWithPVC);
                         },
                         "PodHasPVC"},
        EvictabilityCase{"AllowsOtherStorageClasses",
                         [](P& p, E& e, C& c) {
                           volume(p, api::VolumeKind::kPersistentVolumeClaim, "data"),
                               enable(e, PodProtection::kPodsWithPVC);
                           e.pod_protections.protected_storage_classes = {"fast"}, c.add(claim("slow"));
                         },
                         ""},
        EvictabilityCase{"RefusesProtectedStorageClasses",
                         [](P& p, E& e, C& c) {
                           volume(p, api::VolumeKind::kPersistentVolumeClaim, "data"),
                               enable(e, PodProtection::kPodsWithPVC);
                           e.pod_protections.protected_storage_classes = {"fast"}, c.add(claim("fast"));
                         },
                         "PodHasPVC"},
        EvictabilityCase{"RefusesAClaimWithoutClass",
                         [](P& p, E& e, C& c) {
                           volume(p, api::VolumeKind::kPersistentVolumeClaim, "data"),
                               enable(e, PodProtection::kPodsWithPVC);
                           e.pod_protections.protected_storage_classes = {"fast"}, c.add(claim(""));
                         },
                         "PodHasPVC"},
        EvictabilityCase{"RefusesAMissingClaimWithClasses",
                         [](P& p, E& e, C&) {
                           volume(p, api::VolumeKind::kPersistentVolumeClaim, "data"),
                               enable(e, PodProtection::kPodsWithPVC);
                           e.pod_protections.protected_storage_classes = {"fast"};
                         },
                         "PodHasPVC"},
        EvictabilityCase{"RefusesPodsWithoutBudget", [](P&, E& e, C&) { enable(e, PodProtection::kPodsWithoutPDB); },
                         "NoPDB"},
        EvictabilityCase{"AllowsPodsWithBudget",
                         [](P& p, E& e, C& c) {
                           p.label("app", "web"), enable(e, PodProtection::kPodsWithoutPDB),
                               c.add(builders::pdb("b", "web", 0));
                         },
                         ""},
        EvictabilityCase{"IgnoresABudgetWithoutSelector",
                         [](P& p, E& e, C& c) {
                           auto budget = builders::pdb("b", "web", 0);
                           budget.selector.reset();
                           p.label("app", "web"), enable(e, PodProtection::kPodsWithoutPDB), c.add(budget);
                         },
                         "NoPDB"},
        EvictabilityCase{"RefusesResourceClaims",
                         [](P& p, E& e, C&) {
                           p.with([](api::Pod& x) { x.uses_resource_claims = true; }),
                               enable(e, PodProtection::kPodsWithResourceClaims);
                         },
                         "ResourceClaims"},
        EvictabilityCase{"RefusesOtherLabels", [](P&, E& e, C&) { e.label_selector = labels_in("app", {"web"}); },
                         "LabelsNotSelected"},
        EvictabilityCase{"TakesAnEmptySelectorForAll", [](P&, E& e, C&) { e.label_selector.emplace(); }, ""},
        EvictabilityCase{"RefusesTooFewReplicas", [](P&, E& e, C&) { e.min_replicas = 2; }, "TooFewReplicas"},
        EvictabilityCase{"AllowsEnoughReplicas", [](P&, E& e, C& c) { e.min_replicas = 2, c.add(P("q")); }, ""},
        EvictabilityCase{"IgnoresMinReplicasOfOne", [](P&, E& e, C&) { e.min_replicas = 1; }, ""},
        EvictabilityCase{"IgnoresMinReplicasOfTwoOwners",
                         [](P& p, E& e, C&) {
                           e.min_replicas = 5;
                           p.with([](api::Pod& x) {
                             x.meta.owner_references.push_back({"v1", "Job", "j", "uid-of-j", false});
                           });
                         },
                         ""},
        EvictabilityCase{"RefusesOneSecondTooYoung", [](P&, E& e, C&) { e.min_pod_age = base::seconds(3601); },
                         "TooYoung"},
        EvictabilityCase{"AllowsTheVeryAge", [](P&, E& e, C&) { e.min_pod_age = base::seconds(3600); }, ""},
        EvictabilityCase{
            "RefusesAPodThatHasNotStarted",
            [](P& p, E& e, C&) { e.min_pod_age = base::seconds(1), p.with([](api::Pod& x) { x.start_time.reset(); }); },
            "TooYoung"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Annotations, EvictabilityTest,
    testing::Values(
        EvictabilityCase{
            "LetsTheEvictAnnotationOverrideEverything",
            [](P& p, E& e, C&) {
              p.annotate("descheduler.alpha.kubernetes.io/evict").bare().terminating().priority(2'000'000'000);
              p.annotate("kubernetes.io/config.mirror", "x"), e.label_selector = labels_in("app", {"web"});
            },
            ""},
        EvictabilityCase{"KeepsTheNamespaceScopeWithIt",
                         [](P& p, E& e, C&) {
                           p.annotate("descheduler.alpha.kubernetes.io/evict"), e.namespaces.exclude = {"default"};
                         },
                         "NamespaceExcluded"},
        EvictabilityCase{"OnlyPrefersToStayByDefault",
                         [](P& p, E&, C&) { p.annotate("descheduler.alpha.kubernetes.io/prefer-no-eviction"); }, ""},
        EvictabilityCase{"StaysWhenMandatory",
                         [](P& p, E& e, C&) {
                           p.annotate("descheduler.alpha.kubernetes.io/prefer-no-eviction");
                           e.no_eviction_policy = api::NoEvictionPolicy::kMandatory;
                         },
                         "PrefersNoEviction"},
        EvictabilityCase{"StaysWhileItsOptOutCounts",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "true");
                           e.opt_outs = {{"example.com/stay", base::seconds(7200)}};
                         },
                         "OptedOut"},
        EvictabilityCase{"LeavesWhenItsOptOutHasExpired",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "true");
                           e.opt_outs = {{"example.com/stay", base::seconds(3600)}};
                         },
                         ""},
        EvictabilityCase{"StaysForTheDurationItAsks",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "1h1s");
                           e.opt_outs = {{"example.com/stay", base::seconds(7200)}};
                         },
                         "OptedOut"},
        EvictabilityCase{"LeavesAfterTheDurationItAsks",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "1h");
                           e.opt_outs = {{"example.com/stay", base::seconds(7200)}};
                         },
                         ""},
        EvictabilityCase{"CannotAskForMoreThanThePolicyGives",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "1000h");
                           e.opt_outs = {{"example.com/stay", base::seconds(3600)}};
                         },
                         ""},
        EvictabilityCase{"StaysUntilTheTimeItAsks",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "2099-01-01T00:00:00Z");
                           e.opt_outs = {{"example.com/stay", base::seconds(7200)}};
                         },
                         "OptedOut"},
        EvictabilityCase{"LeavesAfterTheTimeItAsks",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "2001-01-01T00:00:00Z");
                           e.opt_outs = {{"example.com/stay", base::seconds(7200)}};
                         },
                         ""},
        EvictabilityCase{"LeavesWithAnOptOutOfFalse",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "false");
                           e.opt_outs = {{"example.com/stay", base::seconds(7200)}};
                         },
                         ""},
        EvictabilityCase{"StaysWithAnOptOutThatCannotBeRead",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/stay", "yes please");
                           e.opt_outs = {{"example.com/stay", base::seconds(7200)}};
                         },
                         "OptedOut"},
        EvictabilityCase{"LeavesWithAnotherAnnotation",
                         [](P& p, E& e, C&) {
                           p.annotate("example.com/other", "true");
                           e.opt_outs = {{"example.com/stay", base::seconds(7200)}};
                         },
                         ""},
        EvictabilityCase{
            "StaysByAnyOfTheOptOuts",
            [](P& p, E& e, C&) {
              p.annotate("example.com/stay", "true").annotate("example.com/job", "1h30m");
              e.opt_outs = {{"example.com/stay", base::seconds(60)}, {"example.com/job", base::seconds(7200)}};
            },
            "OptedOut"},
        EvictabilityCase{"RefusesNamespacesNotIncluded", [](P&, E& e, C&) { e.namespaces.include = {"prod"}; },
                         "NamespaceExcluded"},
        EvictabilityCase{"AllowsIncludedNamespaces",
                         [](P& p, E& e, C&) { p.ns("prod"), e.namespaces.include = {"prod"}; }, ""}),
    [](const auto& test) { return test.param.name; });

TEST(EvictabilityErrors, NamesAMissingPriorityClass) {
  const auto cluster = ClusterBuilder().build();
  E spec;
  spec.priority_threshold = {std::nullopt, "nope"};
  api::FieldErrors errors;
  const EvictabilityRules rules(spec, *cluster, kNoon, errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].to_string(), "spec.evictability.priorityThreshold.name: PriorityClass \"nope\" does not exist");
}

TEST(EvictabilityErrors, RefusesAThresholdAboveSystemCritical) {
  const auto cluster = ClusterBuilder().build();
  E spec;
  spec.priority_threshold = {2'000'000'001, ""};
  api::FieldErrors errors;
  const EvictabilityRules rules(spec, *cluster, kNoon, errors);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].path, "spec.evictability.priorityThreshold.value");
}

// --- before an eviction

struct BeforeCase {
  std::string name;
  std::function<void(P& pod, E& spec, C& rest)> arrange;
  std::string want;
};

class BeforeEvictionTest : public testing::TestWithParam<BeforeCase> {};

TEST_P(BeforeEvictionTest, Judges) {
  P pod("p");
  E spec;
  C rest;
  pod.on("n");
  rest.add(NodeBuilder("n"));
  GetParam().arrange(pod, spec, rest);
  const auto cluster = rest.add(pod).build();
  api::FieldErrors errors;
  const EvictabilityRules rules(spec, *cluster, kNoon, errors);
  const WhatIf what_if(*cluster);
  const auto refusal = rules.refusal_before_eviction(cluster->find_pod("default", "p").value(), what_if);
  EXPECT_EQ(refusal ? refusal->reason : "", GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BeforeEvictionTest,
    testing::Values(
        BeforeCase{"AllowsWithoutNodeFit", [](P&, E&, C&) {}, ""},
        BeforeCase{"RefusesWithOnlyItsOwnNode", [](P&, E& e, C&) { e.node_fit = true; }, "NoOtherNodeFits"},
        BeforeCase{"AllowsWithAnotherNode", [](P&, E& e, C& c) { e.node_fit = true, c.add(NodeBuilder("m")); }, ""},
        BeforeCase{"CountsReadyNodesOnly",
                   [](P&, E& e, C& c) { e.node_fit = true, c.add(NodeBuilder("m").not_ready()); }, "NoOtherNodeFits"},
        BeforeCase{
            "CountsSelectedNodesOnly",
            [](P&, E& e, C& c) { e.node_fit = true, e.node_selector = labels_in("a", {"b"}), c.add(NodeBuilder("m")); },
            "NoOtherNodeFits"},
        BeforeCase{"ChecksTheNamespacesLabels",
                   [](P&, E& e, C& c) {
                     e.namespace_label_selector = labels_in("team", {"a"}), c.add_namespace("default", {{"team", "b"}});
                   },
                   "NamespaceNotSelected"},
        BeforeCase{"AllowsAMatchingNamespace",
                   [](P&, E& e, C& c) {
                     e.namespace_label_selector = labels_in("team", {"a"}), c.add_namespace("default", {{"team", "a"}});
                   },
                   ""},
        BeforeCase{"RefusesAnUnknownNamespace",
                   [](P&, E& e, C&) { e.namespace_label_selector = labels_in("team", {"a"}); }, "NamespaceNotSelected"},
        BeforeCase{"TakesAnEmptyNamespaceSelectorForAll", [](P&, E& e, C&) { e.namespace_label_selector.emplace(); },
                   ""}),
    [](const auto& test) { return test.param.name; });

// --- budgets

class PdbBudgetsTest : public testing::Test {
 protected:
  std::string reason(const PdbBudgets& budgets, std::string_view pod) const {
    const auto refusal = budgets.refusal(cluster_->find_pod("default", pod).value());
    return refusal ? std::string(refusal->reason) : "";
  }
  std::unique_ptr<const ClusterSnapshot> cluster_;
};

P web(std::string name) { return P(std::move(name)).label("app", "web"); }

TEST_F(PdbBudgetsTest, SpendsWhatIsAllowed) {
  cluster_ = C().add(web("a")).add(web("b")).add(web("c")).add(builders::pdb("budget", "web", 2)).build();
  PdbBudgets budgets(*cluster_);
  EXPECT_EQ(reason(budgets, "a"), "");
  budgets.spend(0);
  EXPECT_EQ(reason(budgets, "b"), "");
  budgets.spend(1);
  EXPECT_EQ(reason(budgets, "c"), "PDBWouldBlock");
}

TEST_F(PdbBudgetsTest, NamesTheBudgetAndItsNumbers) {
  cluster_ = C().add(web("a")).add(builders::pdb("budget", "web", 0)).build();
  const auto refusal = PdbBudgets(*cluster_).refusal(0);
  EXPECT_EQ(refusal->message(),
            "the PodDisruptionBudget budget allows no more disruptions (1 pods healthy, 1 desired)");
}

TEST_F(PdbBudgetsTest, LeavesUncoveredPodsAlone) {
  cluster_ = C().add(P("a")).add(builders::pdb("budget", "web", 0)).build();
  EXPECT_EQ(reason(PdbBudgets(*cluster_), "a"), "");
}

TEST_F(PdbBudgetsTest, RefusesTwoBudgetsForOnePod) {
  cluster_ = C().add(web("a")).add(builders::pdb("x", "web", 5)).add(builders::pdb("y", "web", 5)).build();
  EXPECT_EQ(reason(PdbBudgets(*cluster_), "a"), "MultiplePDBs");
}

TEST_F(PdbBudgetsTest, LetsTerminalPendingAndTerminatingPodsGo) {
  cluster_ = C().add(web("done").phase(api::PodPhase::kSucceeded))
                 .add(web("pending").phase(api::PodPhase::kPending))
                 .add(web("leaving").terminating())
                 .add(builders::pdb("budget", "web", 0))
                 .build();
  const PdbBudgets budgets(*cluster_);
  for (const char* pod : {"done", "pending", "leaving"}) EXPECT_EQ(reason(budgets, pod), "") << pod;
}

TEST_F(PdbBudgetsTest, LetsUnhealthyPodsGoWithoutSpendingWhileEnoughAreHealthy) {
  auto budget = builders::pdb("budget", "web", 0);
  budget.desired_healthy = budget.current_healthy = 2;
  cluster_ = C().add(web("sick").not_ready()).add(web("well")).add(budget).build();
  PdbBudgets budgets(*cluster_);
  EXPECT_EQ(reason(budgets, "sick"), "");
  EXPECT_EQ(reason(budgets, "well"), "PDBWouldBlock");
}

TEST_F(PdbBudgetsTest, KeepsUnhealthyPodsWhenTooFewAreHealthy) {
  auto budget = builders::pdb("budget", "web", 0);
  budget.desired_healthy = 3;
  cluster_ = C().add(web("sick").not_ready()).add(budget).build();
  EXPECT_EQ(reason(PdbBudgets(*cluster_), "sick"), "PDBWouldBlock");
  budget.always_allow_unhealthy = true;
  cluster_ = C().add(web("sick").not_ready()).add(budget).build();
  EXPECT_EQ(reason(PdbBudgets(*cluster_), "sick"), "");
}

TEST_F(PdbBudgetsTest, WaitsForABudgetThatWasNotYetProcessed) {
  auto budget = builders::pdb("budget", "web", 5);
  budget.meta.generation = 2;
  budget.observed_generation = 1;
  cluster_ = C().add(web("a")).add(budget).build();
  EXPECT_EQ(reason(PdbBudgets(*cluster_), "a"), "PDBWouldBlock");
}

}  // namespace evictability_test
}  // namespace scheduling
