#include "planner/snapshot/cluster_snapshot.hpp"

#include <gmock/gmock.h>

#include "planner/scheduling/what_if.hpp"
#include "test/builders/cluster.hpp"

namespace scheduling {
namespace cluster_snapshot_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names_of(const ClusterSnapshot& cluster, auto pods) {
  std::vector<std::string> names;
  for (const PodIndex pod : pods) names.push_back(cluster.pod(pod).meta.name);
  return names;
}

PodIndex find(const ClusterSnapshot& cluster, std::string_view name) {
  return cluster.find_pod("default", name).value();
}

TEST(ClusterSnapshot, NumbersNodesByNameAndPodsByNode) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n2"))
                           .add(NodeBuilder("n1"))
                           .add(PodBuilder("b").on("n1"))
                           .add(PodBuilder("c").on("n2"))
                           .add(PodBuilder("a").on("n1"))
                           .build();
  ASSERT_EQ(cluster->node_count(), 2U);
  EXPECT_EQ(cluster->node(0).meta.name, "n1");
  EXPECT_THAT(names_of(*cluster, cluster->pods_on(0)), ElementsAre("a", "b"));
  EXPECT_THAT(names_of(*cluster, cluster->pods_on(1)), ElementsAre("c"));
}

TEST(ClusterSnapshot, KeepsPodsWithoutAKnownNodeApart) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(PodBuilder("gone").on("deleted"))
                           .add(PodBuilder("here").on("n1"))
                           .add(PodBuilder("pending"))
                           .build();
  EXPECT_THAT(names_of(*cluster, cluster->unscheduled_pods()), ElementsAre("gone", "pending"));
  EXPECT_EQ(cluster->node_of(find(*cluster, "gone")), kNoNode);
  EXPECT_EQ(cluster->used().get(0, kPodsIndex), 1000);
}

TEST(ClusterSnapshot, IsTheSameForAnyOrderOfItsInput) {
  ClusterBuilder forwards;
  ClusterBuilder backwards;
  forwards.add(NodeBuilder("n1")).add(NodeBuilder("n2"));
  backwards.add(NodeBuilder("n2")).add(NodeBuilder("n1"));
  for (int i = 0; i < 6; ++i) {
    forwards.add(PodBuilder("p" + std::to_string(i)).on(i % 2 == 0 ? "n1" : "n2"));
    backwards.add(PodBuilder("p" + std::to_string(5 - i)).on(i % 2 == 0 ? "n2" : "n1"));
  }
  const auto a = forwards.build();
  const auto b = backwards.build();
  EXPECT_EQ(names_of(*a, a->pods()), names_of(*b, b->pods()));
  EXPECT_EQ(names_of(*a, a->pods_by_name()), names_of(*b, b->pods_by_name()));
}

TEST(ClusterSnapshot, SkipsNullObjects) {
  SnapshotInput input;
  input.pods = {nullptr, std::make_shared<const api::Pod>(PodBuilder("a").on("n1").build())};
  input.nodes = {std::make_shared<const api::Node>(NodeBuilder("n1").build()), nullptr};
  const ClusterSnapshot cluster(std::move(input));
  EXPECT_EQ(cluster.pod_count(), 1U);
  EXPECT_EQ(cluster.node_count(), 1U);
}

TEST(ClusterSnapshot, IsEmptyWithoutObjects) {
  const ClusterSnapshot cluster{SnapshotInput{}};
  EXPECT_EQ(cluster.pod_count(), 0U);
  EXPECT_THAT(names_of(cluster, cluster.unscheduled_pods()), IsEmpty());
  EXPECT_EQ(cluster.find_pod("default", "a"), std::nullopt);
}

TEST(ClusterSnapshot, AddsUpActivePodsOnly) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(PodBuilder("a").on("n1").cpu(300).memory(50))
                           .add(PodBuilder("b").on("n1").cpu(200).terminating())
                           .add(PodBuilder("done").on("n1").cpu(900).phase(api::PodPhase::kSucceeded))
                           .add(PodBuilder("failed").on("n1").cpu(900).phase(api::PodPhase::kFailed))
                           .build();
  EXPECT_EQ(cluster->used().get(0, kCpuIndex), 500);
  EXPECT_EQ(cluster->used().get(0, kMemoryIndex), 50'000);
  EXPECT_EQ(cluster->used().get(0, kPodsIndex), 2000);
}

TEST(ClusterSnapshot, CountsSiblingsInAnyStateAndNamespace) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(PodBuilder("a").owned_by("ReplicaSet", "web").on("n1"))
                           .add(PodBuilder("b").owned_by("ReplicaSet", "web").ns("other"))
                           .add(PodBuilder("c").owned_by("ReplicaSet", "web").phase(api::PodPhase::kFailed))
                           .add(PodBuilder("d").bare())
                           .build();
  EXPECT_EQ(cluster->siblings(find(*cluster, "a")), 3U);
  EXPECT_EQ(cluster->siblings(find(*cluster, "d")), 0U);
}

