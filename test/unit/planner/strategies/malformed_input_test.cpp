/// Objects that the API server would have refused, as they occur in dumps and captured cases: upstream's decision on
/// each (upstream-semantics.md#malformed-objects) and ours.

#include <gmock/gmock.h>

#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace malformed_input_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::StrategyRun;
using testing::ElementsAreArray;

struct MalformedCase {
  std::string name;
  std::string strategy;
  std::string args;
  ClusterBuilder cluster;
  std::vector<std::string> upstream;
  std::vector<std::string> ours;
};

class MalformedInputTest : public testing::TestWithParam<MalformedCase> {};

TEST_P(MalformedInputTest, DecidesAsWritten) {
  const auto decided = [](api::Compatibility compatibility) {
    StrategyRun run(GetParam().cluster);
    run.compatibility = compatibility;
    return run.run(GetParam().strategy, GetParam().args).sink.accepted;
  };
  EXPECT_THAT(decided(api::Compatibility::kUpstream), ElementsAreArray(GetParam().upstream));
  EXPECT_THAT(decided(api::Compatibility::kNone), ElementsAreArray(GetParam().ours));
}

ClusterBuilder two_nodes() {
  return ClusterBuilder().add(NodeBuilder("n1").label("zone", "a")).add(NodeBuilder("n2").label("zone", "b"));
}

/// Two pods of one owner on n1. Their only node selector term is invalid.
ClusterBuilder duplicates() {
  ClusterBuilder cluster = two_nodes();
  for (const char* name : {"p", "q"}) {
    cluster.add(PodBuilder(name).on("n1").affinity([](api::Affinity& affinity) {
      affinity.required_node_terms = {{{{"x", api::SelectorOperator::kGt, {"x"}}}, {}}};
    }));
  }
  return cluster;
}

api::PodAffinityTerm term_of(api::SelectorRequirement requirement) {
  return {api::LabelSelector{{std::move(requirement)}}, {}, {}, "kubernetes.io/hostname", {}, {}};
}

/// p and q on n1. `terms` are the anti-affinity terms of p in order.
ClusterBuilder neighbours(const std::vector<api::PodAffinityTerm>& terms) {
  return two_nodes()
      .add(PodBuilder("p").on("n1").affinity(
          [&](api::Affinity& affinity) { affinity.required_pod_anti_affinity = terms; }))
      .add(PodBuilder("q").on("n1").label("a", "b"));
}

const api::SelectorRequirement kMalformed{"a", api::SelectorOperator::kNotIn, {}};
const api::SelectorRequirement kViolated{"a", api::SelectorOperator::kIn, {"b"}};

/// Three pods on n1, one of which may go to the other zone.
ClusterBuilder spread() {
  ClusterBuilder cluster = two_nodes();
  api::TopologySpreadConstraint constraint;
  constraint.topology_key = "zone";
  constraint.label_selector = builders::labels_in("app", {"x"});
  for (const char* name : {"p1", "p2", "p3"}) {
    PodBuilder pod(name);
    pod.on("n1").label("app", "x").with([&](api::Pod& object) { object.topology_spread = {constraint}; });
    if (pod.build().meta.name == "p3") pod.affinity([](api::Affinity& affinity) { affinity.has_node_affinity = true; });
    cluster.add(pod);
  }
  return cluster;
}

/// n1 is overfull. n2 has the taints, the pods have the tolerations.
ClusterBuilder overfull(const std::vector<api::Taint>& taints, const std::vector<api::Toleration>& tolerations = {}) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2").with([&](api::Node& node) { node.taints = taints; }));
  for (const char* name : {"p1", "p2", "p3"}) {
    cluster.add(PodBuilder(name).on("n1").cpu(900).with([&](api::Pod& pod) { pod.tolerations = tolerations; }));
  }
  return cluster;
}

const api::Taint kNoEffect{"k", "", api::TaintEffect::kOther};
const std::vector<api::Taint> kTwoTaints{{"k", "", api::TaintEffect::kNoSchedule},
                                         {"l", "", api::TaintEffect::kNoSchedule}};
const api::Toleration kOfAll{"", true, "", {}, {}};
const api::Toleration kOfTheFuture{"k", true, "", {}, {}, api::TolerationComparison::kNever};
constexpr auto kLowArgs = R"({"thresholds":{"cpu":30},"targetThresholds":{"cpu":50}})";

INSTANTIATE_TEST_SUITE_P(
    MalformedInput, MalformedInputTest,
    testing::Values(
        MalformedCase{
            "ANodeTermThatDoesNotParseCountsForDuplicates", "RemoveDuplicates", "{}", duplicates(), {"q"}, {}},
        MalformedCase{"AnAntiAffinityThatDoesNotParseIsNotViolated",
                      "RemovePodsViolatingInterPodAntiAffinity",
                      "{}",
                      neighbours({term_of(kMalformed)}),
                      {},
                      {}},
        MalformedCase{"AnAntiAffinityThatDoesNotParseEndsTheSearch",
                      "RemovePodsViolatingInterPodAntiAffinity",
                      "{}",
                      neighbours({term_of(kMalformed), term_of(kViolated)}),
                      {},
                      {"p"}},
        MalformedCase{"AnEarlierTermIsViolatedAllTheSame",
                      "RemovePodsViolatingInterPodAntiAffinity",
                      "{}",
                      neighbours({term_of(kViolated), term_of(kMalformed)}),
                      {"p"},
                      {"p"}},
        MalformedCase{"AnEmptyNodeAffinityPinsAPod",
                      "RemovePodsViolatingTopologySpreadConstraint",
                      "{}",
                      spread(),
                      {"p2"},
                      {"p1"}},
        MalformedCase{
            "ATaintOfNoEffectClosesADestination", "LowNodeUtilization", kLowArgs, overfull({kNoEffect}), {}, {"p1"}},
        MalformedCase{"ATaintOfNoEffectCanBeTolerated",
                      "LowNodeUtilization",
                      kLowArgs,
                      overfull({kNoEffect}, {kOfAll}),
                      {"p1"},
                      {"p1"}},
        MalformedCase{"UpstreamWantsATolerationForEachTaint",
                      "LowNodeUtilization",
                      kLowArgs,
                      overfull(kTwoTaints, {kOfAll}),
                      {},
                      {"p1"}},
        MalformedCase{"ATolerationOfTheFutureIsCounted",
                      "LowNodeUtilization",
                      kLowArgs,
                      overfull(kTwoTaints, {kOfAll, kOfTheFuture}),
                      {"p1"},
                      {"p1"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace malformed_input_test
}  // namespace strategies
