/// Every difference of docs/compatibility.md in both modes: upstream's decision and ours.

#include <gmock/gmock.h>

#include "api/core/pvc_risk.hpp"
#include "planner/scheduling/evictability_rules.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace compatibility_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr auto kOurs = api::Compatibility::kNone;
constexpr auto kUpstream = api::Compatibility::kUpstream;

std::vector<std::string> decided(api::Compatibility compatibility, const ClusterBuilder& cluster,
                                 const std::string& strategy, const std::string& args = "{}") {
  StrategyRun run(cluster);
  run.compatibility = compatibility;
  return run.run(strategy, args).sink.accepted;
}

// --- evictability

/// Returns the reason of the refusal, or "" if the pod is evictable.
std::string refusal_of(const PodBuilder& pod, api::Compatibility compatibility, const api::Evictability& spec = {}) {
  const auto cluster = ClusterBuilder().add(pod).build();
  api::FieldErrors errors;
  const scheduling::EvictabilityRules rules(spec, *cluster, kNoon, errors, compatibility);
  const auto refusal = rules.refusal(0);
  return refusal ? std::string(refusal->reason) : "";
}

constexpr auto kEvict = "descheduler.alpha.kubernetes.io/evict";

struct EvictableCase {
  std::string name;
  PodBuilder pod;
  std::string upstream;
  std::string ours;
};

class EvictableTest : public testing::TestWithParam<EvictableCase> {};

TEST_P(EvictableTest, DiffersAsDocumented) {
  EXPECT_EQ(refusal_of(GetParam().pod, kUpstream), GetParam().upstream);
  EXPECT_EQ(refusal_of(GetParam().pod, kOurs), GetParam().ours);
}

PodBuilder with_volume(api::VolumeKind kind) {
  return PodBuilder("p").with([=](api::Pod& pod) { pod.volumes.push_back({kind, "v"}); });
}

INSTANTIATE_TEST_SUITE_P(
    Compatibility, EvictableTest,
    testing::Values(
        EvictableCase{"EvictFalseProtects", PodBuilder("p").annotate(kEvict, "false"), "", "AsksToStay"},
        EvictableCase{"EvictTrueWaivesDaemonSets", PodBuilder("p").owned_by("DaemonSet", "d").annotate(kEvict, "true"),
                      "", ""},
        EvictableCase{"EvictWithoutValueWaives", PodBuilder("p").bare().annotate(kEvict), "", ""},
        EvictableCase{"EvictDoesNotWaiveTerminating", PodBuilder("p").terminating().annotate(kEvict, "true"), "",
                      "Terminating"},
        EvictableCase{"EvictDoesNotWaiveMirrors",
                      PodBuilder("p").annotate("kubernetes.io/config.mirror", "x").annotate(kEvict, "true"), "",
                      "MirrorPod"},
        EvictableCase{"EphemeralVolumesAreLocal", with_volume(api::VolumeKind::kEphemeral), "", "LocalStorage"},
        EvictableCase{"EmptyDirsAreLocal", with_volume(api::VolumeKind::kEmptyDir), "LocalStorage", "LocalStorage"},
        EvictableCase{"ConfigMapsAreNot", with_volume(api::VolumeKind::kConfigMap), "", ""}),
    [](const auto& test) { return test.param.name; });

struct VolumeCase {
  std::string name;
  api::VolumeKind kind;
  bool is_local;  ///< Whether the volume of its PVC is local
  api::PodProtections protections;
  std::string upstream;
  std::string ours;
};

class VolumeTest : public testing::TestWithParam<VolumeCase> {};

