/// Limits on the affinity terms of all pods of a cluster.

#include <gmock/gmock.h>

#include <array>
#include <map>
#include <random>

#include "api/core/terms/pod_bounds.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"
#include "planner/snapshot/term_shares.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/snapshot_picture.hpp"

namespace scheduling {
namespace term_limits_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct ShareCase {
  std::string name;
  std::vector<TermUse> uses;
  std::size_t max;
  std::vector<std::size_t> want;
};

class Shares : public testing::TestWithParam<ShareCase> {};

TEST_P(Shares, AreEven) { EXPECT_EQ(beyond_share(GetParam().uses, GetParam().max), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    Uses, Shares,
    testing::Values(ShareCase{"Nothing", {}, 10, {}}, ShareCase{"AllFit", {{0, 4}, {1, 6}}, 10, {}},
                    ShareCase{"TheLastOfTheLargest", {{0, 1}, {1, 5}, {1, 5}, {2, 1}}, 10, {2}},
                    ShareCase{"SmallNamespacesLoseNone", {{0, 9}, {1, 1}, {0, 9}, {2, 1}, {0, 9}}, 11, {2, 4}},
                    ShareCase{"EvenAmongEquals", {{0, 30}, {1, 30}, {0, 30}, {1, 30}}, 60, {2, 3}},
                    ShareCase{"AFewOfEachAreNeverIgnored", {{0, 8}, {1, 8}, {2, 9}, {3, 3}}, 3, {2}},
                    ShareCase{"OneThatIsTooLargeByItself", {{0, 20}, {1, 2}}, 10, {0}},
                    ShareCase{"WithoutTermsNothingIsLost", {{0, 0}, {1, 20}, {0, 0}}, 10, {1}}),
    [](const auto& test) { return test.param.name; });

/// Affinity with `count` terms, over all namespaces if `foreign`, otherwise over the pod's own. Another `owner` gives
/// different terms.
std::shared_ptr<const api::Affinity> terms(std::size_t count, bool foreign, const std::string& owner = "") {
  api::Affinity affinity;
  for (std::size_t i = 0; i < count; ++i) {
    api::PodAffinityTerm& term = affinity.required_pod_anti_affinity.emplace_back();
    term.label_selector = builders::labels_in("app", {owner + "a" + std::to_string(i)});
    term.topology_key = "kubernetes.io/hostname";
    if (foreign) term.namespace_selector = api::LabelSelector{};
  }
  return std::make_shared<const api::Affinity>(std::move(affinity));
}

PodBuilder hostile(const std::string& name, std::size_t count, bool foreign = true) {
  return PodBuilder(name).ns("hostile").on("n1").with(
      [&](api::Pod& pod) { pod.affinity = terms(count, foreign, name); });
}

std::vector<std::string> ignored_in(const ClusterSnapshot& cluster) {
  std::vector<std::string> names;
  for (const PodIndex pod : cluster.pods_by_name()) {
    if (!cluster.pod(pod).oversized.empty()) names.push_back(cluster.pod(pod).meta.name);
  }
  return names;
}

std::vector<std::string> problems_of(const ClusterSnapshot& cluster) {
  std::vector<std::string> words;
  for (const InputProblem& problem : cluster.problems().rows()) words.push_back(problem.to_string());
  return words;
}

TEST(TermLimits, ANamespaceWithFewTermsKeepsItsOwn) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  builder.add(
      PodBuilder("web").ns("shop").on("n1").label("app", "web").anti_affinity("app", "web", "kubernetes.io/hostname"));
  for (int i = 0; i < 20; ++i) builder.add(hostile("h" + std::to_string(100 + i), 200));
  const auto cluster = builder.build();
  const auto ignored = ignored_in(*cluster);
  EXPECT_EQ(ignored.size(), 10U) << "2,048 of 4,000 foreign terms";
  EXPECT_EQ(ignored.front(), "h110");
  EXPECT_EQ(cluster->anti_affinity_groups_selecting(cluster->find_namespace("shop").value()).size(), 1U);
  EXPECT_EQ(cluster->anti_affine_by_namespace_labels().size(), 10U);
  EXPECT_THAT(problems_of(*cluster),
              Contains(AllOf(HasSubstr("Pod hostile/h110: spec.affinity"), HasSubstr("not moved"))));
}

TEST(TermLimits, OwnTermsHaveTheLargerBound) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  for (int i = 0; i < 300; ++i) builder.add(hostile("h" + std::to_string(1000 + i), 250, false));
  const auto cluster = builder.build();
  EXPECT_EQ(ignored_in(*cluster).size(), 300 - kMaxTermsInCluster / 250);
}

