/// Defragmentation: moves of one attempt to empty given nodes. A complete plan may differ, because its search is
/// random.

#include <gmock/gmock.h>

#include "test/unit/planner/plan/defragmentation/ground.hpp"

namespace planner {
namespace defragmentation_waves_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::SizeIs;
using testing::StartsWith;

PodBuilder web(const std::string& name, const std::string& node, std::int64_t cpu) {
  return PodBuilder(name).on(node).cpu(cpu).label("app", "web");
}
auto only_on(const std::string& label) {
  return [label](api::Pod& pod) { pod.node_selector = {{label, "yes"}}; };
}

/// Adds the pod with a PVC of its own, whose volume is attached by a driver.
void add_with_volume(ClusterBuilder& cluster, PodBuilder pod) {
  api::PersistentVolumeClaim claim;
  claim.meta.ns = "default";
  claim.meta.name = "of-" + pod.build().meta.name;
  claim.volume_name = "pv-" + claim.meta.name;
  api::PersistentVolume volume;
  volume.meta.name = claim.volume_name;
  volume.csi_driver = "disk";
  pod.with([&](api::Pod& p) { p.volumes.push_back({api::VolumeKind::kPersistentVolumeClaim, claim.meta.name}); });
  cluster.add(pod).add(claim).add(volume);
}

/// "big" fits on n only after "leaves" has left it. Then the scheduler prefers n for "a", "b" and "c" as well. n can
/// attach three volumes: that of "keep-n", that of "leaves" until its wave has ended, and therefore one more in that
/// wave.
ClusterBuilder disks() {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n").label("small", "yes").label("big", "yes").sized(8000, 8000, 20));
  cluster.add(NodeBuilder("q").label("small", "yes").sized(8000, 8000, 20)).add(web("keep-q", "q", 7100).bare());
  cluster.add(NodeBuilder("m").sized(8000, 8000, 20)).add(web("keep-m", "m", 4000).bare());
  cluster.add(NodeBuilder("emptied").sized(8000, 8000, 20));
  cluster.add(web("filler", "n", 3000).bare());
  add_with_volume(cluster, web("keep-n", "n", 1000).bare());
  add_with_volume(cluster, web("leaves", "n", 3000));
  cluster.add(web("big", "emptied", 3000).with(only_on("big")));
  for (const char* name : {"a", "b", "c"}) add_with_volume(cluster, web(name, "emptied", 300).with(only_on("small")));
  api::CsiNode limits;
  limits.meta.name = "n";
  limits.drivers = {{"disk", 3}};
  cluster.add(limits);
  return cluster;
}

TEST(DefragmentationWaves, VolumesOfLeavingPodsCountUntilTheWaveEnds) {
  const std::vector<std::string> moves = DefragmentationGround(disks()).empty("emptied");
  EXPECT_THAT(moves, SizeIs(5));
  EXPECT_THAT(moves, Contains("1: leaves n > m"));
  EXPECT_THAT(moves, Contains(AllOf(StartsWith("1: "), EndsWith(" > n"))).Times(1)) << testing::PrintToString(moves);
}

/// "leader" moves to another node of its zone. While it is being recreated, its affinity term has no match there, so
/// "follower" cannot be placed.
ClusterBuilder procession() {
  ClusterBuilder cluster;
  for (const char* name : {"emptied", "n"}) cluster.add(NodeBuilder(name).label("zone", "z").sized(8000, 8000, 20));
  cluster.add(PodBuilder("leader").on("emptied").cpu(2000).label("app", "leader"));
  const auto beside_leader = [](api::Affinity& affinity) {
    api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
    term.label_selector = builders::labels_in("app", {"leader"});
    term.topology_key = "zone";
  };
  cluster.add(PodBuilder("follower").on("emptied").cpu(1000).label("app", "follower").affinity(beside_leader));
  return cluster;
}

TEST(DefragmentationWaves, AFollowerWaitsForALeaderThatMovesWithinItsZone) {
  const std::vector<std::string> apart = {"1: leader emptied > n", "2: follower emptied > n"};
  EXPECT_EQ(DefragmentationGround(procession()).empty("emptied"), apart);
}

TEST(DefragmentationWaves, AFollowerMovesWithALeaderIfAnotherLeaderStays) {
  ClusterBuilder cluster = procession();
  cluster.add(PodBuilder("stays").on("n").cpu(100).label("app", "leader"));
  const std::vector<std::string> together = {"1: leader emptied > n", "1: follower emptied > n"};
  EXPECT_EQ(DefragmentationGround(cluster).empty("emptied"), together);
}

/// Two pods must leave n for "big". After "a" has left, the scheduler prefers n for "b" too. "c" can run only on m.
TEST(DefragmentationWaves, NoPodMovesToItsOwnNode) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n").sized(8000, 8000, 20)).add(web("keep-n", "n", 4000).bare());
  cluster.add(NodeBuilder("m").label("small", "yes").sized(8000, 8000, 20)).add(web("keep-m", "m", 5500).bare());
  cluster.add(NodeBuilder("emptied").sized(8000, 8000, 20)).add(web("big", "emptied", 3000));
  for (const char* name : {"a", "b"}) cluster.add(web(name, "n", 1000).label("app", name));
  cluster.add(web("c", "n", 1000).label("app", "c").with(only_on("small")));
  const std::vector<std::string> moves = {"1: a n > m", "1: c n > m", "2: big emptied > n"};
  EXPECT_EQ(DefragmentationGround(cluster).empty("emptied"), moves);
}

}  // namespace defragmentation_waves_test
}  // namespace planner
