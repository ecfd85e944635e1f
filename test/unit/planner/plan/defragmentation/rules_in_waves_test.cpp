/// Defragmentation: what moves of one wave may do together, by budgets, affinity, volumes and topology spread.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "test/unit/planner/plan/defragmentation/defragmentation_fixture.hpp"

namespace planner {
namespace defragmentation_rules_in_waves_test {

using namespace defragmentation_fixture;

TEST(Defragmentation, SpendsABudgetOnceAWave) {
  ClusterBuilder cluster = fragmented(1);
  cluster.add(NodeBuilder("wide").sized(8000, 8000, 20)).add(web("other", "wide"));
  cluster.add(NodeBuilder("n2")).add(web("x-1", "n2", 500)).add(web("x-2", "n2", 500)).add(web("x-3", "n2", 500));
  cluster.add(builders::pdb("web", "web", 1));
  const Plan plan = plan_of(cluster);
  ASSERT_GT(report_of(plan).freed, 0);
  std::map<std::int32_t, int> in_wave;
  for (const api::PlannedMove& move : plan.moves) in_wave[move.wave] += move.pod.starts_with("quorum") ? 0 : 1;
  for (const auto& [wave, count] : in_wave) EXPECT_LE(count, 1) << "wave " << wave;
}

TEST(Defragmentation, KeepsAPodThatAnArrivalOfTheWaveNeeds) {
  const auto only_in = [](const std::string& pool) {
    return [pool](api::Pod& pod) { pod.node_selector = {{"pool", pool}}; };
  };
  const auto beside_friend = [](api::Affinity& affinity) {
    api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
    term.label_selector = builders::labels_in("app", {"friend"});
    term.topology_key = api::well_known::kHostnameLabel;
  };
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n").label("pool", "n")).add(web("keep-n", "n", 1900).bare());
  cluster.add(PodBuilder("friend").on("n").cpu(1000).label("app", "friend"));
  cluster.add(NodeBuilder("k").label("pool", "k")).add(web("keep-k", "k", 2900).bare());
  cluster.add(web("follower", "k", 1100).affinity(beside_friend));
  cluster.add(NodeBuilder("m")).add(web("keep-m", "m", 3000).bare());
  cluster.add(NodeBuilder("emptied"));
  cluster.add(web("for-n", "emptied", 1000).with(only_in("n"))).add(web("for-k", "emptied", 1100).with(only_in("k")));
  const Plan plan = plan_of(cluster, {.options = {.spend_pdbs = false, .placement_hints = true}});
  std::map<std::string, std::int32_t> wave;
  for (const api::PlannedMove& move : plan.moves) wave[move.pod] = move.wave;
  ASSERT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
  ASSERT_THAT(plan.moves, SizeIs(4)) << testing::PrintToString(moves_of(plan));
  EXPECT_LT(wave["follower"], wave["friend"]) << testing::PrintToString(moves_of(plan));
}

/// PVC with a volume that is attached by a driver.
void give_volume(ClusterBuilder& cluster, PodBuilder& pod, const std::string& name) {
  pod.with([&](api::Pod& p) { p.volumes.push_back({api::VolumeKind::kPersistentVolumeClaim, name}); });
  api::PersistentVolumeClaim claim;
  claim.meta.ns = "default";
  claim.meta.name = name;
  claim.volume_name = "pv-" + name;
  api::PersistentVolume volume;
  volume.meta.name = claim.volume_name;
  volume.csi_driver = "disk";
  cluster.add(claim).add(volume);
}

TEST(Defragmentation, KeepsTheAttachLimitDuringAWave) {
  ClusterBuilder cluster;
  const auto only_in = [](const std::string& label) {
    return [label](api::Pod& pod) { pod.node_selector = {{label, "yes"}}; };
  };
  const auto add = [&](PodBuilder pod, const std::string& volume) {
    give_volume(cluster, pod, volume);
    cluster.add(pod);
  };
  // a, b and c fit on q, but the scheduler prefers n after "leaves" has left it.
  cluster.add(NodeBuilder("n").label("small", "yes").label("big", "yes").sized(8000, 8000, 20));
  cluster.add(NodeBuilder("q").label("small", "yes").sized(8000, 8000, 20)).add(web("keep-q", "q", 7000).bare());
  cluster.add(NodeBuilder("m").sized(8000, 8000, 20)).add(web("keep-m", "m", 4000).bare());
  cluster.add(web("filler", "n", 3000).bare());
  add(web("keep-n", "n", 1000).bare(), "v1");
  add(web("leaves", "n", 3000), "v2");
  cluster.add(NodeBuilder("emptied").sized(8000, 8000, 20));
  cluster.add(web("big", "emptied", 3000).with(only_in("big")));
  add(web("a", "emptied", 300).with(only_in("small")), "v3");
  add(web("b", "emptied", 300).with(only_in("small")), "v4");
  add(web("c", "emptied", 300).with(only_in("small")), "v5");
  api::CsiNode limits;
  limits.meta.name = "n";
  limits.drivers = {{"disk", 3}};
  cluster.add(limits);
  const Plan plan = plan_of(cluster);
  ASSERT_EQ(report_of(plan).freed, 1) << testing::PrintToString(moves_of(plan));
  std::int32_t leaving = 0;
  for (const api::PlannedMove& move : plan.moves) leaving = move.pod == "leaves" ? move.wave : leaving;
  const auto arrives = [&](const api::PlannedMove& move) {
    return move.to == "n" && move.pod != "big" && move.wave <= leaving;
  };
  EXPECT_LE(2 + std::ranges::count_if(plan.moves, arrives), 3) << testing::PrintToString(moves_of(plan));
}

/// `pods` pods of an app with topology spread over zones, each on its own node, and the same number of free nodes.
ClusterBuilder spread_over_zones(int pods, int max_skew) {
  ClusterBuilder cluster;
  for (int i = 0; i < pods; ++i) {
    const std::string number = std::to_string(i), zone = "z" + std::to_string(i % 3);
    const auto spreads = [&](api::Pod& pod) {
      api::TopologySpreadConstraint& constraint = pod.topology_spread.emplace_back();
      constraint.max_skew = max_skew;
      constraint.topology_key = api::well_known::kZoneLabel;
      constraint.label_selector = builders::labels_in("app", {"spread"});
    };
    const std::string zone_label(api::well_known::kZoneLabel);
    cluster.add(NodeBuilder("keeps-" + number).label(zone_label, zone));
    cluster.add(web("stays-" + number, "keeps-" + number, 3000).bare());
    cluster.add(NodeBuilder("open-" + number).label(zone_label, zone));
    cluster.add(PodBuilder("spread-" + number).on("open-" + number).cpu(1000).label("app", "spread").with(spreads));
  }
  return cluster;
}

struct SkewCase {
  std::string name;
  int pods;
  int max_skew;
  std::size_t most_waves;
};

class SkewTest : public testing::TestWithParam<SkewCase> {};

int zone_of(const std::string& node) { return (node.back() - '0') % 3; }

/// Maximum skew that a pod arriving in the wave can observe. Each other pod of the wave may have left, arrived, both or
/// neither.
int worst_skew(const std::vector<api::PlannedMove>& wave, std::vector<int> pods) {
  for (const api::PlannedMove& move : wave) --pods[zone_of(move.from)];
  int worst = 0;
  for (const api::PlannedMove& arrival : wave) {
    int most = pods[zone_of(arrival.to)] + 1;
    for (const api::PlannedMove& other : wave) {
      if (&other == &arrival) continue;
      for (const std::string& node : {other.from, other.to}) most += zone_of(node) == zone_of(arrival.to) ? 1 : 0;
    }
    worst = std::max(worst, most - std::ranges::min(pods));
  }
  return worst;
}

TEST_P(SkewTest, MovesPodsTogetherOnlyWithinTheSkew) {
  const Plan plan = plan_of(spread_over_zones(GetParam().pods, GetParam().max_skew));
  EXPECT_EQ(report_of(plan).freed, GetParam().pods) << testing::PrintToString(moves_of(plan));
  std::vector<int> pods(3, 0);
  for (int i = 0; i < GetParam().pods; ++i) ++pods[i % 3];
  std::map<std::int32_t, std::vector<api::PlannedMove>> waves;
  for (const api::PlannedMove& move : plan.moves) waves[move.wave].push_back(move);
  EXPECT_LE(waves.size(), GetParam().most_waves) << testing::PrintToString(moves_of(plan));
  for (const auto& [wave, moves] : waves) {
    EXPECT_LE(worst_skew(moves, pods), GetParam().max_skew)
        << "wave " << wave << " of " << testing::PrintToString(moves_of(plan));
    for (const api::PlannedMove& move : moves) --pods[zone_of(move.from)], ++pods[zone_of(move.to)];
  }
}

INSTANTIATE_TEST_SUITE_P(Skew, SkewTest,
                         testing::Values(SkewCase{"OnePodAZone", 9, 1, 3}, SkewCase{"SeveralPodsAZone", 9, 3, 3},
                                         SkewCase{"OneByOneWhereTheSkewIsAtItsLimit", 4, 1, 4}),
                         [](const auto& test) { return test.param.name; });

}  // namespace defragmentation_rules_in_waves_test
}  // namespace planner
