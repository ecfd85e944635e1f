#include "scheduling/snapshot_keeper.hpp"

#include <gtest/gtest.h>

#include <random>

#include "scheduling/predicates.hpp"
#include "test/builders/cluster.hpp"

namespace scheduling {
namespace snapshot_keeper_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

/// Everything that a reader can see of the pods and nodes, so that two snapshots can be compared.
std::string picture(const ClusterSnapshot& cluster) {
  std::string text;
  for (const NodeIndex node : cluster.nodes()) {
    text += cluster.node(node).meta.name + (cluster.node(node).unschedulable ? " cordoned" : "");
    for (const ResourceIndex resource : {kCpuIndex, kMemoryIndex, kPodsIndex}) {
      text += " " + std::to_string(cluster.used().get(node, resource));
    }
    for (const PodIndex pod : cluster.pods_on(node)) {
      text += "\n  " + cluster.pod(pod).meta.name + (cluster.is_active(pod) ? " active" : " ended") + " of " +
              std::to_string(cluster.siblings(pod)) + " alive " + std::to_string(cluster.living_siblings(pod));
      const Overlay overlay(cluster);
      for (const NodeIndex to : cluster.nodes()) {
        const auto refusal = first_refusal(overlay, pod, to, FitLevel::kScheduler);
        text += refusal ? " " + refusal->message() : " fits";
      }
    }
    text += "\n";
  }
  for (const auto& pdb : cluster.pdbs()) text += pdb->meta.name + " " + std::to_string(pdb->disruptions_allowed) + "\n";
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

TEST_P(SnapshotChange, IsSeenAsInASnapshotMadeAnew) {
  SnapshotInput input = small_cluster();
  SnapshotKeeper keeper;
  const std::string before = picture(keeper.at(input));
  EXPECT_EQ(before, picture(ClusterSnapshot(input)));
  GetParam().change(input);
  EXPECT_EQ(picture(keeper.at(input)), picture(ClusterSnapshot(input)));
  EXPECT_EQ(keeper.made(), GetParam().in_place ? 1U : 2U);
}

ChangeCase pod_change(const char* name, const char* pod, std::function<void(api::Pod&)> change, bool in_place) {
  return {name, [=](SnapshotInput& input) { edit<api::Pod>(pod_of(input, pod), change); }, in_place};
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, SnapshotChange,
    testing::Values(
        ChangeCase{"Nothing", [](SnapshotInput&) {}, true},
        pod_change(
            "APodEnds", "a", [](api::Pod& pod) { pod.phase = api::PodPhase::kSucceeded; }, true),
        pod_change(
            "APodWithAntiAffinityEnds", "loner", [](api::Pod& pod) { pod.phase = api::PodPhase::kFailed; }, true),
        pod_change(
            "APodTerminates", "b", [](api::Pod& pod) { pod.meta.deletion_timestamp = builders::kNoon; }, true),
        pod_change(
            "APodIsResized", "c",
            [](api::Pod& pod) {
              pod.containers[0].requests = {{"cpu", api::Quantity::from_milli(900)}};
            },
            true),
        pod_change(
            "APodIsRelabelled", "a",
            [](api::Pod& pod) {
              pod.meta.labels = {{"app", "other"}};
            },
            false),
        pod_change(
            "APodIsBoundElsewhere", "a", [](api::Pod& pod) { pod.node_name = {"n2"}; }, false),
        pod_change(
            "APodIsAdopted", "loner",
            [](api::Pod& pod) {
              pod.meta.owner_references.push_back({"apps/v1", "ReplicaSet", "rs", "rs"});
            },
            false),
        pod_change(
            "APodIsMadeAnewUnderItsName", "a", [](api::Pod& pod) { pod.meta.uid = "other"; }, false),
        ChangeCase{"APodComes",
                   [](SnapshotInput& input) {
                     auto pod = std::make_shared<api::Pod>(*input.pods.front());
                     pod->meta.name = pod->meta.uid = "z";
                     input.pods.push_back(std::move(pod));
                   },
                   false},
        ChangeCase{"APodGoes", [](SnapshotInput& input) { input.pods.pop_back(); }, false},
        ChangeCase{"ANodeIsCordoned",
                   [](SnapshotInput& input) {
                     edit<api::Node>(input.nodes[0], [](api::Node& node) { node.unschedulable = true; });
                   },
                   true},
        ChangeCase{"ANodeGrows",
                   [](SnapshotInput& input) {
                     edit<api::Node>(input.nodes[0], [](api::Node& node) { node.allocatable[0].second = {}; });
                   },
                   false},
        ChangeCase{"ABudgetIsSpent",
                   [](SnapshotInput& input) {
                     edit<api::PodDisruptionBudget>(input.pdbs[0],
                                                    [](api::PodDisruptionBudget& pdb) { pdb.disruptions_allowed = 0; });
                   },
                   true},
        ChangeCase{"ANamespaceComes",
                   [](SnapshotInput& input) { input.namespaces.push_back(std::make_shared<api::Namespace>()); },
                   false}),
    [](const auto& info) { return info.param.name; });

TEST(SnapshotKeeper, IsMadeAnewBeforeItKeepsMuchThatIsOld) {
  SnapshotInput input = small_cluster();
  SnapshotKeeper keeper;
  keeper.at(input);
  for (int i = 0; i < 10; ++i) {
    edit<api::Pod>(pod_of(input, "a"), [](api::Pod& pod) { pod.meta.resource_version += "1"; });
    keeper.at(input);
  }
  EXPECT_GT(keeper.made(), 1U);
}

}  // namespace snapshot_keeper_test
}  // namespace scheduling
