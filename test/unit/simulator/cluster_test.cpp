#include "simulator/cluster.hpp"

#include <thread>

#include "test/unit/simulator/world.hpp"

namespace simulator {
namespace cluster_test {

using api::Json;

TEST(ClusterTest, BeginsWithItsNamespaces) {
  World world;
  EXPECT_TRUE(world.get(kube::kNamespaces, "", "default"));
  EXPECT_TRUE(world.get(kube::kNamespaces, "", "kube-system"));
}

TEST(ClusterTest, RefusesAKindItDoesNotKnow) {
  World world;
  const auto added = world.cluster.add({{"apiVersion", "example.dev/v1"}, {"kind", "Thing"}});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().message, "the simulated cluster knows no kind \"Thing\" in \"example.dev/v1\"");
}

TEST(ClusterTest, SameSeedSameHistory) {
  const auto history = [](std::uint64_t seed) {
    World world({.seed = seed});
    world.add_nodes(3);
    world.add(objects::deployment("shop", "web", 5, "100m", "64Mi"));
    world.advance(seconds(10));
    std::string text;
    for (const Object& pod : world.pods()) text += pod->dump();
    return text;
  };
  EXPECT_EQ(history(7), history(7));
  EXPECT_NE(history(7), history(8));
}

TEST(ClusterTest, AdvancesTheClockExactly) {
  World world;
  const base::TimePoint start = world.now();
  world.add_nodes(1);
  world.add(objects::pod("shop", "p", "", ""));
  world.advance(milliseconds(1234));
  EXPECT_EQ(world.now() - start, milliseconds(1234));
}

TEST(ClusterTest, RunUntilStopsWhenTheConditionHolds) {
  World world;
  world.add_nodes(1);
  world.add(objects::pod("shop", "p", "", ""));
  const base::TimePoint start = world.now();
  EXPECT_TRUE(world.cluster.run_until([&] { return world.ready_pods() == 1; }, minutes(5)));
  EXPECT_EQ(world.now() - start, seconds(2));
  EXPECT_FALSE(world.cluster.run_until([&] { return world.ready_pods() == 2; }, minutes(5)));
  EXPECT_EQ(world.now() - start, seconds(2) + minutes(5));
}

TEST(ClusterTest, ContinuesAfterTheJournalWasTruncated) {
  World world;
  world.add_nodes(2);
  world.add(objects::deployment("shop", "web", 3, "100m", "64Mi"));
  world.add(objects::pdb_max_unavailable("shop", "web", "web", 1));
  world.advance(milliseconds(1500));
  world.remove(kube::kPods, "shop", world.pod_names().front());
  world.edit(kube::kDeployments, "shop", "web", [](Json& object) { object["spec"]["replicas"] = 4; });
  world.cluster.store().compact();
  world.advance(seconds(10));
  EXPECT_EQ(world.ready_pods(), 4);
  EXPECT_EQ(world.pods().size(), 4U);
  EXPECT_EQ(world.status(kube::kPdbs, "web", "disruptionsAllowed"), 1);
  world.cluster.store().compact();
  world.advance(seconds(10));
  EXPECT_EQ(world.ready_pods(), 4);
}

TEST(ClusterTest, IsQuietWhenNothingHappens) {
  World world;
  world.add_nodes(2);
  world.add(objects::deployment("shop", "web", 3, "100m", "64Mi"));
  world.advance(minutes(5));
  const auto revision = world.cluster.store().revision();
  world.advance(minutes(60));
  EXPECT_EQ(world.cluster.store().revision(), revision);
}

TEST(ClusterTest, WorksOnARealClockUntilStopped) {
  const base::SystemClock clock;
  ClusterOptions options;
  options.kubelet = {milliseconds(5), milliseconds(5), milliseconds(5)};
  Cluster cluster(clock, options);
  ASSERT_TRUE(cluster.add(objects::node("node-1", "4", "8Gi")).ok());
  std::jthread worker([&](std::stop_token stop) { cluster.run(stop); });
  ASSERT_TRUE(cluster.store()
                  .create(kube::kReplicaSets,
                          [] {
                            Json web = objects::replica_set("shop", "web", 3, "100m", "64Mi");
                            return web;
                          }())
                  .ok());
  const auto ready = [&] {
    const Object web = cluster.store().get(kube::kReplicaSets, {"shop", "web"});
    return api::number_at(*web, {"status", "readyReplicas"}) == 3;
  };
  std::uint64_t seen = 0;
  const base::TimePoint give_up = clock.now() + seconds(30);
  while (!ready() && clock.now() < give_up) seen = cluster.store().wait_past(seen, milliseconds(100));
  EXPECT_TRUE(ready());
  worker.request_stop();
  worker.join();
  EXPECT_TRUE(cluster.failures().empty());
}

// --- garbage collection, pods of lost nodes, namespaces

TEST(GarbageCollectorTest, DeletingADeploymentTakesEverythingBelowIt) {
  World world;
  world.add_nodes(2);
  world.add(objects::deployment("shop", "web", 3, "100m", "64Mi"));
  world.advance(seconds(5));
  world.remove(kube::kDeployments, "shop", "web");
  world.advance(seconds(5));
  EXPECT_TRUE(world.pods().empty());
  EXPECT_TRUE(world.cluster.store().list(kube::kReplicaSets, "shop").empty());
}

/// Effect of a DELETE with that propagation policy.
void remove_with(World& world, const char* finalizer) {
  world.edit(kube::kReplicaSets, "shop", "web",
             [&](Json& object) { object["metadata"]["finalizers"] = Json::array({finalizer}); });
  world.remove(kube::kReplicaSets, "shop", "web");
}

TEST(GarbageCollectorTest, OrphanRemovesOwnerReferences) {
  World world;
  world.add_nodes(2);
  world.add(objects::replica_set("shop", "web", 3, "100m", "64Mi"));
  world.advance(seconds(5));
  remove_with(world, "orphan");
  world.advance(seconds(5));
  EXPECT_FALSE(world.get(kube::kReplicaSets, "shop", "web"));
  EXPECT_EQ(world.ready_pods(), 3);
  for (const Object& pod : world.pods()) EXPECT_FALSE(api::find_at(*pod, {"metadata", "ownerReferences"}));
}

TEST(GarbageCollectorTest, ForegroundWaitsForTheDependents) {
  World world;
  world.add_nodes(2);
  Json web = objects::replica_set("shop", "web", 3, "100m", "64Mi");
  world.add(objects::annotate_pods(web, behaviour::kStopSeconds, "10"));
  world.advance(seconds(5));
  remove_with(world, "foregroundDeletion");
  world.advance(seconds(5));
  EXPECT_TRUE(world.get(kube::kReplicaSets, "shop", "web"));
  EXPECT_EQ(world.ready_pods(), 0);
  world.advance(seconds(6));
  EXPECT_FALSE(world.get(kube::kReplicaSets, "shop", "web"));
  EXPECT_TRUE(world.pods().empty());
}

TEST(GarbageCollectorTest, ADependentWithAnotherLivingOwnerStays) {
  World world;
  const Object one = world.add(objects::replica_set("shop", "one", 0, "", ""));
  const Object two = world.add(objects::replica_set("shop", "two", 0, "", ""));
  Json claim = objects::persistent_volume_claim("shop", "data", "1Gi");
  for (const Object& owner : {one, two}) {
    Json reference = controller_reference(*owner);
    reference.erase("controller");
    claim["metadata"]["ownerReferences"].push_back(reference);
  }
  world.add(claim);
  world.remove(kube::kReplicaSets, "shop", "one");
  world.advance(seconds(1));
  const Object left = world.get(kube::kPersistentVolumeClaims, "shop", "data");
  ASSERT_TRUE(left);
  EXPECT_EQ(left->at("metadata").at("ownerReferences").size(), 1U);
  world.remove(kube::kReplicaSets, "shop", "two");
  world.advance(seconds(1));
  EXPECT_FALSE(world.get(kube::kPersistentVolumeClaims, "shop", "data"));
}

TEST(GarbageCollectorTest, CollectsAnObjectWhoseOwnerNeverExisted) {
  World world;
  Json claim = objects::persistent_volume_claim("shop", "data", "1Gi");
  claim["metadata"]["ownerReferences"] =
      Json::array({Json{{"apiVersion", "apps/v1"}, {"kind", "ReplicaSet"}, {"name", "x"}, {"uid", "no-such"}}});
  world.add(claim);
  world.advance(seconds(1));
  EXPECT_FALSE(world.get(kube::kPersistentVolumeClaims, "shop", "data"));
}

TEST(PodGarbageCollectorTest, DeletesPodsOfALostNodeAfterQuarantine) {
  World world;
  world.add_nodes(2);
  Json web = objects::replica_set("shop", "web", 4, "100m", "64Mi");
  world.add(web);
  world.advance(seconds(5));
  world.remove(kube::kNodes, "", "node-1");
  world.advance(seconds(39));
  EXPECT_EQ(world.pods().size(), 4U);
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 4);
  for (const Object& pod : world.pods()) EXPECT_EQ(api::text_at(*pod, {"spec", "nodeName"}), "node-2");
}

