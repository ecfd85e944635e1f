/// Applies random batches of changes and compares the result with rebuilt snapshots.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/snapshot_cache.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/snapshot_picture.hpp"

namespace scheduling {
namespace snapshot_update_test {

using builders::NodeBuilder;
using builders::picture_of;
using builders::PodBuilder;

/// Generator of pods that are created, deleted and changed in every way.
class Turmoil {
 public:
  explicit Turmoil(unsigned seed) : random_(seed) {
    make_kinds();
    const int nodes = pick(0, 7);
    for (int i = 0; i < nodes; ++i) {
      objects_.nodes.push_back(std::make_shared<api::Node>(NodeBuilder("n" + std::to_string(i)).build()));
    }
    for (const char* name : {"empty", "ns-1", "named"}) {
      api::Namespace ns;
      ns.meta.name = name;
      if (flip()) objects_.namespaces.push_back(std::make_shared<api::Namespace>(ns));
    }
    if (flip()) objects_.pdbs.push_back(std::make_shared<api::PodDisruptionBudget>(builders::pdb("b", "a", 1)));
    for (int i = pick(0, 60); i > 0; --i) create();
  }

  SnapshotInput input() const {
    SnapshotInput input = objects_;
    for (const auto& [key, pod] : pods_) input.pods.push_back(pod);
    return input;
  }

  /// Returns the changes as a watch reports them: only the first and the last state of each pod.
  PodChanges next_batch() {
    const auto before = pods_;
    for (int i = pick(0, flip() ? 3 : 40); i > 0; --i) change_something();
    PodChanges changes;
    for (const auto& [key, pod] : before) {
      const auto at = pods_.find(key);
      if (at == pods_.end() || at->second->meta.uid != pod->meta.uid) changes.gone.push_back(pod);
    }
    for (const auto& [key, pod] : pods_) {
      const auto at = before.find(key);
      if (at == before.end() || at->second != pod) changes.now.push_back(pod);
    }
    std::ranges::shuffle(changes.gone, random_);
    std::ranges::shuffle(changes.now, random_);
    return changes;
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  bool flip() { return pick(0, 1) == 1; }
  bool rarely() { return pick(0, 9) == 0; }
  template <typename T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(pick(0, static_cast<int>(all.size()) - 1))];
  }

  void make_kinds() {
    labels_ = {{}, {{"app", "a"}}, {{"app", "a"}}, {{"app", "b"}}, {{"app", "b"}, {"tier", "t"}}};
    affinities_ = {nullptr, nullptr, nullptr, nullptr};
    const auto add = [this](auto&& change) {
      affinities_.push_back(PodBuilder("x").affinity(change).build().affinity);
    };
    add([](api::Affinity& a) { a.required_pod_anti_affinity = {term("a")}; });
    add([](api::Affinity& a) { a.preferred_pod_anti_affinity = {{1, term("b")}}; });
    add([](api::Affinity& a) {
      a.required_pod_anti_affinity = {term("a"), term("b")};
      a.required_pod_anti_affinity[0].namespaces = {"named", "ns-2", "nowhere"};
      a.required_pod_affinity = {term("b")};
    });
    add([](api::Affinity& a) {
      a.required_pod_anti_affinity = {term("b")};
      a.required_pod_anti_affinity[0].namespace_selector = api::LabelSelector{};
    });
  }

  static api::PodAffinityTerm term(const char* app) {
    api::PodAffinityTerm term;
    term.label_selector = builders::labels_in("app", {app});
    term.topology_key = "zone";
    return term;
  }

  void give_owners(api::Pod& pod) {
    pod.meta.owner_references.clear();
    for (int i = pick(0, 2); i > 0; --i) {
      const std::string name = "rs-" + std::to_string(pick(0, 6));
      const std::string uid = rarely() ? "" : "uid-of-" + name;
      pod.meta.owner_references.push_back({"apps/v1", "ReplicaSet", name, uid, i == 1});
    }
  }

  void ask(api::Pod& pod) {
    pod.containers[0].image = flip() ? "image:1" : "image:2";
    pod.containers[0].requests = {{"cpu", api::Quantity::from_milli(100 * pick(0, 4))}};
    if (rarely()) pod.containers[0].requests = {{"x/gpu", api::Quantity::from_units(pick(0, 2))}};
    if (rarely()) pod.containers[0].requests = {{"memory", api::Quantity::from_milli(-5)}};
    if (rarely()) pod.containers[0].requests = {{"cpu", api::Quantity::from_milli(INT64_MAX)}};
  }

  void bind(api::Pod& pod) {
    const int node = pick(-1, 8);  // Some of these nodes do not exist
    pod.node_name = {node < 0 ? "" : "n" + std::to_string(node)};
  }