/// Pod with a volume of the PVC "data", which is bound to the PersistentVolume "disk".
TEST_P(VolumeTest, DiffersAsDocumented) {
  api::PersistentVolumeClaim claim;
  claim.meta.ns = "default";
  claim.meta.name = "data";
  claim.volume_name = "disk";
  claim.storage_class = "fast";
  api::PersistentVolume volume;
  volume.meta.name = "disk";
  volume.is_local = GetParam().is_local;
  const auto pod = PodBuilder("p").with([](api::Pod& object) { object.volumes.push_back({GetParam().kind, "data"}); });
  const auto cluster = ClusterBuilder().add(claim).add(volume).add(pod).build();
  api::Evictability spec;
  spec.pod_protections = GetParam().protections;
  for (const auto& [mode, want] : {std::pair(kUpstream, GetParam().upstream), std::pair(kOurs, GetParam().ours)}) {
    api::FieldErrors errors;
    const auto refusal = scheduling::EvictabilityRules(spec, *cluster, kNoon, errors, mode).refusal(0);
    EXPECT_EQ(refusal ? std::string(refusal->reason) : "", want);
  }
}

const api::PodProtections kClaims{{api::PodProtection::kPodsWithLocalStorage}, {api::PodProtection::kPodsWithPVC}, {}};
const api::PodProtections kSlowClaims{
    {api::PodProtection::kPodsWithLocalStorage}, {api::PodProtection::kPodsWithPVC}, {"slow"}};

INSTANTIATE_TEST_SUITE_P(
    Compatibility, VolumeTest,
    testing::Values(
        VolumeCase{"ClaimsOfLocalDisksAreLocal", api::VolumeKind::kPersistentVolumeClaim, true, {}, "", "LocalStorage"},
        VolumeCase{"OtherClaimsAreNot", api::VolumeKind::kPersistentVolumeClaim, false, {}, "", ""},
        VolumeCase{"EphemeralVolumesAreClaims", api::VolumeKind::kEphemeral, false, kClaims, "", "PodHasPVC"},
        VolumeCase{"EphemeralVolumesOfAnotherClassAreNotProtected", api::VolumeKind::kEphemeral, false, kSlowClaims, "",
                   ""},
        VolumeCase{"ClaimsAreClaims", api::VolumeKind::kPersistentVolumeClaim, true, kClaims, "PodHasPVC",
                   "PodHasPVC"}),
    [](const auto& test) { return test.param.name; });

/// Upstream ignores the PVC, so its decisions stay unchanged. The Evacuation refuses instead
/// (test/integration/evacuation/claims_test.cpp).
TEST(Compatibility, KeepsPodsWhoseClaimIsBeingDeletedOrLost) {
  for (const bool is_lost : {false, true}) {
    for (const auto kind : {api::VolumeKind::kPersistentVolumeClaim, api::VolumeKind::kEphemeral}) {
      for (const bool annotated : {false, true}) {
        api::PersistentVolumeClaim claim;
        claim.meta.ns = "default";
        claim.meta.name = "data";
        if (is_lost) claim.volume_name = api::kLostVolume;
        if (!is_lost) claim.meta.deletion_timestamp = kNoon;
        auto pod = PodBuilder("p").with([&](api::Pod& object) { object.volumes.push_back({kind, "data"}); });
        if (annotated) pod.annotate(kEvict, "true");
        api::Evictability spec;
        spec.pod_protections.default_disabled = {api::PodProtection::kPodsWithLocalStorage};
        const auto cluster = ClusterBuilder().add(claim).add(pod).build();
        api::FieldErrors errors;
        EXPECT_FALSE(scheduling::EvictabilityRules(spec, *cluster, kNoon, errors, kUpstream).refusal(0));
        const auto refusal = scheduling::EvictabilityRules(spec, *cluster, kNoon, errors, kOurs).refusal(0);
        ASSERT_TRUE(refusal);
        EXPECT_EQ(refusal->reason, is_lost ? "ClaimLost" : "ClaimBeingDeleted");
        EXPECT_NE(refusal->message().find("its PersistentVolumeClaim data is"), std::string::npos);
      }
    }
  }
}

TEST(Compatibility, KeepsAThresholdWithoutTheProtectionOfCriticalPods) {
  api::Evictability spec;
  spec.pod_protections.default_disabled = {api::PodProtection::kSystemCriticalPods};
  spec.priority_threshold = api::PriorityThreshold{100, ""};
  EXPECT_EQ(refusal_of(PodBuilder("p").priority(100), kUpstream, spec), "");
  EXPECT_EQ(refusal_of(PodBuilder("p").priority(100), kOurs, spec), "PriorityTooHigh");
  EXPECT_EQ(refusal_of(PodBuilder("p").priority(99), kOurs, spec), "");
}

