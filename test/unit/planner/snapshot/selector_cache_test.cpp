#include "planner/snapshot/selector_cache.hpp"

#include <gmock/gmock.h>

#include "planner/snapshot/cached_selector.hpp"
#include "test/builders/cluster.hpp"

namespace scheduling {
namespace selector_cache_test {

using builders::ClusterBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

PodBuilder app(std::string name, std::string ns = "default") {
  return PodBuilder(std::move(name)).ns(std::move(ns)).label("app", "web").label("version", "1");
}

/// "own" and pods with other labels, namespaces and states. Namespace "shop" has the label team=a.
std::unique_ptr<const ClusterSnapshot> cluster() {
  return ClusterBuilder()
      .add(app("own"))
      .add(app("same"))
      .add(app("newer").label("version", "2"))
      .add(app("done").phase(api::PodPhase::kSucceeded))
      .add(app("leaving").terminating())
      .add(PodBuilder("other").label("app", "db"))
      .add(app("there", "shop"))
      .add_namespace("shop", {{"team", "a"}})
      .build();
}

std::vector<std::string> names_of(const ClusterSnapshot& of, const std::vector<PodIndex>& pods) {
  std::vector<std::string> names;
  for (const PodIndex pod : pods) names.push_back(of.pod(pod).meta.name);
  std::ranges::sort(names);
  return names;
}

struct CoveredCase {
  std::string name;
  std::function<void(api::PodAffinityTerm&)> edit;
  std::vector<std::string> want;
};

class Covered : public testing::TestWithParam<CoveredCase> {};

/// The second call reads the cache and must return the same pods.
TEST_P(Covered, ActivePodsOfTheTerm) {
  const auto pods = cluster();
  api::PodAffinityTerm term;
  term.label_selector = builders::labels_in("app", {"web"});
  GetParam().edit(term);
  SelectorCache cache(*pods);
  const PodIndex own = pods->find_pod("default", "own").value();
  EXPECT_EQ(names_of(*pods, cache.covered_by(term, own)), GetParam().want);
  EXPECT_EQ(names_of(*pods, cache.covered_by(term, own)), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Terms, Covered,
    testing::Values(
        CoveredCase{"OfItsNamespace", [](auto&) {}, {"leaving", "newer", "own", "same"}},
        CoveredCase{"WithoutASelector", [](auto& term) { term.label_selector.reset(); }, {}},
        CoveredCase{"OfANamedNamespace", [](auto& term) { term.namespaces = {"shop"}; }, {"there"}},
        CoveredCase{"OfNamespacesByLabel",
                    [](auto& term) { term.namespace_selector = builders::labels_in("team", {"a"}); },
                    {"there"}},
        CoveredCase{"OfAllNamespaces",
                    [](auto& term) { term.namespace_selector = api::LabelSelector{}; },
                    {"leaving", "newer", "own", "same", "there"}},
        CoveredCase{
            "WithTheSameVersion", [](auto& term) { term.match_label_keys = {"version"}; }, {"leaving", "own", "same"}},
        CoveredCase{"WithAnotherVersion", [](auto& term) { term.mismatch_label_keys = {"version"}; }, {"newer"}}),
    [](const auto& test) { return test.param.name; });

TEST(SelectorCache, CountsStayingPodsOfAConstraint) {
  const auto pods = cluster();
  api::TopologySpreadConstraint constraint;
  constraint.topology_key = "zone";
  constraint.label_selector = builders::labels_in("app", {"web"});
  SelectorCache cache(*pods);
  const PodIndex own = pods->find_pod("default", "own").value();
  EXPECT_THAT(names_of(*pods, cache.counted_by(constraint, own)), ElementsAre("newer", "own", "same"));
  api::TopologySpreadConstraint of_version = constraint;
  of_version.match_label_keys = {"version"};
  EXPECT_THAT(names_of(*pods, cache.counted_by(of_version, own)), ElementsAre("own", "same"));
}

TEST(SelectorCache, FindsTheAntiAffinityOfOthers) {
  const auto pods = ClusterBuilder()
                        .add(PodBuilder("db").label("app", "db").anti_affinity("app", "web", "zone"))
                        .add(app("own"))
                        .add(PodBuilder("idle"))
                        .build();
  SelectorCache cache(*pods);
  const auto& terms = cache.anti_affinity_terms_of(pods->find_pod("default", "own").value());
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_THAT(names_of(*pods, *terms[0].owners), ElementsAre("db"));
  EXPECT_THAT(cache.anti_affinity_terms_of(pods->find_pod("default", "idle").value()), IsEmpty());
}

PodBuilder with_terms(std::string name, int count, const char* topology) {
  PodBuilder pod = PodBuilder(std::move(name)).label("app", "db");
  for (int i = 0; i < count; ++i) pod.anti_affinity(i % 2 == 0 ? "app" : "version", i % 2 == 0 ? "web" : "1", topology);
  return pod;
}

/// The terms of a pod over one topology key are merged into one.
TEST(SelectorCache, JoinsTheTermsOfOneOwnerOverOneKey) {
  const auto pods = ClusterBuilder()
                        .add(builders::NodeBuilder("n1").label("zone", "a"))
                        .add(with_terms("db", 200, "zone").anti_affinity("app", "web", "kubernetes.io/hostname"))
                        .add(app("own"))
                        .build();
  SelectorCache cache(*pods);
  const auto& terms = cache.anti_affinity_terms_of(pods->find_pod("default", "own").value());
  std::vector<std::pair<std::string, std::int64_t>> got;
  for (const auto& each : terms) got.emplace_back(each.term->topology_key, each.weight);
  EXPECT_THAT(got, ElementsAre(std::pair("kubernetes.io/hostname", 1), std::pair("zone", 200)));
}

/// Pods of a StatefulSet have individual labels. Their common affinity is evaluated once for all of them.
TEST(SelectorCache, JoinsOwnersWithOneAffinityUnderManyLabels) {
  api::Affinity affinity;
  api::PodAffinityTerm& term = affinity.required_pod_anti_affinity.emplace_back();
  term.label_selector = builders::labels_in("app", {"web"});
  term.topology_key = "zone";
  const auto owners_seen = [&] {
    ClusterBuilder builder;
    const auto shared = std::make_shared<const api::Affinity>(affinity);
    for (const char* name : {"db-0", "db-1", "db-2"})
      builder.add(PodBuilder(name).label("pod", name).with([&](api::Pod& pod) { pod.affinity = shared; }));
    const auto pods = builder.add(app("own")).build();
    SelectorCache cache(*pods);
    std::vector<std::size_t> owners;
    for (const auto& each : cache.anti_affinity_terms_of(pods->find_pod("default", "own").value()))
      owners.push_back(each.owners->size());
    return owners;
  };
  EXPECT_THAT(owners_seen(), ElementsAre(3));
  affinity.required_pod_anti_affinity[0].mismatch_label_keys = {"pod"};
  EXPECT_THAT(owners_seen(), ElementsAre(1, 1, 1)) << "what it says depends on the owner's labels";
}

/// Each pod of namespace "hostile" has its own labels and a term that selects all other pods.
TEST(SelectorCache, StepsOfOneNamespaceAreBounded) {
  ClusterBuilder builder;
  builder.add(app("own")).add(PodBuilder("db").anti_affinity("app", "web", "zone"));
  constexpr std::size_t kPods = 2000;
  for (std::size_t i = 0; i < kPods; ++i) {
    const std::string number = std::to_string(i);
    builder.add(PodBuilder("h" + number).ns("hostile").label("pod", number).affinity([&](api::Affinity& affinity) {
      api::PodAffinityTerm& term = affinity.required_pod_anti_affinity.emplace_back();
      term.label_selector.emplace().requirements.push_back({"k" + number, api::SelectorOperator::kDoesNotExist, {}});
      term.topology_key = "zone";
      term.namespace_selector = api::LabelSelector{};
    }));
  }
  const auto pods = builder.build();
  SelectorCache cache(*pods);
  const auto of_hostile = [&](const char* ns, const char* name) {
    std::size_t count = 0;
    for (const auto& each : cache.anti_affinity_terms_of(pods->find_pod(ns, name).value()))
      count += pods->pod(each.owners->front()).meta.ns == "hostile" ? 1 : 0;
    return count;
  };
  const std::size_t found = of_hostile("hostile", "h0");
  EXPECT_GT(found, 300U);
  EXPECT_LT(found, 1000U) << "of 2,000 terms about 2,000 sets of labels";
  EXPECT_EQ(cache.anti_affinity_terms_of(pods->find_pod("default", "own").value()).back().owners->size(), 1U);
  EXPECT_EQ(of_hostile("default", "own") + 1,
            cache.anti_affinity_terms_of(pods->find_pod("default", "own").value()).size())
      << "terms of other namespaces are all there";
}

TEST(SelectorCache, OmitsTermsOverKeysThatNoNodeHas) {
  const auto pods = ClusterBuilder()
                        .add(builders::NodeBuilder("n1").label("zone", "a"))
                        .add(with_terms("db", 3, "rack"))
                        .add(app("own"))
                        .build();
  SelectorCache cache(*pods);
  EXPECT_THAT(cache.anti_affinity_terms_of(pods->find_pod("default", "own").value()), IsEmpty());
}

TEST(SelectorCache, AddsUpTheWeightsOfPreferences) {
  const auto pods = ClusterBuilder()
                        .add(builders::NodeBuilder("n1").label("zone", "a"))
                        .add(PodBuilder("db").affinity([](api::Affinity& affinity) {
                          api::PodAffinityTerm term;
                          term.label_selector = builders::labels_in("app", {"web"});
                          term.topology_key = "zone";
                          affinity.required_pod_affinity = {term};
                          affinity.preferred_pod_affinity = {{10, term}, {5, term}};
                          affinity.preferred_pod_anti_affinity = {{3, term}};
                        }))
                        .add(app("own"))
                        .build();
  SelectorCache cache(*pods);
  const std::vector<std::vector<PodIndex>> groups = {{pods->find_pod("default", "db").value()}};
  const auto& terms = cache.preferences_about(pods->find_pod("default", "own").value(), groups, {});
  ASSERT_EQ(terms.size(), 1U);
  EXPECT_EQ(terms[0].weight, 1 + 10 + 5 - 3);
  EXPECT_THAT(cache.preferences_about(pods->find_pod("default", "db").value(), groups, {}), IsEmpty());
}

TEST(CachedSelector, EvaluatesOnePodPerSetOfLabels) {
  const api::StringMap shared = {{"app", "web"}};
  ClusterBuilder builder;
  for (const char* name : {"a", "b", "c"})
    builder.add(PodBuilder(name).with([&](api::Pod& pod) { pod.meta.labels = shared; }));
  const auto pods = builder.build();
  int looked_at = 0;
  CachedSelector selector(*pods, [&](const api::Pod& pod) { return ++looked_at, pod.meta.labels.contains("app"); });
  for (const PodIndex pod : pods->pods()) EXPECT_TRUE(selector(pod));
  EXPECT_EQ(looked_at, 1);
}

}  // namespace selector_cache_test
}  // namespace scheduling
