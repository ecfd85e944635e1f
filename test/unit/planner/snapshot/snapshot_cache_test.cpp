#include "planner/snapshot/snapshot_cache.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "planner/scheduling/predicates.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/first_refusal.hpp"
#include "test/builders/snapshot_picture.hpp"

namespace scheduling {
namespace snapshot_keeper_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

/// Contents of the snapshot as text, with the resulting fit of every pod on every node.
std::string picture(const ClusterSnapshot& cluster) {
  std::string text = builders::picture_of(cluster);
  const WhatIf what_if(cluster);
  for (const PodIndex pod : cluster.pods()) {
    for (const NodeIndex to : cluster.nodes()) {
      const auto refusal = first_refusal(what_if, pod, to, FitLevel::kScheduler);
      text += cluster.pod(pod).meta.name + (refusal ? " " + refusal->message() : " fits") + "\n";
    }
  }
  return text;
}

SnapshotInput small_cluster() {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(builders::pdb("web", "web", 1));
  for (const char* name : {"a", "b", "c"}) {
    builder.add(
        PodBuilder(name).on(name[0] == 'c' ? "n2" : "n1").cpu(500).label("app", "web").owned_by("ReplicaSet", "rs"));
  }
  builder.add(PodBuilder("loner").on("n2").cpu(100).anti_affinity("app", "web", "kubernetes.io/hostname"));
  return builder.input();
}

/// Anti-affinity of the pod "loner".
std::shared_ptr<const api::Affinity> wish_of_loner() {
  return PodBuilder("x").anti_affinity("app", "web", "kubernetes.io/hostname").build().affinity;
}

struct ChangeCase {
  const char* name;
  std::function<void(SnapshotInput&)> change;
  bool in_place;
};

template <typename T>
void edit(std::shared_ptr<const T>& object, const std::function<void(T&)>& change) {
  auto changed = std::make_shared<T>(*object);
  change(*changed);
  object = std::move(changed);
}

std::shared_ptr<const api::Pod>& pod_of(SnapshotInput& input, std::string_view name) {
  return *std::ranges::find_if(input.pods, [&](const auto& pod) { return pod->meta.name == name; });
}

class SnapshotChange : public testing::TestWithParam<ChangeCase> {};

TEST_P(SnapshotChange, EqualsARebuiltSnapshot) {
  SnapshotInput input = small_cluster();
  SnapshotCache keeper;
  const std::string before = picture(keeper.at(input));
  EXPECT_EQ(before, picture(ClusterSnapshot(input)));
  GetParam().change(input);
  EXPECT_EQ(picture(keeper.at(input)), picture(ClusterSnapshot(input)));
  EXPECT_EQ(keeper.made(), GetParam().in_place ? 1U : 2U);
}

ChangeCase pod_change(const char* name, const char* pod, std::function<void(api::Pod&)> change) {
  return {name, [=](SnapshotInput& input) { edit<api::Pod>(pod_of(input, pod), change); }, true};
}

std::shared_ptr<const api::Pod> renamed(const api::Pod& pod, const char* name, const char* ns = "default") {
  auto other = std::make_shared<api::Pod>(pod);
  other->meta.ns = ns;
  other->meta.name = other->meta.uid = name;
  return other;
}

INSTANTIATE_TEST_SUITE_P(
    Pods, SnapshotChange,
    testing::Values(
        ChangeCase{"Nothing", [](SnapshotInput&) {}, true},
        pod_change("Ends", "a", [](api::Pod& pod) { pod.phase = api::PodPhase::kSucceeded; }),
        pod_change("WithAntiAffinityEnds", "loner", [](api::Pod& pod) { pod.phase = api::PodPhase::kFailed; }),
        pod_change("Terminates", "b", [](api::Pod& pod) { pod.meta.deletion_timestamp = builders::kNoon; }),
        pod_change("IsResized", "c",
                   [](api::Pod& pod) {
                     pod.containers[0].requests = {{"cpu", api::Quantity::from_milli(900)}};
                   }),
        pod_change("AsksForWhatNobodyCanMean", "c",
                   [](api::Pod& pod) {
                     pod.containers[0].requests = {{"cpu", api::Quantity::from_milli(-900)}};
                   }),
        pod_change("IsRelabelled", "a",
                   [](api::Pod& pod) {
                     pod.meta.labels = {{"app", "other"}};
                   }),
        pod_change("GetsTheLabelsOfOthers", "loner",
                   [](api::Pod& pod) {
                     pod.meta.labels = {{"app", "web"}};
                   }),
        pod_change("IsBoundElsewhere", "a", [](api::Pod& pod) { pod.node_name = {"n2"}; }),
        pod_change("IsBoundToAnUnknownNode", "a", [](api::Pod& pod) { pod.node_name = {"n7"}; }),
        pod_change("LosesItsNode", "c", [](api::Pod& pod) { pod.node_name = {}; }),
        pod_change("GetsAffinity", "b", [](api::Pod& pod) { pod.affinity = wish_of_loner(); }),
        pod_change("LosesAffinity", "loner", [](api::Pod& pod) { pod.affinity = nullptr; }),
        pod_change("IsAdopted", "loner",
                   [](api::Pod& pod) {
                     pod.meta.owner_references.push_back({"apps/v1", "ReplicaSet", "rs", "rs"});
                   }),
        pod_change("IsOrphaned", "loner", [](api::Pod& pod) { pod.meta.owner_references.clear(); }),
        pod_change("IsAdoptedByADaemonSet", "loner",
                   [](api::Pod& pod) {
                     pod.meta.owner_references.push_back({"apps/v1", "DaemonSet", "ds", "ds"});
                   }),
        pod_change("BecomesAMirror", "loner",
                   [](api::Pod& pod) {
                     pod.meta.annotations = {{"kubernetes.io/config.mirror", "x"}};
                   }),
        pod_change("AsksForAHostPort", "a",
                   [](api::Pod& pod) {
                     pod.containers[0].host_ports = {{"", "TCP", 80}};
                   }),
        pod_change("IsMadeAnewUnderItsName", "a", [](api::Pod& pod) { pod.meta.uid = "other"; }),
        pod_change("IsMadeAnewUnderItsNameElsewhere", "a",
                   [](api::Pod& pod) {
                     pod.meta.uid = "a";
                     pod.node_name = {"n2"};
                   }),
        ChangeCase{"Comes", [](SnapshotInput& input) { input.pods.push_back(renamed(*input.pods.front(), "z")); },
                   true},
        ChangeCase{
            "ComesFirst",
            [](SnapshotInput& input) { input.pods.insert(input.pods.begin(), renamed(*input.pods.front(), "0")); },
            true},
        ChangeCase{"ComesToANewNamespace",
                   [](SnapshotInput& input) {
                     input.pods.insert(input.pods.begin(), renamed(*input.pods.front(), "a", "before"));
                     input.pods.push_back(renamed(*input.pods.back(), "a", "later"));
                   },
                   true},
        ChangeCase{"GoesLast", [](SnapshotInput& input) { input.pods.pop_back(); }, true},
        ChangeCase{"GoesFirst", [](SnapshotInput& input) { input.pods.erase(input.pods.begin()); }, true},
        ChangeCase{"AllGo", [](SnapshotInput& input) { input.pods.clear(); }, true},
        ChangeCase{"AllAreExchanged",
                   [](SnapshotInput& input) {
                     for (auto& pod : input.pods) pod = renamed(*pod, ("new-" + pod->meta.name).c_str());
                   },
                   true},
        ChangeCase{"AreGivenInAnotherOrderWithNulls",
                   [](SnapshotInput& input) {
                     std::ranges::reverse(input.pods);
                     input.pods.push_back(nullptr);
                   },
                   true}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Others, SnapshotChange,
    testing::Values(ChangeCase{"ANodeIsCordoned",
                               [](SnapshotInput& input) {
                                 edit<api::Node>(input.nodes[0],
                                                 [](api::Node& changed) { changed.unschedulable = true; });
                               },
                               true},
                    ChangeCase{"ANodeIsTainted",
                               [](SnapshotInput& input) {
                                 edit<api::Node>(input.nodes[1], [](api::Node& node) {
                                   node.taints = {{"k", "", api::TaintEffect::kNoExecute}};
                                 });
                               },
                               true},
                    ChangeCase{"ANodeGrows",
                               [](SnapshotInput& input) {
                                 edit<api::Node>(input.nodes[0],
                                                 [](api::Node& node) { node.allocatable[0].second = {}; });
                               },
                               false},
                    ChangeCase{"ANodeGetsStrange",
                               [](SnapshotInput& input) {
                                 edit<api::Node>(input.nodes[0], [](api::Node& node) {
                                   node.capacity = {{"cpu", api::Quantity::from_milli(-1)}};
                                 });
                               },
                               false},
                    ChangeCase{"ANodeGoes", [](SnapshotInput& input) { input.nodes.pop_back(); }, false},
                    ChangeCase{"ANodeAndAPodGo",
                               [](SnapshotInput& input) {
                                 input.nodes.pop_back();
                                 input.pods.pop_back();
                               },
                               false},
                    ChangeCase{"ABudgetIsSpent",
                               [](SnapshotInput& input) {
                                 edit<api::PodDisruptionBudget>(
                                     input.pdbs[0], [](api::PodDisruptionBudget& pdb) { pdb.disruptions_allowed = 0; });
                               },
                               true},
                    ChangeCase{"ABudgetComesToANewNamespace",
                               [](SnapshotInput& input) {
                                 auto pdb = builders::pdb("b", "b", 1);
                                 pdb.meta.ns = "budgeted";
                                 input.pdbs.insert(input.pdbs.begin(), std::make_shared<api::PodDisruptionBudget>(pdb));
                               },
                               true},
                    ChangeCase{"ABudgetGoes", [](SnapshotInput& input) { input.pdbs.clear(); }, true},
                    ChangeCase{"ANamespaceComes",
                               [](SnapshotInput& input) {
                                 auto ns = std::make_shared<api::Namespace>();
                                 ns->meta.name = "default";
                                 input.namespaces.push_back(ns);
                               },
                               true},
                    ChangeCase{"OwnersRunInCircles",
                               [](SnapshotInput& input) {
                                 auto job = std::make_shared<api::Workload>();
                                 job->kind = "Job";
                                 job->meta.name = job->meta.uid = "self";
                                 job->meta.owner_references.push_back({"batch/v1", "Job", "self", "self", true});
                                 input.workloads.push_back(job);
                               },
                               true}),
    [](const auto& test) { return test.param.name; });

TEST(SnapshotCache, ReleasesOldObjects) {
  SnapshotInput input = small_cluster();
  SnapshotCache keeper;
  keeper.at(input);
  const std::weak_ptr<const api::Pod> replaced = pod_of(input, "a");
  const std::weak_ptr<const api::Pod> gone = input.pods.back();
  const std::weak_ptr<const api::Node> node = input.nodes[0];
  edit<api::Pod>(pod_of(input, "a"), [](api::Pod& pod) { pod.meta.resource_version = "2"; });
  edit<api::Node>(input.nodes[0], [](api::Node& changed) { changed.unschedulable = true; });
  input.pods.pop_back();
  const std::string now = picture(ClusterSnapshot(input));
  keeper.at(input);
  EXPECT_TRUE(replaced.expired());
  EXPECT_TRUE(gone.expired());
  EXPECT_TRUE(node.expired());
  EXPECT_EQ(picture(keeper.at(input)), now);
}

TEST(SnapshotCache, ReusesNumbersOfDeletedOwners) {
  SnapshotInput input = small_cluster();
  SnapshotCache keeper;
  const std::size_t owners = keeper.at(input).owner_count();
  for (int i = 0; i < 20; ++i) {
    edit<api::Pod>(pod_of(input, "loner"),
                   [&](api::Pod& pod) { pod.meta.owner_references[0].uid = "rs-" + std::to_string(i); });
    keeper.at(input);
  }
  EXPECT_EQ(keeper.at(input).owner_count(), owners + 1) << "at first it shares its owner";
}

TEST(SnapshotCache, RebuildsBeforeItStoresManyOldRequests) {
  SnapshotInput input = small_cluster();
  SnapshotCache keeper;
  for (int i = 0; i < 1100; ++i) {
    edit<api::Pod>(pod_of(input, "a"), [&](api::Pod& pod) {
      pod.containers[0].requests = {{"cpu", api::Quantity::from_milli(i)}};
    });
    keeper.at(input);
  }
  EXPECT_EQ(keeper.made(), 2U);
  EXPECT_LT(keeper.at(input).request_set_count(), 1000U);
}

}  // namespace snapshot_keeper_test
}  // namespace scheduling