TEST(NamespaceTest, IsEmptiedBeforeItIsDeleted) {
  World world;
  world.add_nodes(2);
  world.add(objects::name_space("shop"));
  Json web = objects::deployment("shop", "web", 2, "100m", "64Mi");
  world.add(objects::annotate_pods(web, behaviour::kStopSeconds, "10"));
  world.add(objects::pdb_max_unavailable("shop", "web", "web", 1));
  ASSERT_TRUE(
      world.cluster.store()
          .create({"example.dev", "v1", "things", "Thing"}, {{"metadata", {{"namespace", "shop"}, {"name", "t"}}}})
          .ok());
  world.advance(seconds(5));
  world.remove(kube::kNamespaces, "", "shop");
  world.advance(seconds(5));
  const Object leaving = world.get(kube::kNamespaces, "", "shop");
  ASSERT_TRUE(leaving);
  EXPECT_EQ(api::text_at(*leaving, {"status", "phase"}), "Terminating");
  EXPECT_TRUE(world.cluster.store().list(kube::kDeployments, "shop").empty());
  world.advance(seconds(10));
  EXPECT_FALSE(world.get(kube::kNamespaces, "", "shop"));
  EXPECT_TRUE(world.pods().empty());
  EXPECT_TRUE(world.cluster.store().list({"example.dev", "v1", "things", "Thing"}, "shop").empty());
}