  void create() {
    api::Pod pod = PodBuilder("p" + std::to_string(pick(0, 30))).ns("ns-" + std::to_string(pick(0, 5))).build();
    pod.meta.uid = "uid-" + std::to_string(++uids_);
    pod.meta.labels = one_of(labels_);
    pod.affinity = one_of(affinities_);
    bind(pod);
    ask(pod);
    give_owners(pod);
    const api::ObjectKey key = pod.meta.key();
    pods_[key] = std::make_shared<api::Pod>(std::move(pod));  // May replace a pod of the same name
  }

  void edit(api::Pod& pod) {
    pod.meta.resource_version = std::to_string(++uids_);
    switch (pick(0, 7)) {
      case 0: return bind(pod);
      case 1: return ask(pod);
      case 2: return give_owners(pod);
      case 3: pod.meta.labels = one_of(labels_); return;
      case 4: pod.meta.labels = pod.meta.labels.with("own", "storage").without("own"); return;
      case 5: pod.affinity = one_of(affinities_); return;
      case 6: pod.meta.deletion_timestamp = builders::kNoon; return;
      default: pod.phase = flip() ? api::PodPhase::kFailed : api::PodPhase::kRunning; return;
    }
  }

  void change_something() {
    if (pods_.empty() || pick(0, 3) == 0) return create();
    const auto at = std::next(pods_.begin(), pick(0, static_cast<int>(pods_.size()) - 1));
    if (rarely()) {  // Delete all pods of a namespace
      const std::string ns = at->first.ns;
      std::erase_if(pods_, [&](const auto& each) { return each.first.ns == ns; });
    } else if (flip()) {
      pods_.erase(at);
    } else {
      api::Pod pod = *at->second;
      edit(pod);
      at->second = std::make_shared<api::Pod>(std::move(pod));
    }
  }

