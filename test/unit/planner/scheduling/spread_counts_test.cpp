#include <gmock/gmock.h>

#include <functional>

#include "api/meta/well_known.hpp"
#include "planner/scheduling/predicates.hpp"
#include "planner/scheduling/scoring/preferences.hpp"
#include "test/builders/cluster.hpp"

/// Topology spread: the domains of a label, which nodes and pods a constraint counts, and what it refuses.
namespace scheduling {
namespace spread_counts_test {

using builders::ClusterBuilder;
using builders::labels_in;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;

constexpr std::uint32_t kNone = Topology::kNone;

/// Nodes a1 and a2 are in zone "a", b1 is in zone "b".
ClusterBuilder two_zones() {
  return ClusterBuilder()
      .add(NodeBuilder("a1").label("zone", "a"))
      .add(NodeBuilder("a2").label("zone", "a"))
      .add(NodeBuilder("b1").label("zone", "b"));
}

api::TopologySpreadConstraint over(const char* key) {
  api::TopologySpreadConstraint constraint;
  constraint.topology_key = key;
  constraint.label_selector = labels_in("app", {"web"});
  return constraint;
}

PodBuilder web(const char* name, const char* node) { return PodBuilder(name).label("app", "web").on(node); }

void add_constraint(PodBuilder& pod, api::TopologySpreadConstraint constraint) {
  pod.with([&](api::Pod& object) { object.topology_spread.push_back(std::move(constraint)); });
}

PodIndex pod_of(const ClusterSnapshot& cluster, const char* name) { return cluster.find_pod("default", name).value(); }
NodeIndex node_of(const ClusterSnapshot& cluster, const char* name) { return cluster.find_node(name).value(); }

/// "a=2 b=0, fewest 0, self 1" for each constraint.
std::string counts_of(const FitQuery& query) {
  std::string text;
  for (const FitQuery::SpreadCount& count : query.spread_counts()) {
    if (!text.empty()) text += "; ";
    for (std::size_t i = 0; i < count.pods.size(); ++i)
      text += std::string(count.topology->domain_names[i]) + "=" + std::to_string(count.pods[i]) + " ";
    text += "fewest " + std::to_string(count.fewest) + " self " + std::to_string(count.self);
  }
  return text;
}

// --- Domains

TEST(TopologyOfWhatIf, NumbersDomainsByTheirFirstNode) {
  const auto cluster = two_zones().add(NodeBuilder("c1")).build();
  const WhatIf what_if(*cluster);
  const Topology& zones = what_if.topology("zone");
  EXPECT_THAT(zones.domain_of, ElementsAre(0U, 0U, 1U, kNone));
  EXPECT_THAT(zones.domain_names, ElementsAre("a", "b"));
  EXPECT_FALSE(zones.covers_all);
}

TEST(TopologyOfWhatIf, CoversAllNodesThatHaveTheLabel) {
  const auto cluster = two_zones().build();
  const WhatIf what_if(*cluster);
  EXPECT_TRUE(what_if.topology("zone").covers_all);
  EXPECT_THAT(what_if.topology(api::well_known::kHostnameLabel).domain_of, ElementsAre(0U, 1U, 2U));
}

TEST(TopologyOfWhatIf, HasNoDomainsForALabelOfNoNode) {
  const auto cluster = two_zones().build();
  const WhatIf what_if(*cluster);
  const Topology& racks = what_if.topology("rack");
  EXPECT_THAT(racks.domain_of, ElementsAre(kNone, kNone, kNone));
  EXPECT_TRUE(racks.domain_names.empty());
  EXPECT_FALSE(racks.covers_all);
  EXPECT_EQ(&racks, &what_if.topology("row")) << "all such labels share one topology";
}

TEST(TopologyOfWhatIf, OfAClusterWithoutNodesCoversAll) {
  const auto cluster = ClusterBuilder().build();
  const WhatIf what_if(*cluster);
  EXPECT_TRUE(what_if.topology("zone").covers_all);
}

TEST(PatchyTopologies, AreThoseThatSomeNodeLacks) {
  PodBuilder pod("p");
  for (const char* key : {"zone", "rack", "rack", "row"}) add_constraint(pod, over(key));
  pod.with([](api::Pod& object) { object.topology_spread.edit()[3].schedule_anyway = true; });
  const auto cluster = two_zones()
                           .add(NodeBuilder("b2").label("zone", "b").label("rack", "r").label("row", "x"))
                           .add(NodeBuilder("b3").label("zone", "b").label("rack", "r"))
                           .build();
  const WhatIf what_if(*cluster);
  const PatchyTopologies hard = patchy_topologies(pod.build(), false, what_if);
  EXPECT_THAT(hard, ElementsAre(&what_if.topology("rack")));
  EXPECT_FALSE(has_all(hard, node_of(*cluster, "a1")));
  EXPECT_TRUE(has_all(hard, node_of(*cluster, "b2")));
  const PatchyTopologies soft = patchy_topologies(pod.build(), true, what_if);
  EXPECT_THAT(soft, ElementsAre(&what_if.topology("row")));
  EXPECT_FALSE(has_all(soft, node_of(*cluster, "b3")));
  EXPECT_TRUE(has_all({}, node_of(*cluster, "a1")));
}

// --- Nodes

struct NodeCase {
  std::string name;
  std::function<void(api::TopologySpreadConstraint& constraint, PodBuilder& pod, NodeBuilder& node)> arrange;
  bool want;
};

class CountedNode : public testing::TestWithParam<NodeCase> {};

TEST_P(CountedNode, DependsOnThePoliciesOfTheConstraint) {
  api::TopologySpreadConstraint constraint = over("zone");
  PodBuilder pod("p");
  NodeBuilder node("n");
  GetParam().arrange(constraint, pod, node);
  EXPECT_EQ(is_counted_node(constraint, pod.build(), node.build()), GetParam().want);
}

void select_ssd(PodBuilder& pod) {
  pod.with([](api::Pod& object) { object.node_selector = {{"disk", "ssd"}}; });
}

using S = api::TopologySpreadConstraint;
using P = PodBuilder;
using N = NodeBuilder;

INSTANTIATE_TEST_SUITE_P(
    Spread, CountedNode,
    testing::Values(
        NodeCase{"Plain", [](S&, P&, N&) {}, true}, NodeCase{"Cordoned", [](S&, P&, N& n) { n.cordoned(); }, true},
        NodeCase{"NotSelected", [](S&, P& p, N&) { select_ssd(p); }, false},
        NodeCase{"Selected", [](S&, P& p, N& n) { select_ssd(p), n.label("disk", "ssd"); }, true},
        NodeCase{"NotSelectedButIgnored", [](S& s, P& p, N&) { select_ssd(p), s.honor_node_affinity = false; }, true},
        NodeCase{"TaintIgnoredByDefault", [](S&, P&, N& n) { n.taint("gpu"); }, true},
        NodeCase{"TaintHonored", [](S& s, P&, N& n) { n.taint("gpu"), s.honor_node_taints = true; }, false},
        NodeCase{"TaintTolerated",
                 [](S& s, P& p, N& n) { n.taint("gpu"), p.tolerate("gpu"), s.honor_node_taints = true; }, true},
        NodeCase{"NoExecute",
                 [](S& s, P&, N& n) { n.taint("gpu", api::TaintEffect::kNoExecute), s.honor_node_taints = true; },
                 false},
        NodeCase{
            "SoftTaint",
            [](S& s, P&, N& n) { n.taint("gpu", api::TaintEffect::kPreferNoSchedule), s.honor_node_taints = true; },
            true}),
    [](const auto& test) { return test.param.name; });

// --- Pods

struct CountCase {
  std::string name;
  std::function<void(api::TopologySpreadConstraint& constraint, PodBuilder& pod, ClusterBuilder& rest)> arrange;
  std::string want;
};

class SpreadCount : public testing::TestWithParam<CountCase> {};

/// The pod "p" of app web has no node and one constraint over the two zones.
TEST_P(SpreadCount, CountsPodsByDomain) {
  api::TopologySpreadConstraint constraint = over("zone");
  PodBuilder pod = PodBuilder("p").label("app", "web");
  ClusterBuilder rest = two_zones();
  GetParam().arrange(constraint, pod, rest);
  add_constraint(pod, constraint);
  const auto cluster = rest.add(pod).build();
  const WhatIf what_if(*cluster);
  for (const OldPod old_pod : {OldPod::kGone, OldPod::kStays})
    EXPECT_EQ(counts_of(FitQuery(what_if, pod_of(*cluster, "p"), FitLevel::kScheduler, old_pod)), GetParam().want);
}

using C = ClusterBuilder;

INSTANTIATE_TEST_SUITE_P(
    Spread, SpreadCount,
    testing::Values(
        CountCase{"NoOtherPods", [](S&, P&, C&) {}, "a=0 b=0 fewest 0 self 1"},
        CountCase{"EachDomain", [](S&, P&, C& c) { c.add(web("u", "a1")).add(web("v", "a2")).add(web("w", "b1")); },
                  "a=2 b=1 fewest 1 self 1"},
        CountCase{"NotOtherLabels", [](S&, P&, C& c) { c.add(PodBuilder("db").label("app", "db").on("a1")); },
                  "a=0 b=0 fewest 0 self 1"},
        CountCase{"NotOtherNamespaces", [](S&, P&, C& c) { c.add(web("w", "a1").ns("other")); },
                  "a=0 b=0 fewest 0 self 1"},
        CountCase{"NotTerminating", [](S&, P&, C& c) { c.add(web("w", "a1").terminating()); },
                  "a=0 b=0 fewest 0 self 1"},
        CountCase{"NotEnded", [](S&, P&, C& c) { c.add(web("w", "a1").phase(api::PodPhase::kSucceeded)); },
                  "a=0 b=0 fewest 0 self 1"},
        CountCase{"NotWithoutANode", [](S&, P&, C& c) { c.add(web("w", "")).add(web("v", "gone")); },
                  "a=0 b=0 fewest 0 self 1"},
        CountCase{"NotThePodItself", [](S&, P& p, C& c) { p.on("a1"), c.add(web("w", "b1")); },
                  "a=0 b=1 fewest 0 self 1"},
        CountCase{"NoSelfIfItsLabelsDoNotMatch", [](S&, P& p, C& c) { p.label("app", "db"), c.add(web("w", "a1")); },
                  "a=1 b=0 fewest 0 self 0"},
        CountCase{"NothingForASelectorWithoutRequirements",
                  [](S& s, P&, C& c) { s.label_selector->requirements.clear(), c.add(web("w", "a1")); },
                  "a=0 b=0 fewest 0 self 1"},
        CountCase{"NothingWithoutASelector", [](S& s, P&, C& c) { s.label_selector.reset(), c.add(web("w", "a1")); },
                  "a=0 b=0 fewest 0 self 0"},
        CountCase{"ItsRevisionOnly",
                  [](S& s, P& p, C& c) {
                    s.match_label_keys = {"rev"};
                    p.label("rev", "2");
                    c.add(web("v", "a1").label("rev", "1")).add(web("w", "b1").label("rev", "2"));
                  },
                  "a=0 b=1 fewest 0 self 1"},
        CountCase{"EveryRevisionIfItHasNone",
                  [](S& s, P&, C& c) {
                    s.match_label_keys = {"rev"};
                    c.add(web("v", "a1").label("rev", "1")).add(web("w", "b1").label("rev", "2"));
                  },
                  "a=1 b=1 fewest 1 self 1"},
        CountCase{"EnoughDomains", [](S& s, P&, C& c) { s.min_domains = 2, c.add(web("v", "a1")).add(web("w", "b1")); },
                  "a=1 b=1 fewest 1 self 1"},
        CountCase{"TooFewDomains", [](S& s, P&, C& c) { s.min_domains = 3, c.add(web("v", "a1")).add(web("w", "b1")); },
                  "a=1 b=1 fewest 0 self 1"},
        CountCase{"NotNodesWithoutTheLabel",
                  [](S&, P&, C& c) { c.add(NodeBuilder("c1")).add(web("w", "c1")).add(web("v", "a1")); },
                  "a=1 b=0 fewest 0 self 1"},
        CountCase{"NotNodesThatThePodMayNotUse",
                  [](S&, P& p, C& c) {
                    p.with([](api::Pod& object) { object.node_selector = {{"zone", "b"}}; });
                    c.add(web("u", "a1")).add(web("v", "a2")).add(web("w", "b1"));
                  },
                  "a=0 b=1 fewest 1 self 1"},
        CountCase{"AllNodesIfItIgnoresAffinity",
                  [](S& s, P& p, C& c) {
                    s.honor_node_affinity = false;
                    p.with([](api::Pod& object) { object.node_selector = {{"zone", "b"}}; });
                    c.add(web("u", "a1")).add(web("v", "a2")).add(web("w", "b1"));
                  },
                  "a=2 b=1 fewest 1 self 1"},
        CountCase{"NotTaintedNodesIfItHonorsTaints",
                  [](S& s, P&, C& c) {
                    s.honor_node_taints = true;
                    c.add(NodeBuilder("c1").label("zone", "c").taint("gpu")).add(web("w", "c1"));
                    c.add(web("u", "a1")).add(web("v", "b1"));
                  },
                  "a=1 b=1 c=0 fewest 1 self 1"},
        CountCase{"TaintedNodesByDefault",
                  [](S&, P&, C& c) {
                    c.add(NodeBuilder("c1").label("zone", "c").taint("gpu"));
                    c.add(web("u", "a1")).add(web("v", "b1"));
                  },
                  "a=1 b=1 c=0 fewest 0 self 1"},
        CountCase{"OnlyNodesWithTheLabelsOfAllConstraints",
                  [](S&, P& p, C& c) {
                    add_constraint(p, over("rack"));
                    c.add(NodeBuilder("c1").label("zone", "c").label("rack", "r"));
                    c.add(web("u", "a1")).add(web("v", "c1")).add(web("w", "c1"));
                  },
                  "r=2 fewest 2 self 1; a=0 b=0 c=2 fewest 2 self 1"},
        CountCase{"NoScheduleAnywayConstraint", [](S& s, P&, C& c) { s.schedule_anyway = true, c.add(web("w", "a1")); },
                  ""}),
    [](const auto& test) { return test.param.name; });

TEST(SpreadCountOfWhatIf, FollowsMovedPods) {
  PodBuilder pod = PodBuilder("p").label("app", "web");
  add_constraint(pod, over("zone"));
  const auto cluster = two_zones().add(pod).add(web("v", "a1")).add(web("w", "a2")).build();
  WhatIf what_if(*cluster);
  const auto counts = [&] { return counts_of(*what_if.fit_query(pod_of(*cluster, "p"), FitLevel::kScheduler)); };
  EXPECT_EQ(counts(), "a=2 b=0 fewest 0 self 1");
  what_if.move(pod_of(*cluster, "w"), node_of(*cluster, "b1"));
  EXPECT_EQ(counts(), "a=1 b=1 fewest 1 self 1");
  what_if.move(pod_of(*cluster, "v"), kNoNode);
  EXPECT_EQ(counts(), "a=0 b=1 fewest 0 self 1");
  what_if.restore(pod_of(*cluster, "v"));
  what_if.restore(pod_of(*cluster, "w"));
  EXPECT_EQ(counts(), "a=2 b=0 fewest 0 self 1");
}

// --- Skew

struct SkewCase {
  std::string name;
  std::function<void(api::TopologySpreadConstraint& constraint, PodBuilder& pod, ClusterBuilder& rest)> arrange;
  std::string want_a1;  ///< message, or "" if the pod may run there
  std::string want_b1;
};

class Skew : public testing::TestWithParam<SkewCase> {};

/// Two pods of the app run in zone "a".
TEST_P(Skew, RefusesDomainsAboveTheMaximum) {
  api::TopologySpreadConstraint constraint = over("zone");
  PodBuilder pod = PodBuilder("p").label("app", "web");
  ClusterBuilder rest = two_zones().add(web("v", "a1")).add(web("w", "a2"));
  GetParam().arrange(constraint, pod, rest);
  add_constraint(pod, constraint);
  const auto cluster = rest.add(pod).build();
  const WhatIf what_if(*cluster);
  const FitQuery query(what_if, pod_of(*cluster, "p"), FitLevel::kScheduler);
  const auto message = [&](const char* node) {
    const auto refusal = refuse_skew(query, node_of(*cluster, node));
    EXPECT_EQ(refusal ? refusal->reason : "TopologySpread", "TopologySpread");
    return refusal ? refusal->message() : "";
  };
  EXPECT_EQ(message("a1"), GetParam().want_a1);
  EXPECT_EQ(message("b1"), GetParam().want_b1);
}

INSTANTIATE_TEST_SUITE_P(
    Spread, Skew,
    testing::Values(
        SkewCase{"Above", [](S&, P&, C&) {}, "the skew over zone would be 3, the maximum is 1", ""},
        SkewCase{"AtTheMaximum", [](S& s, P&, C&) { s.max_skew = 3; }, "", ""},
        SkewCase{"OneBelow", [](S& s, P&, C&) { s.max_skew = 2; }, "the skew over zone would be 3, the maximum is 2",
                 ""},
        SkewCase{"WithoutThePodItself", [](S& s, P& p, C&) { s.max_skew = 2, p.label("app", "db"); }, "", ""},
        SkewCase{"FromTheFewest", [](S&, P&, C& c) { c.add(web("x", "b1")).add(web("y", "b1")).add(web("z", "b1")); },
                 "", "the skew over zone would be 2, the maximum is 1"},
        SkewCase{"TooFewDomains",
                 [](S& s, P&, C& c) {
                   s.min_domains = 3;
                   c.add(web("x", "b1")).add(web("y", "b1"));
                 },
                 "the skew over zone would be 3, the maximum is 1", "the skew over zone would be 3, the maximum is 1"},
        SkewCase{"WithoutTheLabel", [](S& s, P&, C&) { s.topology_key = "rack"; }, "the node has no label rack",
                 "the node has no label rack"}),
    [](const auto& test) { return test.param.name; });

// --- Counts per domain

struct DomainCase {
  std::string name;
  std::size_t domains;
  std::vector<std::uint32_t> pods;
  std::vector<std::int64_t> want;  ///< of the first domains
  std::int64_t want_least;
  std::int64_t want_most;
};

class DomainCountsTest : public testing::TestWithParam<DomainCase> {};

TEST_P(DomainCountsTest, AreTheSameInBothLayouts) {
  DomainCounts counts;
  counts.reserve(GetParam().pods.size());
  for (const std::uint32_t domain : GetParam().pods) counts.add(domain);
  counts.seal(GetParam().domains);
  for (std::uint32_t i = 0; i < GetParam().want.size(); ++i) EXPECT_EQ(counts.at(i), GetParam().want[i]) << i;
  EXPECT_EQ(counts.least(), GetParam().want_least);
  EXPECT_EQ(counts.most(), GetParam().want_most);
}

INSTANTIATE_TEST_SUITE_P(Spread, DomainCountsTest,
                         testing::Values(DomainCase{"NoDomains", 0, {}, {}, 0, 0},
                                         DomainCase{"NoPods", 3, {}, {0, 0, 0}, 0, 0},
                                         DomainCase{"Dense", 3, {0, 2, 0}, {2, 0, 1}, 0, 2},
                                         DomainCase{"DenseInEveryDomain", 3, {0, 2, 0, 1, 2}, {2, 1, 2}, 1, 2},
                                         DomainCase{"Sparse", 1000, {4, 1, 4, 4}, {0, 1, 0, 0, 3, 0}, 0, 3}),
                         [](const auto& test) { return test.param.name; });

}  // namespace spread_counts_test
}  // namespace scheduling