TEST(VolumeBinderTest, BindsClaimsImmediatelyAndDeletesItsVolumes) {
  World world;
  world.add(objects::persistent_volume_claim("shop", "data", "1Gi"));
  world.advance(seconds(0));
  const Object claim = world.get(kube::kPersistentVolumeClaims, "shop", "data");
  const std::string volume = api::text_at(*claim, {"spec", "volumeName"});
  EXPECT_EQ(api::text_at(*claim, {"status", "phase"}), "Bound");
  ASSERT_TRUE(world.get(kube::kPersistentVolumes, "", volume));
  world.remove(kube::kPersistentVolumeClaims, "shop", "data");
  world.advance(seconds(0));
  EXPECT_FALSE(world.get(kube::kPersistentVolumes, "", volume));
}

TEST(EventsTest, CountRepetitionsAndAreLimited) {
  World world;
  const Object node = world.add(objects::node("node-1", "1", "1Gi"));
  for (int i = 0; i < 3; ++i) world.cluster.events().warning("test", *node, "Repeated", "again");
  for (int i = 0; i < 2'500; ++i) world.cluster.events().normal("test", *node, "Different", std::to_string(i));
  const auto events = world.cluster.store().list(kube::kEvents);
  EXPECT_EQ(events.size(), 2'000U);
  World other;
  const Object pod = other.add(objects::pod("shop", "p", "", ""));
  for (int i = 0; i < 3; ++i) other.cluster.events().warning("test", *pod, "Repeated", "again");
  ASSERT_EQ(other.cluster.store().list(kube::kEvents).size(), 1U);
  EXPECT_EQ(api::number_at(*other.cluster.store().list(kube::kEvents).front(), {"deprecatedCount"}), 3);
}

TEST(BehaviourTest, ReadDurations) {
  const std::vector<std::pair<const char*, std::optional<base::Duration>>> cases = {
      {"2", seconds(2)},       {"0.5", milliseconds(500)}, {"1m30s", seconds(90)}, {"0", seconds(0)},
      {"", std::nullopt},      {"-3", std::nullopt},       {"-3s", std::nullopt},  {"fast", std::nullopt},
      {"1e300", std::nullopt}, {"nan", std::nullopt},      {"2 ", std::nullopt},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(behaviour::parse_duration(text), want) << '"' << text << '"';
}

/// 1,000 pods start, then a fifth of them is replaced at once. The simulator's documentation has figures for larger
/// clusters.
TEST(ScaleTest, AThousandPodsBecomeReady) {
  World world({.events = false});
  world.add_nodes(100, "32", "64Gi");
  for (int i = 0; i < 10; ++i) world.add(objects::deployment("shop", "web-" + std::to_string(i), 100, "100m", "64Mi"));
  world.advance(seconds(5));
  ASSERT_EQ(world.ready_pods(), 1'000);
  const auto names = world.pod_names();
  for (std::size_t i = 0; i < names.size(); i += 5) world.remove(kube::kPods, "shop", names[i]);
  world.advance(seconds(5));
  EXPECT_EQ(world.ready_pods(), 1'000);
  EXPECT_EQ(world.pods().size(), 1'000U);
}

}  // namespace cluster_test
}  // namespace simulator
