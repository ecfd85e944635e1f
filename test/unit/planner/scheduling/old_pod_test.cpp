/// Rules by which a terminating pod blocks its own replacement.

#include <gmock/gmock.h>

#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/scoring/preferences.hpp"
#include "test/builders/cluster.hpp"

namespace scheduling {
namespace old_pod_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

struct StayCase {
  std::string name;
  std::function<void(PodBuilder& pod)> edit;  ///< The pod p runs on n1 and requests 3 of its 4 cpu
  std::string stays;  ///< Reason why n1 refuses the replacement meanwhile, empty if n1 accepts it
};

class OldPodTest : public testing::TestWithParam<StayCase> {};

TEST_P(OldPodTest, CountsUntilItIsGone) {
  PodBuilder pod("p");
  pod.on("n1").label("app", "web");
  GetParam().edit(pod);
  const auto cluster = ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(pod).build();
  const WhatIf what_if(*cluster);
  const PodIndex index = cluster->find_pod("default", "p").value();
  const auto reason = [&](OldPod old_pod) {
    const auto refusal = FitQuery(what_if, index, FitLevel::kScheduler, old_pod).refusal(0);
    return refusal ? std::string(refusal->reason) : "";
  };
  EXPECT_EQ(reason(OldPod::kGone), "");
  EXPECT_EQ(reason(OldPod::kStays), GetParam().stays);
  EXPECT_TRUE(FitQuery(what_if, index, FitLevel::kScheduler, OldPod::kStays).fits(1));
}

INSTANTIATE_TEST_SUITE_P(
    Ways, OldPodTest,
    testing::Values(StayCase{"Room", [](auto& pod) { pod.cpu(3000); }, "InsufficientResource"},
                    StayCase{"RoomForTwo", [](auto& pod) { pod.cpu(2000); }, ""},
                    StayCase{"Ports",
                             [](auto& pod) {
                               pod.with([](api::Pod& each) { each.containers[0].host_ports = {{"", "TCP", 80}}; });
                             },
                             "HostPortInUse"},
                    StayCase{"AntiAffinityToItsOwnKind",
                             [](auto& pod) { pod.anti_affinity("app", "web", "kubernetes.io/hostname"); },
                             "AntiAffinity"},
                    StayCase{"TopologySpreadLeavesItOut",
                             [](auto& pod) {
                               pod.with([](api::Pod& each) {
                                 api::TopologySpreadConstraint constraint;
                                 constraint.topology_key = "kubernetes.io/hostname";
                                 constraint.label_selector = builders::labels_in("app", {"web"});
                                 each.topology_spread.push_back(constraint);
                               });
                             },
                             ""}),
    [](const auto& test) { return test.param.name; });

api::PodAffinityTerm own_kind() {
  api::PodAffinityTerm term;
  term.label_selector = builders::labels_in("app", {"web"});
  term.topology_key = "kubernetes.io/hostname";
  return term;
}

TEST(OldPod, KeepsItsDomainAsTheOnlyOneThatItsAffinityAllows) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(PodBuilder("p").on("n1").label("app", "web").affinity([](api::Affinity& affinity) {
                             affinity.required_pod_affinity = {own_kind()};
                           }))
                           .build();
  const WhatIf what_if(*cluster);
  EXPECT_TRUE(FitQuery(what_if, 0, FitLevel::kScheduler).fits(1)) << "the first of its kind goes anywhere";
  EXPECT_FALSE(FitQuery(what_if, 0, FitLevel::kScheduler, OldPod::kStays).fits(1));
  EXPECT_TRUE(FitQuery(what_if, 0, FitLevel::kScheduler, OldPod::kStays).fits(0));
}

TEST(OldPod, CountsInPreferencesAboutPods) {
  const auto cluster =
      ClusterBuilder()
          .add(NodeBuilder("n1"))
          .add(NodeBuilder("n2"))
          .add(PodBuilder("p").bare().on("n1").label("app", "web").affinity([](api::Affinity& affinity) {
            affinity.preferred_pod_anti_affinity = {{10, own_kind()}};
          }))
          .build();
  const WhatIf what_if(*cluster);
  SchedulerRules rules;
  rules.weights = {.fit = 0, .balance = 0, .taints = 0, .node_affinity = 0, .pod_affinity = 1, .spread = 0};
  const auto scores = [&](OldPod old_pod) {
    const FitQuery query(what_if, 0, FitLevel::kScheduler, old_pod);
    return Preferences(query, rules).scores(std::vector<NodeIndex>{0, 1});
  };
  EXPECT_EQ(scores(OldPod::kGone), (std::vector<int>{0, 0}));
  EXPECT_EQ(scores(OldPod::kStays), (std::vector<int>{0, 100}));
}

}  // namespace old_pod_test
}  // namespace scheduling
