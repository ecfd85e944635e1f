#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "planner/strategies/spread/rules.hpp"
#include "test/builders/strategy_run.hpp"

namespace strategies {
namespace topology_spread_test {

using builders::ClusterBuilder;
using builders::labels_in;
using builders::NodeBuilder;
using builders::PodBuilder;
using builders::RecordingSink;
using builders::StrategyRun;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kSpread = "RemovePodsViolatingTopologySpreadConstraint";
constexpr auto kUpstream = api::Compatibility::kUpstream;

api::TopologySpreadConstraint over(std::string key, std::int32_t max_skew = 1) {
  api::TopologySpreadConstraint constraint;
  constraint.max_skew = max_skew;
  constraint.topology_key = std::move(key);
  constraint.label_selector = labels_in("app", {"web"});
  return constraint;
}

PodBuilder web(const std::string& name, std::string node, std::vector<api::TopologySpreadConstraint> constraints) {
  return PodBuilder(name).on(std::move(node)).cpu(10).label("app", "web").with([&](api::Pod& pod) {
    pod.topology_spread = std::move(constraints);
  });
}

NodeBuilder zoned(const std::string& name, const std::string& zone) {
  return NodeBuilder(name).sized(100000, 100000, 1000).label("zone", zone);
}

std::string number(std::size_t i) { return (i < 10 ? "0" : "") + std::to_string(i); }

/// Zones with one node each. Zone z<i> has sizes[i] pods named p<i>-<n>.
ClusterBuilder zones_of(const std::vector<int>& sizes, const std::vector<api::TopologySpreadConstraint>& constraints) {
  ClusterBuilder builder;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    builder.add(zoned("n" + number(i), "z" + number(i)));
    for (int k = 0; k < sizes[i]; ++k) {
      builder.add(web("p" + number(i) + "-" + number(static_cast<std::size_t>(k)), "n" + number(i), constraints));
    }
  }
  return builder;
}

std::vector<std::string> nominated(const ClusterBuilder& builder, api::Compatibility compatibility,
                                   const std::string& args = "{}") {
  StrategyRun run(builder);
  run.compatibility = compatibility;
  return run.run(kSpread, args).sink.accepted;
}

struct BalanceCase {
  std::string name;
  std::vector<int> sizes;
  std::int32_t max_skew;
  std::size_t want;   ///< Number of moves for upstream (semantics, appendix B)
  std::size_t fixed;  ///< Number of moves by default
};

class SpreadBalanceTest : public testing::TestWithParam<BalanceCase> {};

TEST_P(SpreadBalanceTest, BalancesDomains) {
  const auto cluster = zones_of(GetParam().sizes, {over("zone", GetParam().max_skew)});
  EXPECT_THAT(nominated(cluster, kUpstream), SizeIs(GetParam().want));
  EXPECT_THAT(nominated(cluster, api::Compatibility::kNone), SizeIs(GetParam().fixed));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, SpreadBalanceTest,
    testing::Values(BalanceCase{"Even", {1, 2}, 1, 0, 0}, BalanceCase{"ByTwo", {1, 3}, 1, 1, 1},
                    BalanceCase{"ByThree", {2, 5}, 1, 1, 1}, BalanceCase{"Empty", {0, 4}, 1, 2, 2},
                    BalanceCase{"WideSkew", {2, 6}, 2, 1, 1}, BalanceCase{"TwoFull", {0, 7, 8}, 1, 5, 5},
                    BalanceCase{"Same", {5, 5, 5}, 1, 0, 0}, BalanceCase{"Lopsided", {0, 1, 100}, 1, 66, 66},
                    BalanceCase{"Stairs", {0, 1, 3, 5}, 1, 3, 3}, BalanceCase{"Many", {0, 0, 0, 2, 3, 3}, 1, 4, 3}),
    [](const auto& test) { return test.param.name; });

TEST(TopologySpread, ReportsTheReasonWithNumbers) {
  StrategyRun run(zones_of({1, 3}, {over("zone")}));
  run.run(kSpread, "{}");
  EXPECT_EQ(run.sink.reasons.begin()->second, "zone z01 contains 3 pods of its kind, 2 are allowed by maxSkew 1");
}

TEST(TopologySpread, TakesTheLowestPriorityFirstAndUpstreamTheHighest) {
  ClusterBuilder cluster = zones_of({1}, {over("zone")});
  cluster.add(zoned("n01", "z01"));
  for (const int priority : {5, 1, 9}) {
    cluster.add(web("prio-" + std::to_string(priority), "n01", {over("zone")}).priority(priority));
  }
  EXPECT_THAT(nominated(cluster, api::Compatibility::kNone), ElementsAre("prio-1"));
  EXPECT_THAT(nominated(cluster, kUpstream), ElementsAre("prio-9"));
}

TEST(TopologySpread, CountsProtectedPodsLikeTheScheduler) {
  ClusterBuilder cluster = zones_of({0, 2}, {over("zone")});
  for (const char* name : {"d1", "d2"}) cluster.add(web(name, "n00", {over("zone")}).owned_by("DaemonSet", "d"));
  EXPECT_THAT(nominated(cluster, api::Compatibility::kNone), IsEmpty()) << "2 and 2";
  EXPECT_THAT(nominated(cluster, kUpstream), SizeIs(1)) << "0 and 2";
}

TEST(TopologySpread, IgnoresAnEmptySelectorLikeTheScheduler) {
  api::TopologySpreadConstraint all = over("zone");
  all.label_selector = api::LabelSelector{};
  const ClusterBuilder cluster = zones_of({1, 5}, {all});
  EXPECT_THAT(nominated(cluster, api::Compatibility::kNone), IsEmpty());
  EXPECT_THAT(nominated(cluster, kUpstream), SizeIs(2)) << "upstream counts every pod of the namespace";
}

TEST(TopologySpread, ObeysMinDomains) {
  // Two zones with minDomains 3: the minimum counts as 0, so that each zone may have one pod.
  auto constraint = over("zone");
  constraint.min_domains = 3;
  const auto cluster = zones_of({2, 2}, {constraint});
  EXPECT_THAT(nominated(cluster, kUpstream), IsEmpty());
  EXPECT_THAT(nominated(cluster, api::Compatibility::kNone), IsEmpty())
      << "no move would help: nothing has free capacity";
  auto lopsided = zones_of({0, 2}, {constraint});
  EXPECT_THAT(nominated(lopsided, api::Compatibility::kNone), SizeIs(1));
}

TEST(TopologySpread, MovesTheNextPodIfOneFitsNowhere) {
  ClusterBuilder cluster = zones_of({0, 2}, {over("zone")});
  StrategyRun run(cluster.add(web("a-huge", "n01", {over("zone")}).cpu(200000)));
  run.run(kSpread, "{}");
  EXPECT_THAT(run.sink.accepted, ElementsAre("p01-00"));
  EXPECT_EQ(run.sink.refusals.at("a-huge"), "NoDomainHasCapacity");
  EXPECT_THAT(run.sink.details.at("a-huge"), testing::HasSubstr("1 of 1 nodes: ")) << "why it does not fit there";
}

struct StuckCase {
  std::string name;
  std::int64_t capacity;  ///< CPU of the empty zone's node, in thousandths. A pod requests 10.
  bool is_cordoned;       ///< Whether the full zone's node is cordoned
  std::string says;       ///< Details of the refusal
};

class StuckSpreadTest : public testing::TestWithParam<StuckCase> {};

TEST_P(StuckSpreadTest, ReportsWhatKeepsPods) {
  ClusterBuilder cluster;
  NodeBuilder full = zoned("n0", "z0");
  cluster.add(GetParam().is_cordoned ? full.cordoned() : full);
  cluster.add(zoned("n1", "z1").sized(GetParam().capacity, 100000, 1000));
  for (const char* pod : {"a", "b", "c", "d"}) cluster.add(web(pod, "n0", {over("zone")}));
  StrategyRun run(cluster);
  run.run(kSpread, "{}");
  EXPECT_THAT(run.sink.accepted, IsEmpty());
  ASSERT_THAT(run.sink.refusals, SizeIs(4));
  for (const auto& [pod, reason] : run.sink.refusals) {
    EXPECT_EQ(reason, "NoDomainHasCapacity") << pod;
    EXPECT_THAT(run.sink.details.at(pod), testing::HasSubstr(GetParam().says)) << pod;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Where, StuckSpreadTest,
    testing::Values(StuckCase{"NothingFits", 5, false, "1 of 1 nodes: "},
                    StuckCase{"TheMoveClosesTheLastNode", 15, true,
                              "on n1 the replacement would leave no node where the constraints (DoNotSchedule) allow a "
                              "further pod"}),
    [](const auto& test) { return test.param.name; });

TEST(TopologySpread, NamesEachReasonThatKeepsPodsFromNodes) {
  // n1 has capacity for one pod but would then be full. n2 has capacity for none.
  ClusterBuilder cluster;
  cluster.add(zoned("n0", "z0").cordoned());
  cluster.add(zoned("n1", "z1").sized(15, 100000, 1000)).add(zoned("n2", "z1").sized(5, 100000, 1000));
  for (const char* pod : {"a", "b", "c", "d"}) cluster.add(web(pod, "n0", {over("zone")}));
  StrategyRun run(cluster);
  run.run(kSpread, "{}");
  EXPECT_THAT(run.sink.details.at("a"), testing::AllOf(testing::HasSubstr("1 of 1 nodes: "), testing::HasSubstr("(n2)"),
                                                       testing::HasSubstr("; on n1 the replacement would leave")));
}

TEST(TopologySpread, SolvesSeveralConstraintsTogether) {
  // Zones with 4 and 2 pods need one move. Hosts: n0 2, n1 2, n2 2, n3 0. Only n3 helps both constraints.
  const std::vector<api::TopologySpreadConstraint> both = {over("zone"), over("kubernetes.io/hostname", 2)};
  ClusterBuilder cluster;
  cluster.add(zoned("n0", "a")).add(zoned("n1", "a")).add(zoned("n2", "b")).add(zoned("n3", "b"));
  for (const char* node : {"n0", "n1", "n2"}) {
    for (const char* pod : {"x", "y"}) cluster.add(web(std::string(node) + pod, node, both));
  }
  EXPECT_THAT(nominated(cluster, api::Compatibility::kNone), SizeIs(1));
}

TEST(TopologySpread, OmitsNodesThatLackTheTopologyOfAnotherConstraint) {
  const std::vector<api::TopologySpreadConstraint> both = {over("zone"), over("kubernetes.io/hostname")};
  ClusterBuilder cluster;
  cluster.add(zoned("n0", "a")).add(zoned("n1", "b")).add(NodeBuilder("n2").sized(100000, 100000, 1000));
  for (const char* node : {"n0", "n1"}) {
    for (const char* pod : {"x", "y"}) cluster.add(web(std::string(node) + pod, node, both));
  }
  EXPECT_THAT(nominated(cluster, api::Compatibility::kNone), IsEmpty()) << "the scheduler does not count n2";
}

/// Each constraint has its own maxSkew. Constraints beyond the limit are ignored and reported, the others are enforced.
TEST(TopologySpread, BoundsTheConstraintsOverOneSelector) {
  ClusterBuilder builder;
  builder.add(zoned("n0", "z0")).add(zoned("n1", "z1"));
  for (std::int32_t i = 0; i < 100; ++i)
    builder.add(web("p" + number(static_cast<std::size_t>(i)), "n0", {over("zone", i == 0 ? 1 : 1000 + i)}));
  for (const auto compatibility : {api::Compatibility::kNone, kUpstream}) {
    StrategyRun run(builder);
    run.compatibility = compatibility;
    const RecordingSink& sink = run.run(kSpread, "{}").sink;
    EXPECT_THAT(sink.accepted, SizeIs(50));
    const auto is_ignored = [](const auto& each) { return each.second == "TooManySpreadRules"; };
    EXPECT_EQ(std::ranges::count_if(sink.refusals, is_ignored), 100 - 64);
  }
}

// --- time and memory

/// Runs out of time after the given number of is_out_of_time() calls.
class ImpatientSink final : public NominationSink {
 public:
  explicit ImpatientSink(std::size_t questions) : questions_(questions) {}
  NominationResult offer(PodIndex, std::string_view) override { return NominationResult::kRefused; }
  void refused(PodIndex, const scheduling::Refusal& refusal) override { reasons.insert(refusal.reason); }
  void report(CountReport) override { has_counts = true; }
  using NominationSink::report;
  bool is_out_of_time(PodIndex) override { return ++asked > questions_; }

  std::size_t asked = 0;
  std::set<std::string_view> reasons;
  bool has_counts = false;

 private:
  std::size_t questions_;
};

void nominate_to(NominationSink& sink, const ClusterBuilder& builder, api::Compatibility compatibility) {
  const auto cluster = builder.build();
  const scheduling::WhatIf what_if(*cluster);
  api::FieldErrors errors;
  const api::Evictability evictability;
  const scheduling::EvictabilityRules rules(evictability, *cluster, builders::kNoon, errors, compatibility);
  std::vector<NodeIndex> nodes;
  for (const NodeIndex node : cluster->nodes()) nodes.push_back(node);
  const StrategySpecs parsed = parse_strategies({{kSpread, "{}"}});
  EXPECT_TRUE(
      static_cast<bool>(parsed.runnable.front().strategy->nominate({what_if, nodes, rules, builders::kNoon}, sink)));
}

ImpatientSink ask(const ClusterBuilder& builder, api::Compatibility compatibility, std::size_t questions) {
  ImpatientSink sink(questions);
  nominate_to(sink, builder, compatibility);
  return sink;
}

/// Counting takes time that is charged to the namespace.
TEST(TopologySpread, AsksForTimeBeforeItCountsForARule) {
  ClusterBuilder builder;
  builder.add(zoned("n0", "z0")).add(zoned("n1", "z1"));
  for (std::int32_t i = 0; i < 60; ++i)
    builder.add(web("p" + number(static_cast<std::size_t>(i)), "n0", {over("zone", 1000 + i)}));
  for (const auto compatibility : {api::Compatibility::kNone, kUpstream}) {
    EXPECT_GT(ask(builder, compatibility, 1000).asked, 60U);
    EXPECT_TRUE(ask(builder, compatibility, 1000).has_counts);
    const ImpatientSink hurried = ask(builder, compatibility, 30);
    EXPECT_LE(hurried.asked, 33U) << "none of its other rules is looked at";
    EXPECT_THAT(hurried.reasons, ElementsAre("CycleTimeout"));
    const ImpatientSink late = ask(builder, compatibility, 0);
    EXPECT_LE(late.asked, 3U);
    EXPECT_THAT(late.reasons, ElementsAre("CycleTimeout"));
    EXPECT_FALSE(late.has_counts);
  }
}

/// Each rule has its own node affinity, which has to be evaluated for all nodes.
TEST(TopologySpread, BoundsTheComparisonsOfNodesWithAffinities) {
  ClusterBuilder builder;
  for (std::size_t i = 0; i < 1000; ++i) builder.add(zoned("n" + number(i), "z"));
  for (std::size_t i = 0; i < 50; ++i) {
    builder.add(web("p" + number(i), "n00", {over("zone")}).with([&](api::Pod& pod) {
      api::SelectorRequirement requirement{"absent", api::SelectorOperator::kIn, {number(i)}};
      requirement.values.resize(4000, "x");
      api::Affinity affinity;
      affinity.required_node_terms.emplace().push_back({{requirement}, {}});
      pod.affinity = std::make_shared<const api::Affinity>(affinity);
    }));
  }
  for (const auto compatibility : {api::Compatibility::kNone, kUpstream})
    EXPECT_THAT(ask(builder, compatibility, 1000).reasons, testing::Contains("TooManySpreadRules"));
}

/// Every node is a domain.
TEST(TopologySpread, BoundsTheMemoryOfDomains) {
  ClusterBuilder builder;
  for (std::size_t i = 0; i < 1000; ++i) builder.add(NodeBuilder("n" + number(i)));
  const auto cluster = builder.build();
  const scheduling::WhatIf what_if(*cluster);
  const std::vector<NodeIndex> nodes = [&] {
    std::vector<NodeIndex> all;
    for (const NodeIndex node : cluster->nodes()) all.push_back(node);
    return all;
  }();
  SpreadDomainCache cache(what_if, nodes, false);
  const auto constraint = over("kubernetes.io/hostname");
  std::vector<api::Pod> owners(2000);
  std::size_t entries = 0;
  for (cache.begin_namespace(); cache.takes_more() && entries < owners.size(); ++entries) {
    owners[entries].node_selector = api::StringMap{{"absent", number(entries)}};
    cache.domains_of({&constraint, &owners[entries], {}});
  }
  EXPECT_THAT(entries, testing::AllOf(testing::Gt(100U), testing::Lt(1000U)));
  cache.begin_namespace();
  EXPECT_TRUE(cache.takes_more()) << "the next namespace has memory of its own";
}

TEST(TopologySpread, IgnoresScheduleAnywayUnlessRequested) {
  auto soft = over("zone");
  soft.schedule_anyway = true;
  const auto cluster = zones_of({0, 4}, {soft});
  for (const auto compatibility : {api::Compatibility::kNone, kUpstream}) {
    EXPECT_THAT(nominated(cluster, compatibility), IsEmpty());
    EXPECT_THAT(nominated(cluster, compatibility, R"({"constraints":["ScheduleAnyway"]})"), SizeIs(2));
  }
}

TEST(TopologySpread, CountsOnlyItsRevisionWithMatchLabelKeys) {
  auto constraint = over("zone");
  constraint.match_label_keys = {"hash"};
  ClusterBuilder cluster;
  cluster.add(zoned("n0", "a")).add(zoned("n1", "b"));
  for (const char* name : {"o1", "o2", "o3"}) cluster.add(web(name, "n0", {constraint}).label("hash", "old"));
  for (const char* name : {"m1", "m2", "m3"}) cluster.add(web(name, "n1", {constraint}).label("hash", "new"));
  for (const auto compatibility : {api::Compatibility::kNone, kUpstream}) {
    EXPECT_THAT(nominated(cluster, compatibility), SizeIs(2)) << "one of each revision";
  }
}

TEST(TopologySpread, SkipsANodeAtItsLimitAndContinues) {
  ClusterBuilder cluster = zones_of({0, 4, 4}, {over("zone")});
  StrategyRun run(cluster);
  run.compatibility = kUpstream;
  run.sink.answer = [](const api::Pod& pod) {
    return pod.node_name.value == "n01" ? NominationResult::kNodeLimit : NominationResult::kAccepted;
  };
  run.run(kSpread, "{}");
  EXPECT_FALSE(run.sink.accepted.empty());
  for (const std::string& name : run.sink.accepted) EXPECT_EQ(name.substr(0, 3), "p02");
}

TEST(TopologySpread, EndsAtTheTotalLimit) {
  for (const auto compatibility : {api::Compatibility::kNone, kUpstream}) {
    StrategyRun run(zones_of({0, 9}, {over("zone")}));
    run.compatibility = compatibility;
    run.sink.answer = [](const api::Pod&) { return NominationResult::kTotalLimit; };
    EXPECT_THAT(run.run(kSpread, "{}").sink.offered, SizeIs(1));
  }
}

// --- refusals of the strict and of the relaxed pass

/// Refuses the first offers with SchedulerDisagrees and accepts the others.
class DisagreeingSink final : public NominationSink, public PlanSink {
 public:
  PlanSink& plan() override { return *this; }
  const PlanSink& plan() const override { return *this; }
  explicit DisagreeingSink(std::size_t disagreements) : disagreements_(disagreements) {}
  NominationResult offer(PodIndex pod, std::string_view) override {
    if (++offers > disagreements_) return NominationResult::kAccepted;
    constexpr scheduling::Refusal kDisagrees{"SchedulerDisagrees", "the scheduler prefers another node"};
    handler_ ? handler_(kDisagrees) : refused(pod, kDisagrees);
    return NominationResult::kRefused;
  }
  void defer_disagreements(DisagreementHandler handler) override { handler_ = std::move(handler); }
  void refused(PodIndex pod, const scheduling::Refusal& refusal) override {
    refusals.emplace_back(pod, refusal.reason);
  }

  std::size_t offers = 0;
  std::vector<std::pair<PodIndex, std::string_view>> refusals;

 private:
  std::size_t disagreements_;
  DisagreementHandler handler_;
};

struct PassesCase {
  const char* name;
  std::size_t disagreements;
  std::size_t offers;
  std::size_t refusals;
};

class SpreadPasses : public testing::TestWithParam<PassesCase> {};

/// Zones with 0 and 3 pods and maxSkew 1 need one move.
TEST_P(SpreadPasses, ReportTheDisagreementsOfTheLastPass) {
  DisagreeingSink sink(GetParam().disagreements);
  nominate_to(sink, zones_of({0, 3}, {over("zone")}), api::Compatibility::kNone);
  EXPECT_EQ(sink.offers, GetParam().offers);
  EXPECT_THAT(sink.refusals, SizeIs(GetParam().refusals));
  std::set<PodIndex> pods;
  for (const auto& [pod, reason] : sink.refusals) {
    EXPECT_EQ(reason, "SchedulerDisagrees");
    pods.insert(pod);
  }
  EXPECT_THAT(pods, SizeIs(GetParam().refusals)) << "each pod is reported once";
}

INSTANTIATE_TEST_SUITE_P(Cases, SpreadPasses,
                         testing::Values(PassesCase{"NoDisagreement", 0, 1, 0},
                                         PassesCase{"StrictPassSucceedsAfterADisagreement", 1, 2, 1},
                                         PassesCase{"RelaxedPassReplacesTheRefusals", 3, 4, 0},
                                         PassesCase{"RelaxedPassSucceedsAfterADisagreement", 4, 5, 1},
                                         PassesCase{"NeitherPassSucceeds", 100, 6, 3}),
                         [](const auto& test) { return test.param.name; });

}  // namespace topology_spread_test
}  // namespace strategies
