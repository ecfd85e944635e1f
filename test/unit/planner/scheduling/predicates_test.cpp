#include "planner/scheduling/predicates.hpp"

#include <gmock/gmock.h>

#include <random>

#include <functional>

#include "test/builders/cluster.hpp"
#include "test/builders/first_refusal.hpp"

namespace scheduling {
namespace predicates_test {

using builders::ClusterBuilder;
using builders::labels_in;
using builders::NodeBuilder;
using builders::PodBuilder;

/// Returns the reason why the pod "p" may not run on the node "n", or "" if it may.
std::string reason_on_n(const ClusterBuilder& builder, FitLevel level) {
  const auto cluster = builder.build();
  const WhatIf what_if(*cluster);
  const auto refusal =
      first_refusal(what_if, cluster->find_pod("default", "p").value(), cluster->find_node("n").value(), level);
  if (!refusal) return "";
  EXPECT_FALSE(refusal->message().empty());
  EXPECT_THAT(refusal->message(), testing::Not(testing::HasSubstr("{")));
  return std::string(refusal->reason);
}

struct FitCase {
  std::string name;
  std::function<void(PodBuilder& pod, NodeBuilder& node, ClusterBuilder& rest)> arrange;
  std::string want_basic;
  std::string want_scheduler;
};

class FitTest : public testing::TestWithParam<FitCase> {};

ClusterBuilder arranged(const FitCase& fit) {
  PodBuilder pod("p");
  NodeBuilder node("n");
  ClusterBuilder rest;
  pod.on("home");
  rest.add(NodeBuilder("home"));
  fit.arrange(pod, node, rest);
  rest.add(pod).add(node);
  return rest;
}

TEST_P(FitTest, LeavesOutOnlyRulesThatWouldNotObject) {
  const auto cluster = arranged(GetParam()).build();
  const WhatIf what_if(*cluster);
  const FitQuery query(what_if, cluster->find_pod("default", "p").value(), FitLevel::kScheduler);
  for (std::size_t i = 0; i < kSchedulerRules.size(); ++i) {
    const SchedulerRule& rule = kSchedulerRules[i];
    if (rule.concerns == nullptr || rule.concerns(query)) continue;
    for (const NodeIndex node : cluster->nodes()) EXPECT_FALSE(rule.refuse(query, node)) << "rule " << i;
  }
}

TEST_P(FitTest, AnswersPerLevel) {
  ClusterBuilder rest = arranged(GetParam());
  EXPECT_EQ(reason_on_n(rest, FitLevel::kBasic), GetParam().want_basic);
  EXPECT_EQ(reason_on_n(rest, FitLevel::kScheduler), GetParam().want_scheduler);
}

using P = PodBuilder;
using N = NodeBuilder;
using C = ClusterBuilder;

api::NodeSelectorTerm zone_term(api::SelectorOperator op, std::vector<std::string> values) {
  return {{{"zone", op, std::move(values)}}, {}};
}

void require_term(P& pod, api::NodeSelectorTerm term) {
  pod.affinity([&](api::Affinity& affinity) { affinity.required_node_terms = {{std::move(term)}}; });
}

INSTANTIATE_TEST_SUITE_P(
    NodeRules, FitTest,
    testing::Values(
        FitCase{"FitsAnEmptyNode", [](P&, N&, C&) {}, "", ""},
        FitCase{"RefusesACordonedNode", [](P&, N& n, C&) { n.cordoned(); }, "NodeCordoned", "NodeCordoned"},
        FitCase{"LetsATolerationOverrideACordonForTheSchedulerOnly",
                [](P& p, N& n, C&) { n.cordoned(), p.tolerate("node.kubernetes.io/unschedulable"); }, "NodeCordoned",
                ""},
        FitCase{"RefusesAnUnreadyNodeForTheSchedulerOnly", [](P&, N& n, C&) { n.not_ready(); }, "", "NodeNotReady"},
        FitCase{"FitsWithoutAReadyCondition", [](P&, N& n, C&) { n.with([](api::Node& x) { x.conditions.clear(); }); },
                "", ""},
        FitCase{"RefusesOtherLabels",
                [](P& p, N&, C&) { p.with([](api::Pod& x) {
                                     x.node_selector = {{"zone", "z1"}};
                                   }); },
                "NodeSelectorMismatch", "NodeSelectorMismatch"},
        FitCase{"MatchesSelectorAndAffinityTogether",
                [](P& p, N& n, C&) {
                  n.label("zone", "z1").label("disk", "ssd");
                  p.with([](api::Pod& x) { x.node_selector = {{"disk", "ssd"}}; });
                  require_term(p, zone_term(api::SelectorOperator::kIn, {"z1"}));
                },
                "", ""},
        FitCase{"MatchesNothingByATermWithoutRequirements", [](P& p, N&, C&) { require_term(p, {}); },
                "NodeSelectorMismatch", "NodeSelectorMismatch"},
        FitCase{"MatchesNothingByNoTerms",
                [](P& p, N&, C&) { p.affinity([](api::Affinity& a) { a.required_node_terms.emplace(); }); },
                "NodeSelectorMismatch", "NodeSelectorMismatch"},
        FitCase{"FitsNowhereForUpstreamWithAnAntiAffinityThatDoesNotParse",
                [](P& p, N&, C&) {
                  p.affinity([](api::Affinity& affinity) {
                    affinity.required_pod_anti_affinity.push_back(
                        {api::LabelSelector{{{"a", api::SelectorOperator::kNotIn, {}}}}, {}, {}, "zone", {}, {}});
                  });
                },
                "MalformedAntiAffinity", ""},
        FitCase{"MatchesNothingByAMalformedRequirement",
                [](P& p, N&, C&) { require_term(p, zone_term(api::SelectorOperator::kNotIn, {})); },
                "NodeSelectorMismatch", "NodeSelectorMismatch"},
        FitCase{
            "ComparesIntegers",
            [](P& p, N& n, C&) { n.label("zone", "7"), require_term(p, zone_term(api::SelectorOperator::kGt, {"6"})); },
            "", ""},
        FitCase{"MatchesTheNodesName",
                [](P& p, N&, C&) {
                  require_term(p, {{}, {{"metadata.name", api::SelectorOperator::kIn, {"n"}}}});
                },
                "", ""},
        FitCase{"RefusesAnotherNodesName",
                [](P& p, N&, C&) {
                  require_term(p, {{}, {{"metadata.name", api::SelectorOperator::kNotIn, {"n"}}}});
                },
                "NodeSelectorMismatch", "NodeSelectorMismatch"},
        FitCase{"RefusesAnUntoleratedTaint", [](P&, N& n, C&) { n.taint("gpu"); }, "UntoleratedTaint",
                "UntoleratedTaint"},
        FitCase{"RefusesNoExecute", [](P&, N& n, C&) { n.taint("gpu", api::TaintEffect::kNoExecute); },
                "UntoleratedTaint", "UntoleratedTaint"},
        FitCase{"IgnoresPreferNoSchedule", [](P&, N& n, C&) { n.taint("gpu", api::TaintEffect::kPreferNoSchedule); },
                "", ""},
        FitCase{"ToleratesByKey", [](P& p, N& n, C&) { n.taint("gpu"), p.tolerate("gpu"); }, "", ""}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Resources, FitTest,
    testing::Values(
        FitCase{"FitsExactly", [](P& p, N&, C&) { p.cpu(4000).memory(4000); }, "", ""},
        FitCase{"RefusesOneMilliTooMuch", [](P& p, N&, C&) { p.cpu(4001); }, "InsufficientResource",
                "InsufficientResource"},
        FitCase{"CountsWhatOthersHold", [](P& p, N&, C& c) { p.cpu(3901), c.add(P("other").on("n").cpu(100)); },
                "InsufficientResource", "InsufficientResource"},
        FitCase{"IgnoresTerminalPods",
                [](P& p, N&, C& c) { p.cpu(4000), c.add(P("done").on("n").cpu(100).phase(api::PodPhase::kSucceeded)); },
                "", ""},
        FitCase{"RefusesAnUnknownResource", [](P& p, N&, C&) { p.request("x/gpu", 1000); }, "InsufficientResource",
                "InsufficientResource"},
        FitCase{"FitsZeroOfAnUnknownResource", [](P& p, N&, C&) { p.request("x/gpu", 0); }, "", ""},
        FitCase{"FitsAnOfferedResource", [](P& p, N& n, C&) { n.offer("x/gpu", 1), p.request("x/gpu", 1000); }, "", ""},
        FitCase{"RefusesWhenPodsAreUsedUp", [](P&, N& n, C& c) { n.sized(4000, 4000, 1), c.add(P("other").on("n")); },
                "TooManyPods", "TooManyPods"},
        FitCase{"RefusesANodeWithoutPods", [](P&, N& n, C&) { n.sized(4000, 4000, 0); }, "TooManyPods", "TooManyPods"},
        // The node is over its memory. Upstream refuses a request of zero bytes there, the scheduler accepts it.
        FitCase{"RefusesZeroOfAnOvercommittedResourceAtBasic",
                [](P& p, N&, C& c) { p.memory(0), c.add(P("other").on("n").memory(4001)); }, "InsufficientResource",
                ""}),
    [](const auto& test) { return test.param.name; });

void host_port(P& pod, std::int32_t port, std::string ip = "", std::string protocol = "TCP") {
  pod.with([&](api::Pod& x) { x.containers[0].host_ports.push_back({std::move(ip), std::move(protocol), port}); });
}

P with_port(std::string name, std::int32_t port, std::string ip = "", std::string protocol = "TCP") {
  P pod(std::move(name));
  host_port(pod.on("n"), port, std::move(ip), std::move(protocol));
  return pod;
}

INSTANTIATE_TEST_SUITE_P(
    Ports, FitTest,
    testing::Values(
        FitCase{"RefusesAPortInUse", [](P& p, N&, C& c) { host_port(p, 80), c.add(with_port("other", 80)); }, "",
                "HostPortInUse"},
        FitCase{"FitsAnotherPort", [](P& p, N&, C& c) { host_port(p, 80), c.add(with_port("other", 81)); }, "", ""},
        FitCase{"FitsAnotherProtocol",
                [](P& p, N&, C& c) { host_port(p, 80), c.add(with_port("other", 80, "", "UDP")); }, "", ""},
        FitCase{"FitsAnotherAddress",
                [](P& p, N&, C& c) { host_port(p, 80, "10.0.0.1"), c.add(with_port("other", 80, "10.0.0.2")); }, "",
                ""},
        FitCase{"RefusesAnAddressWithinAll",
                [](P& p, N&, C& c) { host_port(p, 80, "10.0.0.1"), c.add(with_port("other", 80, "0.0.0.0")); }, "",
                "HostPortInUse"}),
    [](const auto& test) { return test.param.name; });

api::PersistentVolumeClaim claim(std::string volume) {
  api::PersistentVolumeClaim each;
  each.meta.ns = "default";
  each.meta.name = "data";
  each.volume_name = std::move(volume);
  return each;
}

api::PersistentVolume zonal_volume(std::string zone) {
  api::PersistentVolume volume;
  volume.meta.name = "pv";
  volume.required_node_terms = {zone_term(api::SelectorOperator::kIn, {std::move(zone)})};
  return volume;
}

api::PersistentVolume labelled_volume(std::string zones) {
  api::PersistentVolume volume;
  volume.meta.name = "pv";
  volume.meta.labels = {{"topology.kubernetes.io/zone", std::move(zones)}};
  return volume;
}

void use_claim(P& pod) {
  pod.with([](api::Pod& x) { x.volumes.push_back({api::VolumeKind::kPersistentVolumeClaim, "data"}); });
}

INSTANTIATE_TEST_SUITE_P(
    Volumes, FitTest,
    testing::Values(FitCase{"RefusesAMissingClaim", [](P& p, N&, C&) { use_claim(p); }, "", "ClaimNotFound"},
                    FitCase{"FitsAnUnboundClaim", [](P& p, N&, C& c) { use_claim(p), c.add(claim("")); }, "", ""},
                    FitCase{"FitsAVolumeOfTheZone",
                            [](P& p, N& n, C& c) {
                              use_claim(p), n.label("zone", "z1"), c.add(claim("pv")).add(zonal_volume("z1"));
                            },
                            "", ""},
                    FitCase{"RefusesAVolumeOfAnotherZone",
                            [](P& p, N& n, C& c) {
                              use_claim(p), n.label("zone", "z2"), c.add(claim("pv")).add(zonal_volume("z1"));
                            },
                            "", "VolumeNodeMismatch"},
                    FitCase{"ReadsSeveralZonesOfALabel",
                            [](P& p, N& n, C& c) {
                              use_claim(p), n.label("topology.kubernetes.io/zone", "z2");
                              c.add(claim("pv")).add(labelled_volume("z1__z2"));
                            },
                            "", ""},
                    FitCase{"RefusesAZoneThatTheLabelLacks",
                            [](P& p, N& n, C& c) {
                              use_claim(p), n.label("topology.kubernetes.io/zone", "z");
                              c.add(claim("pv")).add(labelled_volume("z1__z2"));
                            },
                            "", "VolumeNodeMismatch"}),
    [](const auto& test) { return test.param.name; });

void zones(N& node, C& cluster) {
  node.label("zone", "z1");
  cluster.add(N("same-zone").label("zone", "z1")).add(N("other-zone").label("zone", "z2"));
}

P web(std::string name, std::string node) { return P(std::move(name)).on(std::move(node)).label("app", "web"); }

INSTANTIATE_TEST_SUITE_P(
    AntiAffinity, FitTest,
    testing::Values(
        FitCase{"RefusesAPodOnTheNode",
                [](P& p, N& n, C& c) { zones(n, c), p.anti_affinity("app", "web", "zone"), c.add(web("w", "n")); },
                "AntiAffinity", "AntiAffinity"},
        FitCase{
            "SeesTheWholeDomainForTheSchedulerOnly",
            [](P& p, N& n, C& c) { zones(n, c), p.anti_affinity("app", "web", "zone"), c.add(web("w", "same-zone")); },
            "", "AntiAffinity"},
        FitCase{
            "FitsWhenTheOtherIsInAnotherDomain",
            [](P& p, N& n, C& c) { zones(n, c), p.anti_affinity("app", "web", "zone"), c.add(web("w", "other-zone")); },
            "", ""},
        FitCase{"FitsANodeWithoutTheLabel",
                [](P& p, N&, C& c) { p.anti_affinity("app", "web", "zone"), c.add(web("w", "n")); }, "", ""},
        FitCase{"LooksAtItsOwnNamespace",
                [](P& p, N& n, C& c) {
                  zones(n, c), p.anti_affinity("app", "web", "zone"), c.add(web("w", "n").ns("other"));
                },
                "", ""},
        FitCase{"TakesSameNamesForOnePodAtBasicOnly",
                [](P& p, N& n, C& c) {
                  zones(n, c), c.add(web("p", "n").ns("other"));
                  p.anti_affinity("app", "web", "zone").affinity([](api::Affinity& a) {
                    a.required_pod_anti_affinity[0].namespaces = {"other"};
                  });
                },
                "", "AntiAffinity"},
        FitCase{"ChoosesNamespacesByLabelsForTheSchedulerOnly",
                [](P& p, N& n, C& c) {
                  zones(n, c), c.add(web("w", "n").ns("other")).add_namespace("other", {{"team", "a"}});
                  p.anti_affinity("app", "web", "zone").affinity([](api::Affinity& a) {
                    a.required_pod_anti_affinity[0].namespace_selector = labels_in("team", {"a"});
                  });
                },
                "", "AntiAffinity"},
        FitCase{"HearsTheOthersForTheSchedulerOnly",
                [](P& p, N& n, C& c) {
                  zones(n, c), p.label("app", "web"), c.add(P("w").on("same-zone").anti_affinity("app", "web", "zone"));
                },
                "", "ExistingAntiAffinity"},
        FitCase{
            "IsNotItsOwnNeighbour",
            [](P& p, N& n, C& c) { zones(n, c), p.label("app", "web").anti_affinity("app", "web", "zone").on("n"); },
            "", ""}),
    [](const auto& test) { return test.param.name; });

void require_web(P& pod) {
  pod.affinity([](api::Affinity& affinity) {
    api::PodAffinityTerm& term = affinity.required_pod_affinity.emplace_back();
    term.label_selector = labels_in("app", {"web"});
    term.topology_key = "zone";
  });
}

INSTANTIATE_TEST_SUITE_P(
    Affinity, FitTest,
    testing::Values(FitCase{"FollowsThePodsItAsksFor",
                            [](P& p, N& n, C& c) { zones(n, c), require_web(p), c.add(web("w", "same-zone")); }, "",
                            ""},
                    FitCase{"RefusesOtherDomains",
                            [](P& p, N& n, C& c) { zones(n, c), require_web(p), c.add(web("w", "other-zone")); }, "",
                            "AffinityUnsatisfied"},
                    FitCase{"RefusesWhenNobodyIsThere", [](P& p, N& n, C& c) { zones(n, c), require_web(p); }, "",
                            "AffinityUnsatisfied"},
                    FitCase{"AllowsTheFirstOfItsKind",
                            [](P& p, N& n, C& c) { zones(n, c), require_web(p), p.label("app", "web"); }, "", ""},
                    FitCase{"RefusesTheFirstOfItsKindWithoutTheLabel",
                            [](P& p, N&, C&) { require_web(p), p.label("app", "web"); }, "", "AffinityUnsatisfied"}),
    [](const auto& test) { return test.param.name; });

void spread(P& pod, std::function<void(api::TopologySpreadConstraint&)> change = {}) {
  pod.label("app", "web").with([&](api::Pod& x) {
    api::TopologySpreadConstraint& constraint = x.topology_spread.emplace_back();
    constraint.topology_key = "zone";
    constraint.label_selector = labels_in("app", {"web"});
    if (change) change(constraint);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Spread, FitTest,
    testing::Values(
        FitCase{"FitsWithinTheSkew", [](P& p, N& n, C& c) { zones(n, c), spread(p); }, "", ""},
        FitCase{"RefusesMoreThanTheSkew",
                [](P& p, N& n, C& c) { zones(n, c), spread(p), c.add(web("w", "same-zone")); }, "", "TopologySpread"},
        FitCase{"FitsWhenTheOtherDomainHasOneToo",
                [](P& p, N& n, C& c) { zones(n, c), spread(p), c.add(web("v", "n")).add(web("w", "other-zone")); }, "",
                ""},
        FitCase{"RefusesANodeWithoutTheKey", [](P& p, N&, C&) { spread(p); }, "", "TopologySpread"},
        FitCase{"IgnoresScheduleAnyway",
                [](P& p, N&, C&) { spread(p, [](auto& constraint) { constraint.schedule_anyway = true; }); }, "", ""},
        FitCase{"CountsNoTerminatingPods",
                [](P& p, N& n, C& c) { zones(n, c), spread(p), c.add(web("w", "n").terminating()); }, "", ""},
        FitCase{"TakesTooFewDomainsForAnEmptyOne",
                [](P& p, N& n, C& c) {
                  zones(n, c), spread(p, [](auto& constraint) { constraint.min_domains = 3; });
                  c.add(web("v", "n")).add(web("w", "other-zone"));
                },
                "", "TopologySpread"},
        FitCase{"CountsNobodyForASelectorThatAsksForNothing",
                [](P& p, N& n, C& c) {
                  zones(n, c), c.add(web("w", "n")), spread(p, [](auto& x) { x.label_selector->requirements.clear(); });
                },
                "", ""},
        FitCase{"CountsItsRevisionForASelectorThatAsksForNothingElse",
                [](P& p, N& n, C& c) {
                  zones(n, c), p.label("rev", "2"), c.add(web("w", "n").label("rev", "2"));
                  spread(p, [](auto& x) { x.label_selector->requirements.clear(), x.match_label_keys = {"rev"}; });
                },
                "", "TopologySpread"},
        FitCase{"LeavesOutNodesThatAnotherConstraintDoesNotKnow",
                [](P& p, N& n, C& c) {
                  zones(n, c), n.label("rack", "r"), c.add(web("w", "n"));
                  spread(p), spread(p, [](auto& constraint) { constraint.topology_key = "rack"; });
                },
                "", ""},
        FitCase{"LeavesOutNodesOfOtherLabels",
                [](P& p, N& n, C& c) {
                  zones(n, c), n.label("disk", "ssd"), spread(p), c.add(web("w", "n"));
                  p.with([](api::Pod& x) { x.node_selector = {{"disk", "ssd"}}; });
                },
                "", ""},
        FitCase{"CountsThemWhenThePolicyIsIgnore",
                [](P& p, N& n, C& c) {
                  zones(n, c), n.label("disk", "ssd"), c.add(web("w", "n"));
                  spread(p, [](auto& constraint) { constraint.honor_node_affinity = false; });
                  p.with([](api::Pod& x) { x.node_selector = {{"disk", "ssd"}}; });
                },
                "", "TopologySpread"},
        FitCase{"CountsPodsOfItsRevisionOnly",
                [](P& p, N& n, C& c) {
                  zones(n, c), p.label("rev", "2"), c.add(web("w", "n").label("rev", "1"));
                  spread(p, [](auto& constraint) { constraint.match_label_keys = {"rev"}; });
                },
                "", ""}),
    [](const auto& test) { return test.param.name; });

TEST(Predicates, AreInTheOrderOfTheContract) {
  EXPECT_THAT(kBasicPredicates, testing::ElementsAre(refuse_cordoned, refuse_node_terms, refuse_taints,
                                                     refuse_neighbours, refuse_shortage));
}

TEST(FirstRefusal, NamesTheFirstOfSeveralObjections) {
  const auto cluster =
      ClusterBuilder().add(NodeBuilder("n").cordoned().taint("gpu")).add(PodBuilder("p").cpu(9000)).build();
  const WhatIf what_if(*cluster);
  EXPECT_EQ(first_refusal(what_if, 0, 0, FitLevel::kBasic)->reason, "NodeCordoned");
}

TEST(FirstRefusal, ReportsTheNumbers) {
  const auto cluster = ClusterBuilder().add(NodeBuilder("n")).add(PodBuilder("p").cpu(9000)).build();
  const WhatIf what_if(*cluster);
  EXPECT_EQ(first_refusal(what_if, 0, 0, FitLevel::kBasic)->message(), "needs 9000m of cpu, 4000m are free");
}

TEST(FirstRefusal, SkipsResourcesOnThePodsOwnNodeAtBasic) {
  const auto cluster = ClusterBuilder().add(NodeBuilder("n")).add(PodBuilder("p").on("n").cpu(9000)).build();
  const WhatIf what_if(*cluster);
  EXPECT_FALSE(first_refusal(what_if, 0, 0, FitLevel::kBasic));
  EXPECT_TRUE(first_refusal(what_if, 0, 0, FitLevel::kScheduler));
}

TEST(FirstRefusal, DoesNotCountThePodAgainstItself) {
  const auto cluster =
      ClusterBuilder().add(NodeBuilder("n").sized(4000, 4000, 1)).add(PodBuilder("p").on("n").cpu(3000)).build();
  const WhatIf what_if(*cluster);
  EXPECT_FALSE(first_refusal(what_if, 0, 0, FitLevel::kScheduler));
}

TEST(FirstRefusal, SeesMovesOfTheWhatIf) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n"))
                           .add(NodeBuilder("m"))
                           .add(PodBuilder("big").on("m").cpu(3000))
                           .add(PodBuilder("p").cpu(2000))
                           .build();
  WhatIf what_if(*cluster);
  const PodIndex pod = cluster->find_pod("default", "p").value();
  const NodeIndex n = cluster->find_node("n").value();
  EXPECT_FALSE(first_refusal(what_if, pod, n, FitLevel::kScheduler));
  what_if.move(cluster->find_pod("default", "big").value(), n);
  EXPECT_TRUE(first_refusal(what_if, pod, n, FitLevel::kScheduler));
}

TEST(FitsAnotherNode, ExcludesTheCurrentNode) {
  const auto cluster =
      ClusterBuilder().add(NodeBuilder("n")).add(NodeBuilder("m").cordoned()).add(PodBuilder("p").on("n")).build();
  const WhatIf what_if(*cluster);
  const std::vector<NodeIndex> nodes = {0, 1};
  EXPECT_FALSE(find_other_node(what_if, 0, nodes, FitLevel::kBasic));
}

struct TermsCase {
  std::string name;
  std::vector<api::NodeSelectorTerm> terms;
  std::string disk;  ///< Value of the node's disk label
  NodeTermsMatch want;
};

class NodeTermsTest : public testing::TestWithParam<TermsCase> {};

/// The pod selects nodes in zone z. The node is in zone z and has the disk of the case.
TEST_P(NodeTermsTest, DistinguishesMalformedFromNonMatchingTerms) {
  const auto pod =
      PodBuilder("p").affinity([](api::Affinity& affinity) { affinity.required_node_terms = GetParam().terms; });
  EXPECT_EQ(match_node_terms(pod.build(), NodeBuilder("n").label("disk", GetParam().disk).build()), GetParam().want);
  auto elsewhere = pod;
  elsewhere.with([](api::Pod& object) { object.node_selector = {{"zone", "z"}}; });
  EXPECT_EQ(match_node_terms(elsewhere.build(), NodeBuilder("n").label("disk", GetParam().disk).build()),
            NodeTermsMatch::kNo)
      << "nodeSelector decides first";
}

api::NodeSelectorTerm disk_term(api::SelectorOperator op, std::vector<std::string> values) {
  return {{{"disk", op, std::move(values)}}, {}};
}

INSTANTIATE_TEST_SUITE_P(
    NodeTerms, NodeTermsTest,
    testing::Values(
        TermsCase{"Match", {disk_term(api::SelectorOperator::kIn, {"ssd"})}, "ssd", NodeTermsMatch::kYes},
        TermsCase{"NoMatch", {disk_term(api::SelectorOperator::kIn, {"ssd"})}, "hdd", NodeTermsMatch::kNo},
        TermsCase{"NoTerms", {}, "ssd", NodeTermsMatch::kNo}, TermsCase{"EmptyTerm", {{}}, "ssd", NodeTermsMatch::kNo},
        TermsCase{"MalformedTerm", {disk_term(api::SelectorOperator::kGt, {"x"})}, "ssd", NodeTermsMatch::kMalformed},
        TermsCase{"MalformedAndMatching",
                  {disk_term(api::SelectorOperator::kGt, {"x"}), disk_term(api::SelectorOperator::kIn, {"ssd"})},
                  "ssd",
                  NodeTermsMatch::kYes},
        TermsCase{"FieldOfTwoValues",
                  {{{}, {{"metadata.name", api::SelectorOperator::kIn, {"a", "b"}}}}},
                  "ssd",
                  NodeTermsMatch::kMalformed}),
    [](const auto& test) { return test.param.name; });

// --- host ports

std::vector<api::HostPort> some_ports(std::mt19937& random) {
  static const std::vector<std::string> kAddresses = {"", "0.0.0.0", "10.0.0.1", "10.0.0.2"};
  std::vector<api::HostPort> ports(random() % 6);
  for (api::HostPort& port : ports)
    port = {kAddresses[random() % kAddresses.size()], random() % 2 == 0 ? "TCP" : "UDP",
            static_cast<std::int32_t>(1 + random() % 4)};
  return ports;
}

bool overlap(const api::HostPort& a, const api::HostPort& b) {
  const auto is_any = [](const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; };
  return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || is_any(a.ip) || is_any(b.ip));
}

/// Compares every port of one pod with every port of the other.
TEST(HostPorts, ConflictIfTheyOverlap) {
  int taken = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const auto wanted = some_ports(random);
    const auto held = some_ports(random);
    const auto with = [](const std::vector<api::HostPort>& ports) {
      return [&ports](api::Pod& pod) { pod.containers[0].host_ports = ports; };
    };
    const auto cluster = ClusterBuilder()
                             .add(NodeBuilder("n"))
                             .add(PodBuilder("held").on("n").with(with(held)))
                             .add(PodBuilder("wanted").with(with(wanted)))
                             .build();
    const bool want = std::ranges::any_of(wanted, [&](const api::HostPort& port) {
      return std::ranges::any_of(held, [&](const api::HostPort& other) { return overlap(port, other); });
    });
    const auto refusal =
        first_refusal(WhatIf(*cluster), cluster->find_pod("default", "wanted").value(), 0, FitLevel::kScheduler);
    EXPECT_EQ(refusal.has_value(), want) << "seed " << seed;
    taken += want ? 1 : 0;
  }
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 450);
}

// --- labels that no node has

TEST(Topologies, OfLabelsThatNoNodeHasAreOne) {
  const auto cluster = ClusterBuilder().add(NodeBuilder("n").label("zone", "a")).add(NodeBuilder("m")).build();
  const WhatIf what_if(*cluster);
  EXPECT_EQ(&what_if.topology("rack"), &what_if.topology("row"));
  EXPECT_NE(&what_if.topology("rack"), &what_if.topology("zone"));
  EXPECT_FALSE(what_if.topology("rack").covers_all);
  EXPECT_THAT(what_if.topology("rack").domain_of, testing::Each(Topology::kNone));
}

TEST(Topologies, OfLabelsThatNoNodeHasCloseNoDomains) {
  PodBuilder pod("p");
  for (int i = 0; i < 200; ++i) pod.anti_affinity("app", "web", "key-" + std::to_string(i));
  const auto cluster = ClusterBuilder().add(NodeBuilder("n")).add(pod.label("app", "web")).build();
  const WhatIf what_if(*cluster);
  const FitQuery query(what_if, 0, FitLevel::kScheduler);
  EXPECT_TRUE(query.closed_domains().empty());
  EXPECT_TRUE(query.fits(0));
}

TEST(Topologies, ConstraintsOverLabelsThatNoNodeHasShareOneTopology) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n"))
                           .add(PodBuilder("p").with([](api::Pod& pod) {
                             for (int i = 0; i < 200; ++i) {
                               api::TopologySpreadConstraint constraint;
                               constraint.topology_key = "key-" + std::to_string(i);
                               pod.topology_spread.push_back(constraint);
                             }
                           }))
                           .build();
  EXPECT_EQ(patchy_topologies(cluster->pod(0), false, WhatIf(*cluster)).size(), 1U);
}

}  // namespace predicates_test
}  // namespace scheduling