TEST(ClusterSnapshot, CountsAPodOnceForARepeatedOwner) {
  const auto cluster = ClusterBuilder()
                           .add(PodBuilder("a").with([](api::Pod& pod) {
                             pod.meta.owner_references.push_back(pod.meta.owner_references[0]);
                           }))
                           .build();
  EXPECT_EQ(cluster->siblings(0), 1U);
}

TEST(ClusterSnapshot, NumbersImagesInAnyOrderOfTheContainers) {
  const auto with_images = [](const char* name, std::vector<std::string> images) {
    return PodBuilder(name).with([&](api::Pod& pod) {
      pod.containers.assign(images.size(), api::Container{});
      for (std::size_t i = 0; i < images.size(); ++i) pod.containers[i].image = images[i];
    });
  };
  const auto cluster = ClusterBuilder()
                           .add(with_images("ab", {"a", "b"}))
                           .add(with_images("ba", {"b", "a"}))
                           .add(with_images("aab", {"a", "a", "b"}))
                           .add(with_images("one", {"a1:b"}))
                           .add(with_images("none", {}))
                           .build();
  const auto images_of = [&](const char* name) { return cluster->images_of(find(*cluster, name)); };
  EXPECT_EQ(images_of("ab"), images_of("ba"));
  EXPECT_NE(images_of("ab"), images_of("aab"));
  EXPECT_NE(images_of("ab"), images_of("one")) << "no text of an image looks like two";
  EXPECT_NE(images_of("ab"), images_of("none"));
}

TEST(ClusterSnapshot, TheMainOwnerIsTheControllerOrTheFirstIfItHasAUid) {
  const auto with_owners = [](const char* name, std::vector<api::OwnerReference> owners) {
    return PodBuilder(name).with([&](api::Pod& pod) { pod.meta.owner_references = owners; });
  };
  const api::OwnerReference plain{"v1", "A", "a", "uid-a", false};
  const api::OwnerReference controller{"v1", "B", "b", "uid-b", true};
  const api::OwnerReference nameless{"v1", "C", "c", "", true};
  const auto cluster = ClusterBuilder()
                           .add(with_owners("first", {plain}))
                           .add(with_owners("controlled", {plain, controller}))
                           .add(with_owners("nameless", {plain, nameless}))
                           .add(with_owners("none", {}))
                           .build();
  const auto main_of = [&](const char* name) { return cluster->main_owner_of(find(*cluster, name)); };
  EXPECT_EQ(main_of("first"), cluster->find_owner("uid-a"));
  EXPECT_EQ(main_of("controlled"), cluster->find_owner("uid-b"));
  EXPECT_EQ(main_of("nameless"), std::nullopt);
  EXPECT_EQ(main_of("none"), std::nullopt);
}

TEST(ClusterSnapshot, GroupsPodsByEqualLabels) {
  const api::StringMap shared{{"app", "web"}};
  ClusterBuilder builder;
  for (const char* name : {"a", "b", "c"}) {
    builder.add(PodBuilder(name).with([&](api::Pod& pod) { pod.meta.labels = shared; }));
  }
  builder.add(PodBuilder("ab").label("app", "db"));
  const auto cluster = builder.build();
  const auto groups = cluster->label_groups(cluster->find_namespace("default").value());
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(names_of(*cluster, groups[0].pods), ElementsAre("a", "b", "c"));
  EXPECT_THAT(names_of(*cluster, groups[1].pods), ElementsAre("ab"));
}

TEST(ClusterSnapshot, FindsClusterScopedAndNamespacedObjects) {
  api::PersistentVolumeClaim claim;
  claim.meta.ns = "default";
  claim.meta.name = "data";
  api::Workload workload;
  workload.meta.uid = "w-1";
  const auto cluster = ClusterBuilder()
                           .add(claim)
                           .add(workload)
                           .add(builders::pdb("budget", "web", 1))
                           .add_priority_class("high", 7)
                           .add_namespace("empty", {{"team", "a"}})
                           .build();
  EXPECT_NE(cluster->find_claim("default", "data"), nullptr);
  EXPECT_EQ(cluster->find_claim("other", "data"), nullptr);
  EXPECT_EQ(cluster->find_priority_class("high")->value, 7);
  EXPECT_EQ(cluster->find_priority_class("low"), nullptr);
  EXPECT_NE(cluster->find_workload("w-1"), nullptr);
  EXPECT_EQ(cluster->namespace_object(cluster->find_namespace("empty").value())->meta.labels.value("team"), "a");
  EXPECT_EQ(cluster->pdbs_in(cluster->find_namespace("default").value()).size(), 1U);
}

TEST(ClusterSnapshot, SharesPodsInsteadOfCopyingThem) {
  const auto pod = std::make_shared<const api::Pod>(PodBuilder("a").build());
  SnapshotInput input;
  input.pods = {pod};
  const ClusterSnapshot cluster(std::move(input));
  EXPECT_EQ(&cluster.pod(0), pod.get());
}

