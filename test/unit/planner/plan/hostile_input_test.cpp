/// Objects that the API server should have refused. They must not affect the plan for the other pods.

#include <gmock/gmock.h>

#include <functional>
#include <limits>

#include "api/meta/well_known.hpp"
#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

namespace planner {
namespace hostile_input_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::IsEmpty;

struct HostileCase {
  std::string name;
  std::function<void(ClusterBuilder&)> add;
  std::vector<std::string> want_moves{"web"};  ///< Pods that move from n1 to n2
};

class HostileInput : public testing::TestWithParam<HostileCase> {};

api::DeschedulerPolicySpec old_pods() {
  api::DeschedulerPolicySpec spec;
  spec.strategies = {{"PodLifeTime", R"({"maxPodLifeTimeSeconds":600})"}};
  return spec;
}

std::vector<std::string> moves_of(const Plan& plan, const char* to) {
  std::vector<std::string> pods;
  for (const api::PlannedMove& move : plan.moves) {
    pods.push_back(move.pod);
    EXPECT_EQ(move.to, to) << move.pod;
  }
  return pods;
}

/// n1 runs the old pod "web" of 100m, n2 is empty.
TEST_P(HostileInput, LeavesTheRestOfThePlanAlone) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1").taint("full")).add(NodeBuilder("n2")).add(PodBuilder("web").on("n1").cpu(100));
  GetParam().add(builder);
  const auto cluster = builder.build();
  const auto spec = old_pods();
  const Plan plan = plan_cycle({.spec = planner::PlanSpec(spec), .cluster = *cluster, .leaving = {}, .now = kNoon});
  EXPECT_THAT(plan.errors, IsEmpty());
  EXPECT_THAT(moves_of(plan, "n2"), testing::UnorderedElementsAreArray(GetParam().want_moves));
}

void add_taints(ClusterBuilder& builder) {
  NodeBuilder node("n3");
  for (int i = 0; i < 10'000; ++i) node.taint("key-" + std::to_string(i));
  builder.add(node);
}

/// Pod of a hostile tenant. Plans for other tenants must not wait for it.
PodBuilder with_40_000_terms(const std::string& name) {
  return PodBuilder(name).ns("hostile").affinity([](api::Affinity& affinity) {
    for (int i = 0; i < 40'000; ++i) {
      api::PodAffinityTerm term;
      term.label_selector = api::LabelSelector{};
      term.namespace_selector = api::LabelSelector{};
      term.topology_key = "key-" + std::to_string(i);
      affinity.required_pod_anti_affinity.push_back(term);
      affinity.preferred_pod_affinity.emplace_back(1, std::move(term));
    }
  });
}

void add_own_owner(ClusterBuilder& builder) {
  builder.add(
      PodBuilder("circle").on("n1").with([](api::Pod& pod) { pod.meta.owner_references[0].uid = pod.meta.uid; }));
}

INSTANTIATE_TEST_SUITE_P(
    Plans, HostileInput,
    testing::Values(
        HostileCase{"TenThousandTaints", add_taints},
        HostileCase{"PodThatOwnsItself", add_own_owner, {"circle", "web"}},
        HostileCase{"PodWith40000Terms", [](auto& builder) { builder.add(with_40_000_terms("evil").on("n1")); }},
        HostileCase{"PendingPodWith40000Terms", [](auto& builder) { builder.add(with_40_000_terms("evil")); }},
        HostileCase{"MirrorPodWith40000Terms",
                    [](auto& builder) {
                      builder.add(with_40_000_terms("evil").on("n1").annotate(api::well_known::kMirrorAnnotation, "x"));
                    }},
        HostileCase{"PodOnAnUnknownNode", [](auto& builder) { builder.add(PodBuilder("lost").on("gone")); }},
        HostileCase{"NodeWithoutAllocatable",
                    [](auto& builder) {
                      builder.add(NodeBuilder("n0").with([](api::Node& node) { node.allocatable.clear(); }));
                    }},
        HostileCase{"NodeWithNegativeAllocatable",
                    [](auto& builder) { builder.add(NodeBuilder("n0").sized(-4000, -4000, 10)); }},
        HostileCase{"PodThatAsksForLessThanNothing",
                    [](auto& builder) { builder.add(PodBuilder("evil").on("n2").cpu(-9000)); },
                    {"evil", "web"}},
        HostileCase{"PodThatAsksForMoreThanThereIs",
                    [](auto& builder) {
                      builder.add(
                          PodBuilder("greedy").on("n1").request("memory", std::numeric_limits<std::int64_t>::max()));
                    }}),
    [](const auto& test) { return test.param.name; });

/// The evict annotation and compatibility Upstream do not override the limit.
TEST(HostileInputTest, APodWithTooManyTermsIsRefused) {
  for (const auto compatibility : {api::Compatibility::kNone, api::Compatibility::kUpstream}) {
    ClusterBuilder builder;
    builder.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
    builder.add(with_40_000_terms("evil").on("n1").annotate(api::well_known::kEvictAnnotation, ""));
    const auto cluster = builder.build();
    auto spec = old_pods();
    spec.compatibility = compatibility;
    const Plan plan = plan_cycle({.spec = planner::PlanSpec(spec), .cluster = *cluster, .leaving = {}, .now = kNoon});
    EXPECT_THAT(plan.moves, IsEmpty());
    EXPECT_THAT(plan.refused, testing::ElementsAre(api::ReasonCount{"TooManyTerms", 1}));
    EXPECT_EQ(plan.refusals.at(0).subject, "spec.affinity.podAffinity");
  }
}

TEST(HostileInputTest, UpstreamsNumbersStay) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("evil").on("n1").cpu(-5000));
  const scheduling::ClusterSnapshot cluster(builder.input(), scheduling::quantities_of(api::Compatibility::kUpstream));
  auto spec = old_pods();
  spec.compatibility = api::Compatibility::kUpstream;
  const Plan plan = plan_cycle({.spec = planner::PlanSpec(spec), .cluster = cluster, .leaving = {}, .now = kNoon});
  EXPECT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.utilization.at(0).cpu.before.milli(), -5000);
}

}  // namespace hostile_input_test
}  // namespace planner