  std::mt19937 random_;
  std::vector<api::StringMap> labels_;
  std::vector<std::shared_ptr<const api::Affinity>> affinities_;
  SnapshotInput objects_;
  std::map<api::ObjectKey, std::shared_ptr<const api::Pod>> pods_;
  int uids_ = 0;
};

class SnapshotUpdateProperty : public testing::TestWithParam<unsigned> {};

TEST_P(SnapshotUpdateProperty, BatchesEqualARebuiltSnapshot) {
  Turmoil world(GetParam());
  for (const Quantities quantities : {Quantities::kSound, Quantities::kAsWritten}) {
    ClusterSnapshot kept(world.input(), quantities);
    for (int batch = 0; batch < 12; ++batch) {
      kept.apply(world.next_batch());
      ASSERT_EQ(picture_of(kept), picture_of(ClusterSnapshot(world.input(), quantities))) << "batch " << batch;
    }
  }
}

TEST_P(SnapshotUpdateProperty, SnapshotCacheEqualsARebuiltSnapshot) {
  Turmoil world(GetParam());
  SnapshotCache keeper;
  for (int cycle = 0; cycle < 8; ++cycle) {
    world.next_batch();
    ASSERT_EQ(picture_of(keeper.at(world.input())), picture_of(ClusterSnapshot(world.input()))) << "cycle " << cycle;
  }
  EXPECT_EQ(keeper.made(), 1U);
}

TEST_P(SnapshotUpdateProperty, PodsBesideTheListsAreGoneWithTheNextLists) {
  Turmoil world(GetParam());
  Turmoil other(GetParam() + 1000);
  SnapshotCache keeper;
  for (int cycle = 0; cycle < 4; ++cycle) {
    world.next_batch();
    SnapshotInput input = world.input();
    ASSERT_EQ(picture_of(keeper.at(input)), picture_of(ClusterSnapshot(input))) << "cycle " << cycle;
    SnapshotInput::List<api::Pod> beside;
    for (const auto& pod : other.input().pods) {
      auto copy = std::make_shared<api::Pod>(*pod);
      copy->meta.name = copy->meta.uid = "beside/" + pod->meta.name;
      beside.push_back(std::move(copy));
    }
    input.pods.insert(input.pods.end(), beside.begin(), beside.end());
    ASSERT_EQ(picture_of(keeper.add(beside)), picture_of(ClusterSnapshot(input))) << "cycle " << cycle;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SnapshotUpdateProperty, testing::Range(0U, 100U));

// --- numbers

/// Pods of one node and one namespace, all of which need numbers in the same block.
class CrowdedNode : public testing::Test {
 protected:
  CrowdedNode() {
    for (const char* name : {"m", "n", "o"}) {
      input_.nodes.push_back(std::make_shared<api::Node>(NodeBuilder(name).build()));
    }
    kept_ = std::make_unique<ClusterSnapshot>(input_);
  }
  static std::shared_ptr<const api::Pod> pod(int number, const char* node = "n") {
    api::Pod pod = PodBuilder("p" + std::to_string(1000 + number)).on(node).build();
    pod.meta.labels = labels().at(static_cast<std::size_t>(number % 3));
    if (number % 4 == 0) pod.affinity = repelled();
    return std::make_shared<api::Pod>(std::move(pod));
  }
  static const std::vector<api::StringMap>& labels() {
    static const std::vector<api::StringMap> kLabels = {{{"app", "0"}}, {{"app", "1"}}, {{"app", "2"}}};
    return kLabels;
  }
  static std::shared_ptr<const api::Affinity> repelled() {
    static const auto kRepelled = PodBuilder("x")
                                      .affinity([](api::Affinity& affinity) {
                                        api::PodAffinityTerm term;
                                        term.label_selector = builders::labels_in("app", {"0"});
                                        term.topology_key = "zone";
                                        affinity.required_pod_anti_affinity = {term};
                                        affinity.preferred_pod_anti_affinity = {{1, term}};
                                      })
                                      .build()
                                      .affinity;
    return kRepelled;
  }
  void come(const std::shared_ptr<const api::Pod>& pod) {
    pods_[pod->meta.key()] = pod;
    kept_->apply({.gone = {}, .now = {pod}});
  }
  void go(const std::shared_ptr<const api::Pod>& pod) {
    pods_.erase(pod->meta.key());
    kept_->apply({.gone = {pod}, .now = {}});
  }
  void expect_as_anew(const std::string& after) {
    SnapshotInput input = input_;
    for (const auto& [key, pod] : pods_) input.pods.push_back(pod);
    ASSERT_EQ(picture_of(*kept_), picture_of(ClusterSnapshot(input))) << "after " << after;
  }

  SnapshotInput input_;
  std::map<api::ObjectKey, std::shared_ptr<const api::Pod>> pods_;
  std::unique_ptr<ClusterSnapshot> kept_;
};

TEST_F(CrowdedNode, TakesPodsBeforeBehindAndBetweenOthers) {
  for (int step = 0; step < 150; ++step) {
    const int number = step % 3 == 0 ? 300 + step : step % 3 == 1 ? 300 - step : 300 + step / 2;
    come(pod(number));
    expect_as_anew("pod " + std::to_string(number));
  }
}

/// A full block takes numbers from neighbouring blocks.
TEST_F(CrowdedNode, NeighbouringNodesGiveNumbersAway) {
  for (int i = 0; i < 90; ++i) come(pod(i, i % 3 == 0 ? "m" : i % 3 == 1 ? "n" : "o"));
  for (int i = 100; i < 160; ++i) {
    come(pod(i % 2 == 0 ? i : 300 - i));
    expect_as_anew("pod " + std::to_string(i));
  }
  for (int i = 200; i < 230; ++i) {
    come(pod(i, i % 2 == 0 ? "m" : "nowhere"));
    expect_as_anew("pod " + std::to_string(i));
  }
}

TEST_F(CrowdedNode, GivesNumbersBack) {
  constexpr int kPods = 1000;
  for (int i = 0; i < kPods; ++i) come(pod(i));
  const std::size_t most = kept_->pod_table_size();
  for (int i = 0; i < kPods; i += 2) go(pod(i));
  for (int i = 0; i < kPods; i += 2) come(pod(i));
  EXPECT_LT(kept_->pod_table_size(), 3U * kPods);
  for (int i = 0; i < kPods - 5; ++i) go(pod(i));
  EXPECT_LT(kept_->pod_table_size(), most / 2);
  expect_as_anew("most are gone");
}

TEST_F(CrowdedNode, APodThatIsBoundElsewhereAndBackLeavesNoTrace) {
  for (int i = 0; i < 40; ++i) come(pod(i));
  for (int i = 0; i < 40; ++i) {
    come(pod(i, i % 2 == 0 ? "o" : "nowhere"));
    expect_as_anew("it went");
  }
  for (int i = 39; i >= 0; --i) {
    come(pod(i));
    expect_as_anew("it came back");
  }
}

/// A new snapshot reserves no spare numbers, so a one-off plan has no overhead for updates.
TEST_F(CrowdedNode, ANewSnapshotLeavesNoNumberOut) {
  SnapshotInput input = input_;
  for (int i = 0; i < 50; ++i) input.pods.push_back(pod(i));
  const ClusterSnapshot cluster(input);
  EXPECT_EQ(cluster.pod_table_size(), 50U);
}

}  // namespace snapshot_update_test
}  // namespace scheduling