TEST(Compatibility, CountsLivingReplicas) {
  const auto cluster = ClusterBuilder().add(PodBuilder("a")).add(PodBuilder("b").phase(api::PodPhase::kFailed)).build();
  api::Evictability spec;
  spec.min_replicas = 2;
  api::FieldErrors errors;
  EXPECT_FALSE(scheduling::EvictabilityRules(spec, *cluster, kNoon, errors, kUpstream).refusal(0));
  EXPECT_TRUE(scheduling::EvictabilityRules(spec, *cluster, kNoon, errors, kOurs).refusal(0));
}

struct LevelCase {
  std::string name;
  api::Compatibility compatibility;
  std::optional<api::NodeFitLevel> asked;
  scheduling::FitLevel want;
};

class FitLevelTest : public testing::TestWithParam<LevelCase> {};

TEST_P(FitLevelTest, IsTheSpecifiedOneOrThatOfTheCompatibility) {
  const auto cluster = ClusterBuilder().build();
  api::Evictability spec;
  spec.node_fit_level = GetParam().asked;
  api::FieldErrors errors;
  EXPECT_EQ(scheduling::EvictabilityRules(spec, *cluster, kNoon, errors, GetParam().compatibility).fit_level(),
            GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Compatibility, FitLevelTest,
                         testing::Values(LevelCase{"OursIsScheduler", kOurs, {}, scheduling::FitLevel::kScheduler},
                                         LevelCase{"UpstreamIsBasic", kUpstream, {}, scheduling::FitLevel::kBasic},
                                         LevelCase{"BasicCanBeAsked", kOurs, api::NodeFitLevel::kBasic,
                                                   scheduling::FitLevel::kBasic},
                                         LevelCase{"SchedulerCanBeAsked", kUpstream, api::NodeFitLevel::kScheduler,
                                                   scheduling::FitLevel::kScheduler}),
                         [](const auto& test) { return test.param.name; });

TEST(Compatibility, ConsidersTheWholeDomainWithNodeFit) {
  // n2 is free, but the pod's anti-affinity excludes its zone because of n3.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2").label("zone", "a")).add(NodeBuilder("n3").label("zone", "a"));
  cluster.add(PodBuilder("p").on("n1").older_by(base::seconds(99)).anti_affinity("app", "x", "zone"));
  cluster.add(PodBuilder("q").on("n3").label("app", "x").older_by(base::seconds(1)));
  cluster.add(PodBuilder("full").on("n3").cpu(4000).older_by(base::seconds(1)));
  for (const auto& [compatibility, want] : {std::pair(kUpstream, 1U), std::pair(kOurs, 0U)}) {
    StrategyRun run(cluster);
    run.compatibility = compatibility;
    run.evictability.node_fit = true;
    EXPECT_THAT(run.run("PodLifeTime", R"({"maxPodLifeTimeSeconds":60})").sink.accepted, SizeIs(want));
  }
}

// --- taints

constexpr auto kTaints = "RemovePodsViolatingNodeTaints";

TEST(Compatibility, ConsidersNoExecuteTaints) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1").taint("t", api::TaintEffect::kNoExecute))
                           .add(PodBuilder("p").on("n1"))
                           .add(PodBuilder("t").on("n1").tolerate("t"));
  EXPECT_THAT(decided(kUpstream, cluster, kTaints), IsEmpty());
  EXPECT_THAT(decided(kOurs, cluster, kTaints), ElementsAre("p"));
}

TEST(Compatibility, DoesNotTreatACordonAsADrain) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1").cordoned().taint("node.kubernetes.io/unschedulable"))
                           .add(PodBuilder("p").on("n1"));
  EXPECT_THAT(decided(kUpstream, cluster, kTaints), ElementsAre("p"));
  EXPECT_THAT(decided(kOurs, cluster, kTaints), IsEmpty());
  EXPECT_THAT(decided(kOurs, cluster, kTaints, R"({"includedTaints":["node.kubernetes.io/unschedulable"]})"),
              ElementsAre("p"));
}