TEST(TermLimits, EqualAffinitiesOfANamespaceCountOnce) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  const auto affinity = terms(250, true);
  for (int i = 0; i < 50; ++i) {
    builder.add(PodBuilder("p" + std::to_string(i)).on("n1").with([&](api::Pod& pod) { pod.affinity = affinity; }));
  }
  EXPECT_THAT(ignored_in(*builder.build()), IsEmpty());
}

/// Equal affinities that decoding did not share.
TEST(TermLimits, EqualAffinitiesAtTwoAddressesCountOnce) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  for (int i = 0; i < 50; ++i)
    builder.add(PodBuilder("h" + std::to_string(i)).with([](api::Pod& pod) { pod.affinity = terms(200, true); }));
  EXPECT_THAT(ignored_in(*builder.build()), IsEmpty());
}

/// Terms with matchLabelKeys depend on the pod's labels, for example the per-pod label of a StatefulSet.
TEST(TermLimits, TermsThatCompareLabelsCountForEachSetOfLabels) {
  api::Affinity affinity = *terms(250, true);
  const auto plain = std::make_shared<const api::Affinity>(affinity);
  affinity.required_pod_anti_affinity[0].match_label_keys = {"pod"};
  const auto comparing = std::make_shared<const api::Affinity>(affinity);
  const auto ignored_with = [](const std::shared_ptr<const api::Affinity>& shared) {
    ClusterBuilder builder;
    builder.add(NodeBuilder("n1"));
    for (int i = 0; i < 10; ++i) {
      PodBuilder pod("p" + std::to_string(i));
      builder.add(pod.label("pod", std::to_string(i)).with([&](api::Pod& each) { each.affinity = shared; }));
    }
    return ignored_in(*builder.build()).size();
  };
  EXPECT_EQ(ignored_with(plain), 0U);
  EXPECT_EQ(ignored_with(comparing), 10 - kMaxForeignTerms / 250);
}

TEST(TermLimits, TermsWithManyValuesCountMore) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  for (int i = 0; i < 20; ++i) {
    builder.add(hostile("h" + std::to_string(10 + i), 1).with([&](api::Pod& pod) {
      api::Affinity affinity = *pod.affinity;
      auto& values = affinity.required_pod_anti_affinity[0].label_selector->requirements[0].values;
      values.assign(4000, "v" + std::to_string(i));
      pod.affinity = std::make_shared<const api::Affinity>(affinity);
    }));
  }
  EXPECT_EQ(ignored_in(*builder.build()).size(), 20 - kMaxForeignTerms / 251);
}

TEST(TermLimits, TerminalPodsDoNotCount) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  for (int i = 0; i < 20; ++i)
    builder.add(hostile("h" + std::to_string(10 + i), 200 + i).phase(api::PodPhase::kFailed));
  builder.add(hostile("running", 200));
  EXPECT_THAT(ignored_in(*builder.build()), IsEmpty());
}