TEST(ClusterSnapshot, ClampsHostileAmounts) {
  const auto huge = std::numeric_limits<std::int64_t>::max();
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(PodBuilder("a").on("n1").cpu(huge)).add(PodBuilder("b").on("n1").cpu(huge));
  EXPECT_EQ(ClusterSnapshot(builder.input(), Quantities::kAsWritten).used().get(0, kCpuIndex), huge);
  EXPECT_EQ(ClusterSnapshot(builder.input()).used().get(0, kCpuIndex), 2 * kBoundlessMilli);
}

struct SchedulableCase {
  const char* name;
  NodeBuilder node;
  bool is_schedulable_by_all;
};

class SchedulableByAll : public testing::TestWithParam<SchedulableCase> {};

TEST_P(SchedulableByAll, IsTrueWithoutCordonOrHardTaints) {
  const auto cluster = ClusterBuilder().add(GetParam().node).build();
  EXPECT_EQ(cluster->is_schedulable_by_all(0), GetParam().is_schedulable_by_all);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, SchedulableByAll,
    testing::Values(SchedulableCase{"Plain", NodeBuilder("n"), true},
                    SchedulableCase{"Cordoned", NodeBuilder("n").cordoned(), false},
                    SchedulableCase{"NotReady", NodeBuilder("n").not_ready(), false},
                    SchedulableCase{"NoSchedule", NodeBuilder("n").taint("k"), false},
                    SchedulableCase{"NoExecute", NodeBuilder("n").taint("k", api::TaintEffect::kNoExecute), false},
                    SchedulableCase{"PreferNoSchedule",
                                    NodeBuilder("n").taint("k", api::TaintEffect::kPreferNoSchedule), true}),
    [](const auto& test) { return test.param.name; });

// --- WhatIf

class OverlayTest : public testing::Test {
 protected:
  std::unique_ptr<const ClusterSnapshot> cluster_ = ClusterBuilder()
                                                        .add(NodeBuilder("n1").label("zone", "z1"))
                                                        .add(NodeBuilder("n2").label("zone", "z1"))
                                                        .add(NodeBuilder("n3"))
                                                        .add(PodBuilder("a").on("n1").cpu(300).request("x/gpu", 2000))
                                                        .add(PodBuilder("b").on("n1").cpu(100))
                                                        .add(PodBuilder("p"))
                                                        .build();
  WhatIf what_if_{*cluster_};
  PodIndex a_ = find(*cluster_, "a");
  PodIndex pending_ = find(*cluster_, "p");

  std::vector<std::string> on(NodeIndex node) const {
    std::vector<std::string> names;
    what_if_.for_each_on(node, [&](PodIndex pod) { names.push_back(cluster_->pod(pod).meta.name); });
    return names;
  }
};

TEST_F(OverlayTest, StartsEqualToTheSnapshot) {
  EXPECT_THAT(on(0), ElementsAre("a", "b"));
  EXPECT_FALSE(what_if_.is_moved(a_));
  EXPECT_EQ(what_if_.used().get(0, kCpuIndex), 400);
}

TEST_F(OverlayTest, MovesAPodWithItsResources) {
  const ResourceIndex gpu = cluster_->resources().find("x/gpu").value();
  what_if_.move(a_, 1);
  EXPECT_THAT(on(0), ElementsAre("b"));
  EXPECT_THAT(on(1), ElementsAre("a"));
  EXPECT_EQ(what_if_.used().get(0, kCpuIndex), 100);
  EXPECT_EQ(what_if_.used().get(0, gpu), 0);
  EXPECT_EQ(what_if_.used().get(1, gpu), 2000);
  EXPECT_EQ(what_if_.used().get(1, kPodsIndex), 1000);
  EXPECT_EQ(cluster_->used().get(0, kCpuIndex), 400) << "the snapshot must not change";
}

TEST_F(OverlayTest, RemembersAPodThatCameBack) {
  what_if_.move(a_, 1);
  what_if_.move(a_, 0);
  EXPECT_THAT(on(0), ElementsAre("a", "b"));
  EXPECT_THAT(on(1), IsEmpty());
  EXPECT_TRUE(what_if_.is_moved(a_));
  EXPECT_EQ(what_if_.used().get(0, kCpuIndex), 400);
}

TEST_F(OverlayTest, MovesOnFromAnArrival) {
  what_if_.move(a_, 1);
  what_if_.move(a_, 2);
  EXPECT_THAT(on(1), IsEmpty());
  EXPECT_THAT(on(2), ElementsAre("a"));
}

TEST_F(OverlayTest, RemovesAPodAndPlacesAPendingOne) {
  what_if_.move(a_, kNoNode);
  what_if_.move(pending_, 0);
  EXPECT_EQ(what_if_.node_of(a_), kNoNode);
  EXPECT_THAT(on(0), ElementsAre("b", "p"));
  EXPECT_EQ(what_if_.used().get(0, kPodsIndex), 2000);
}

TEST_F(OverlayTest, GroupsNodesByALabel) {
  const Topology& zones = what_if_.topology("zone");
  EXPECT_THAT(zones.domain_names, ElementsAre("z1"));
  EXPECT_THAT(zones.domain_of, ElementsAre(0U, 0U, Topology::kNone));
}

}  // namespace cluster_snapshot_test
}  // namespace scheduling