// --- node affinity

constexpr auto kNodeAffinity = "RemovePodsViolatingNodeAffinity";

TEST(Compatibility, MovesOnlyToNodesThatAreBetter) {
  // n2 is preferred and full. n3 has free capacity and is not better.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2").label("disk", "ssd")).add(NodeBuilder("n3"));
  cluster.add(PodBuilder("full").on("n2").cpu(4000));
  cluster.add(PodBuilder("p").on("n1").cpu(100).affinity([](api::Affinity& affinity) {
    affinity.preferred_node_terms.push_back({10, {{{"disk", api::SelectorOperator::kIn, {"ssd"}}}, {}}});
  }));
  const auto args = R"({"nodeAffinityType":["preferredDuringSchedulingIgnoredDuringExecution"]})";
  EXPECT_THAT(decided(kUpstream, cluster, kNodeAffinity, args), ElementsAre("p"));
  EXPECT_THAT(decided(kOurs, cluster, kNodeAffinity, args), IsEmpty());
}

TEST(Compatibility, ConsidersNodeSelectors) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2").label("disk", "ssd"));
  cluster.add(PodBuilder("p").on("n1").with([](api::Pod& pod) { pod.node_selector = {{"disk", "ssd"}}; }));
  const auto args = R"({"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution"]})";
  EXPECT_THAT(decided(kUpstream, cluster, kNodeAffinity, args), IsEmpty());
  EXPECT_THAT(decided(kOurs, cluster, kNodeAffinity, args), ElementsAre("p"));
}

// --- anti-affinity

constexpr auto kAntiAffinity = "RemovePodsViolatingInterPodAntiAffinity";

TEST(Compatibility, EvictsTheLowerPriorityOfAConflict) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(PodBuilder("strict").on("n1").priority(9).anti_affinity("app", "x", "zone"))
                           .add(PodBuilder("x").on("n1").priority(1).label("app", "x"));
  EXPECT_THAT(decided(kUpstream, cluster, kAntiAffinity), ElementsAre("strict"));
  const auto labelled = ClusterBuilder()
                            .add(NodeBuilder("n1").label("zone", "a"))
                            .add(PodBuilder("strict").on("n1").priority(9).anti_affinity("app", "x", "zone"))
                            .add(PodBuilder("x").on("n1").priority(1).label("app", "x"));
  EXPECT_THAT(decided(kOurs, labelled, kAntiAffinity), ElementsAre("x"));
}

TEST(Compatibility, ConsidersNamespaceSelectorsAndEqualNames) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add_namespace("default", {})
                           .add_namespace("other", {{"team", "b"}})
                           .add(PodBuilder("same").on("n1").affinity([](api::Affinity& affinity) {
                             api::PodAffinityTerm& term = affinity.required_pod_anti_affinity.emplace_back();
                             term.label_selector = builders::labels_in("app", {"x"});
                             term.namespace_selector = builders::labels_in("team", {"b"});
                             term.topology_key = "kubernetes.io/hostname";
                           }))
                           .add(PodBuilder("same").ns("other").on("n1").label("app", "x").priority(5));
  EXPECT_THAT(decided(kUpstream, cluster, kAntiAffinity), IsEmpty());
  EXPECT_THAT(decided(kOurs, cluster, kAntiAffinity), ElementsAre("same"));
}

TEST(Compatibility, SeesTheOtherSideOfAConflictBeyondItsScope) {
  const auto cluster =
      ClusterBuilder()
          .add(NodeBuilder("n1"))
          .add(PodBuilder("a").on("n1").label("in", "yes").anti_affinity("app", "x", "kubernetes.io/hostname"))
          .add(PodBuilder("b").on("n1").label("app", "x"));
  const auto args = R"({"labelSelector":{"matchLabels":{"in":"yes"}}})";
  EXPECT_THAT(decided(kUpstream, cluster, kAntiAffinity, args), IsEmpty());
  EXPECT_THAT(decided(kOurs, cluster, kAntiAffinity, args), ElementsAre("a"));
}