/// Covers pods whose terms decoding does not limit: pods without a node, mirror pods and pods that were not decoded
/// here.
TEST(TermLimits, APodWithTooLongAListIsLimitedByTheSnapshotToo) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  builder.add(hostile("mirror", 40'000).annotate(api::well_known::kMirrorAnnotation, "x"));
  builder.add(hostile("pending", 40'000).on(""));
  const auto cluster = builder.build();
  EXPECT_THAT(ignored_in(*cluster), ElementsAre("mirror", "pending"));
  EXPECT_THAT(cluster->anti_affine_by_namespace_labels(), IsEmpty());
  EXPECT_THAT(problems_of(*cluster), ElementsAre(HasSubstr("Pod hostile/mirror: spec.affinity.podAntiAffinity"),
                                                 HasSubstr("Pod hostile/pending: spec.affinity.podAntiAffinity")));
}

TEST(TermLimits, TermsCountAgainAfterOthersAreDeleted) {
  ClusterBuilder builder;
  builder.add(NodeBuilder("n1"));
  for (int i = 0; i < 11; ++i) builder.add(hostile("h" + std::to_string(10 + i), 200));
  const SnapshotInput input = builder.input();
  ClusterSnapshot cluster(input);
  EXPECT_THAT(ignored_in(cluster), ElementsAre("h20"));
  cluster.apply({.gone = {input.pods.front()}, .now = {}});
  EXPECT_THAT(ignored_in(cluster), IsEmpty());
  EXPECT_THAT(problems_of(cluster), IsEmpty());
  EXPECT_EQ(cluster.anti_affine_by_namespace_labels().size(), 10U);
}

/// Pods are created, deleted, moved and given another affinity around the limit.
class TermLimitsProperty : public testing::TestWithParam<unsigned> {};

TEST_P(TermLimitsProperty, BatchesLeaveWhatASnapshotMadeAnewWouldBe) {
  std::mt19937 random(GetParam());
  const auto below = [&](std::size_t end) { return random() % end; };
  std::vector<std::shared_ptr<const api::Affinity>> affinities = {nullptr};
  for (int i = 0; i < 14; ++i) affinities.push_back(terms(200 + below(50), true, std::to_string(i)));
  api::Affinity comparing = *affinities[1];
  comparing.required_pod_anti_affinity[0].mismatch_label_keys = {"version"};
  affinities.push_back(std::make_shared<const api::Affinity>(comparing));
  const std::array<api::StringMap, 2> versions = {{{{"version", "1"}}, {{"version", "2"}}}};
  SnapshotInput objects;
  for (const char* name : {"n1", "n2"}) objects.nodes.push_back(std::make_shared<api::Node>(NodeBuilder(name).build()));
  std::map<api::ObjectKey, std::shared_ptr<const api::Pod>> pods;
  const auto input = [&] {
    SnapshotInput now = objects;
    for (const auto& [key, pod] : pods) now.pods.push_back(pod);
    return now;
  };
  const auto change = [&] {
    api::Pod pod = PodBuilder("p" + std::to_string(below(40))).ns("ns-" + std::to_string(below(3))).build();
    const api::ObjectKey key = pod.meta.key();
    if (below(4) == 0) return void(pods.erase(key));
    pod.affinity = affinities[below(affinities.size())];
    pod.node_name = {below(3) == 0 ? "" : below(2) == 0 ? "n1" : "n2"};
    if (below(5) == 0) pod.phase = api::PodPhase::kFailed;
    if (below(2) == 0) pod.meta.labels = versions[below(2)];
    pods[key] = std::make_shared<api::Pod>(std::move(pod));
  };
  for (int i = 0; i < 60; ++i) change();
  ClusterSnapshot kept(input());
  bool was_above = false;
  for (int batch = 0; batch < 20; ++batch) {
    const auto before = pods;
    for (std::size_t i = below(batch % 4 == 0 ? 40 : 4); i > 0; --i) change();
    PodChanges changes;
    for (const auto& [key, pod] : before) {
      if (!pods.contains(key)) changes.gone.push_back(pod);
    }
    for (const auto& [key, pod] : pods) {
      const auto at = before.find(key);
      if (at == before.end() || at->second != pod) changes.now.push_back(pod);
    }
    kept.apply(std::move(changes));
    const ClusterSnapshot anew(input());
    was_above = was_above || !ignored_in(anew).empty();
    ASSERT_EQ(ignored_in(kept), ignored_in(anew)) << "batch " << batch;
    ASSERT_EQ(builders::picture_of(kept), builders::picture_of(anew)) << "batch " << batch;
  }
  EXPECT_TRUE(was_above);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TermLimitsProperty, testing::Range(0U, 20U));

}  // namespace term_limits_test
}  // namespace scheduling