TEST(Compatibility, KeepsOnePodOfAConflictOfMany) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1"));
  for (const char* name : {"a", "b", "c"}) {
    cluster.add(PodBuilder(name).on("n1").label("app", "x").anti_affinity("app", "x", "kubernetes.io/hostname"));
  }
  EXPECT_THAT(decided(kOurs, cluster, kAntiAffinity), SizeIs(2));
  EXPECT_THAT(decided(kUpstream, cluster, kAntiAffinity), SizeIs(2));
}

// --- duplicates

constexpr auto kDuplicates = "RemoveDuplicates";

ClusterBuilder crowd(const std::string& node, int count) {
  ClusterBuilder cluster;
  for (int i = 1; i <= count; ++i) cluster.add(PodBuilder("p" + std::to_string(i)).on(node).cpu(100).priority(i));
  return cluster;
}

TEST(Compatibility, DoesNotCountOnCordonedNodesForDuplicates) {
  auto cluster = crowd("n1", 2).add(NodeBuilder("n1")).add(NodeBuilder("n2").cordoned());
  EXPECT_THAT(decided(kUpstream, cluster, kDuplicates), SizeIs(1));
  EXPECT_THAT(decided(kOurs, cluster, kDuplicates), IsEmpty());
}

TEST(Compatibility, DoesNotMoveDuplicatesWithoutFreeCapacity) {
  auto cluster = crowd("n1", 2).add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(PodBuilder("full").on("n2").cpu(4000).owned_by("ReplicaSet", "other"));
  EXPECT_THAT(decided(kUpstream, cluster, kDuplicates), SizeIs(1));
  EXPECT_THAT(decided(kOurs, cluster, kDuplicates), IsEmpty());
}

TEST(Compatibility, EvictsTheLowestPriorityOfDuplicates) {
  const auto cluster = crowd("n1", 3).add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  EXPECT_THAT(decided(kOurs, cluster, kDuplicates), ElementsAre("p1")) << "three over two nodes: two may stay";
}

TEST(Compatibility, NominatesAPodOfTwoOwnersOnce) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  for (const char* name : {"a", "b"}) {
    cluster.add(PodBuilder(name).on("n1").with([](api::Pod& pod) {
      pod.meta.owner_references.push_back({"v1", "Thing", "thing", "uid-t", false});
    }));
  }
  EXPECT_THAT(decided(kUpstream, cluster, kDuplicates), SizeIs(2));
  EXPECT_THAT(decided(kOurs, cluster, kDuplicates), SizeIs(1));
}

// --- utilization

constexpr auto kLow = "LowNodeUtilization";
constexpr auto kHigh = "HighNodeUtilization";
constexpr auto kLowArgs = R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50}})";

TEST(Compatibility, ChecksCapacityPerNode) {
  // Two nodes can each take 1000m more up to the target: enough for 1500m together, but not on one node.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  cluster.add(PodBuilder("a").on("n1").cpu(1500)).add(PodBuilder("b").on("n1").cpu(1500));
  cluster.add(PodBuilder("c").on("n2").cpu(1000)).add(PodBuilder("d").on("n3").cpu(1000));
  EXPECT_THAT(decided(kUpstream, cluster, kLow, kLowArgs), SizeIs(1));
  EXPECT_THAT(decided(kOurs, cluster, kLow, kLowArgs), IsEmpty());
}

TEST(Compatibility, ChecksOnlyTheRequestedResources) {
  // The memory of n2 is full, and p requests none.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(PodBuilder("p").on("n1").cpu(1000)).add(PodBuilder("r").on("n1").cpu(2000));
  cluster.add(PodBuilder("q").on("n2").memory(4000));
  EXPECT_THAT(decided(kUpstream, cluster, kLow, kLowArgs), IsEmpty());
  EXPECT_THAT(decided(kOurs, cluster, kLow, kLowArgs), ElementsAre("p"));
}

TEST(Compatibility, SparesPodsThatDoNotHelp) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(PodBuilder("a-idle").on("n1")).add(PodBuilder("busy").on("n1").cpu(1900).priority(1));
  cluster.add(PodBuilder("busier").on("n1").cpu(1900).priority(2));
  EXPECT_THAT(decided(kUpstream, cluster, kLow, kLowArgs), ElementsAre("a-idle", "busy"));
  EXPECT_THAT(decided(kOurs, cluster, kLow, kLowArgs), ElementsAre("busy"));
}

TEST(Compatibility, RelievesTheNodeWithTheHighestPercentageFirst) {
  // n1 uses more bytes, n2 has a higher percentage.
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1").sized(4000, 400000, 10)).add(NodeBuilder("n2").sized(4000, 4000, 10));
  cluster.add(NodeBuilder("n3").sized(4000, 400000, 10));
  cluster.add(PodBuilder("a").on("n1").cpu(2400).memory(90000));
  cluster.add(PodBuilder("b").on("n2").cpu(1900).memory(3900)).add(PodBuilder("b2").on("n2").cpu(1900));
  const auto args = R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50}})";
  const auto first = [&](api::Compatibility compatibility) {
    const auto pods = decided(compatibility, cluster, kLow, args);
    return pods.empty() ? "" : pods.front();
  };
  EXPECT_EQ(first(kUpstream), "a");
  EXPECT_EQ(first(kOurs), "b");
}

TEST(Compatibility, ConsolidatesWhenAllNodesAreLow) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  cluster.add(PodBuilder("a").on("n1").cpu(400)).add(PodBuilder("b").on("n2").cpu(300));
  cluster.add(PodBuilder("c").on("n3").cpu(200));
  const auto args = R"({"thresholds":{"cpu":30}})";
  EXPECT_THAT(decided(kUpstream, cluster, kHigh, args), IsEmpty());
  EXPECT_THAT(decided(kOurs, cluster, kHigh, args), ElementsAre("c", "b")) << "onto n1, the fullest";
}

TEST(Compatibility, EmptiesANodeCompletelyOrNotAtAll) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(PodBuilder("a").on("n1").cpu(100)).add(PodBuilder("stays").bare().on("n1").cpu(100));
  cluster.add(PodBuilder("big").on("n2").cpu(2000));
  const auto args = R"({"thresholds":{"cpu":30}})";
  EXPECT_THAT(decided(kUpstream, cluster, kHigh, args), ElementsAre("a"));
  EXPECT_THAT(decided(kOurs, cluster, kHigh, args), IsEmpty());
}

TEST(Compatibility, DoesNotWaitForDaemonSetsWhenEmptyingANode) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  cluster.add(PodBuilder("a").on("n1").cpu(100)).add(PodBuilder("d").owned_by("DaemonSet", "d").on("n1").cpu(100));
  cluster.add(PodBuilder("big").on("n2").cpu(2000));
  EXPECT_THAT(decided(kOurs, cluster, kHigh, R"({"thresholds":{"cpu":30}})"), ElementsAre("a"));
}

// --- life time

TEST(Compatibility, ChecksAllPodsBeforeTheFirstPodLeavesLikeUpstream) {
  // "second" fits only after "first" has left n1. n3 accepts only "first".
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3").taint("t"));
  cluster.add(PodBuilder("first").on("n1").cpu(1000).tolerate("t").older_by(base::seconds(99)));
  cluster.add(PodBuilder("second").on("n2").cpu(1000).older_by(base::seconds(98)));
  for (const char* node : {"n1", "n2"}) {
    cluster.add(PodBuilder(std::string("rest-") + node).on(node).cpu(3000).older_by(base::seconds(1)));
  }
  for (const auto& [compatibility, want] : {std::pair(kUpstream, 1U), std::pair(kOurs, 2U)}) {
    StrategyRun run(cluster);
    run.compatibility = compatibility;
    run.evictability.node_fit = true;
    run.sink.answer = [&](const api::Pod& pod) {
      run.what_if().move(*run.cluster().find_pod("default", pod.meta.name), scheduling::kNoNode);
      return NominationResult::kAccepted;
    };
    EXPECT_THAT(run.run("PodLifeTime", R"({"maxPodLifeTimeSeconds":60})").sink.accepted, SizeIs(want));
  }
}

}  // namespace compatibility_test
}  // namespace strategies
