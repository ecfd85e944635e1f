#include "planner/plan/plan_builder.hpp"

#include <gmock/gmock.h>

#include "api/meta/well_known.hpp"
#include "planner/strategies/utilization/usage_view.hpp"
#include "test/builders/cluster.hpp"

namespace planner {
namespace plan_builder_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using scheduling::NodeIndex;
using scheduling::PodIndex;
using strategies::Goal;
using strategies::NominationResult;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Inputs of a PlanBuilder.
struct CycleSetup {
  ClusterBuilder cluster;
  api::DeschedulerPolicySpec spec;
  std::vector<PodIdentity> leaving;
  PlanOptions options;
  std::vector<PodIdentity> cooling;
  std::vector<std::string> forbidden;
};

/// A planning cycle in progress, with one strategy "S". Nodes n1, n2 and n3 are in scope.
class Cycle {
 public:
  explicit Cycle(const CycleSetup& setup)
      : cluster_(setup.cluster.build()),
        spec_(setup.spec),
        input_{.spec = spec_,
               .cluster = *cluster_,
               .leaving = setup.leaving,
               .now = kNoon,
               .options = setup.options,
               .cooling = setup.cooling,
               .forbidden = setup.forbidden},
        rules_(spec_.evictability, *cluster_, kNoon, errors_, spec_.compatibility),
        builder_(input_, rules_, {cluster_->nodes().begin(), cluster_->nodes().end()}, plan_) {
    builder_.begin("S");
  }

  PodIndex pod(std::string_view name) const { return cluster_->find_pod("default", name).value(); }
  NodeIndex node(std::string_view name) const { return cluster_->find_node(name).value(); }
  /// Goal that accepts only the named node. "!n1" accepts all nodes except n1, "" accepts any node.
  Goal goal(const std::string& name) const {
    if (name.empty()) return {};
    if (name.front() == '!') return [unwanted = node(name.substr(1))](NodeIndex each) { return each != unwanted; };
    return [wanted = node(name)](NodeIndex each) { return each == wanted; };
  }
  NominationResult offer(const std::string& name, const std::string& towards = "") {
    if (towards.empty()) return builder_.offer(pod(name), "why");
    return builder_.offer_towards(pod(name), "why", goal(towards));
  }
  NominationResult offer_whole(const std::vector<std::string>& names, const std::string& towards) {
    std::vector<PodIndex> pods;
    for (const std::string& name : names) pods.push_back(pod(name));
    return builder_.offer_whole(pods, "why", goal(towards));
  }
  std::int64_t pods_on(const scheduling::WhatIf& what_if, std::string_view name) const {
    return what_if.used().get(node(name), scheduling::kPodsIndex) / 1000;
  }

  PlanBuilder& builder() { return builder_; }
  const Plan& plan() const { return plan_; }

 private:
  std::unique_ptr<const scheduling::ClusterSnapshot> cluster_;
  PlanSpec spec_;
  PlanInput input_;
  api::FieldErrors errors_;
  scheduling::EvictabilityRules rules_;
  Plan plan_;
  PlanBuilder builder_;
};

std::string to_string(NominationResult result) {
  switch (result) {
    case NominationResult::kAccepted: return "Accepted";
    case NominationResult::kNodeLimit: return "NodeLimit";
    case NominationResult::kNamespaceLimit: return "NamespaceLimit";
    case NominationResult::kTotalLimit: return "TotalLimit";
    case NominationResult::kRefused: return "Refused";
  }
  std::abort();
}

/// Pod with its own owner, so that no topology spread applies.
PodBuilder single(const std::string& name) {
  return PodBuilder(name).owned_by("ReplicaSet", name).cpu(1000).label("app", name);
}

/// Pods a and b run on n1, c on n2. n3 is empty. Each node has capacity for four pods.
CycleSetup three_pods(const NodeBuilder& n1 = NodeBuilder("n1")) {
  CycleSetup setup;
  setup.cluster.add(n1).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  setup.cluster.add(single("a").on("n1")).add(single("b").on("n1")).add(single("c").on("n2"));
  return setup;
}

struct Offer {
  std::string pod;
  std::string towards = "";  ///< The only node that improves the placement, empty for any
};

struct NominationCase {
  std::string name;
  std::function<void(CycleSetup&)> edit;
  std::vector<Offer> offers;
  std::vector<std::string> want;  ///< For each offer the predicted node of the pod, or "<result>/<reason>"
};

class Nomination : public testing::TestWithParam<NominationCase> {};

TEST_P(Nomination, IsAcceptedOrRefused) {
  CycleSetup setup = three_pods();
  GetParam().edit(setup);
  Cycle cycle(setup);
  std::vector<std::string> got;
  for (const Offer& offer : GetParam().offers) {
    const NominationResult result = cycle.offer(offer.pod, offer.towards);
    const bool is_taken = result == NominationResult::kAccepted;
    got.push_back(is_taken ? cycle.plan().moves.back().to
                           : to_string(result) + "/" + cycle.plan().refusals.back().reason);
  }
  EXPECT_EQ(got, GetParam().want);
}

const auto kAsItIs = [](CycleSetup&) {};
constexpr auto kCordonedTargets = [](CycleSetup& setup) {
  setup = {};
  setup.cluster.add(NodeBuilder("n1").cordoned()).add(NodeBuilder("n2").cordoned()).add(single("a").on("n1"));
};

INSTANTIATE_TEST_SUITE_P(
    Alone, Nomination,
    testing::Values(
        NominationCase{"GoesToTheEmptiestNode", kAsItIs, {{"a"}}, {"n3"}},
        NominationCase{"GoesWhereItHelps", kAsItIs, {{"a", "!n1"}}, {"n3"}},
        NominationCase{
            "HoldsThePlaceForTheNext",
            [](CycleSetup& s) {
              s = {};
              s.cluster.add(NodeBuilder("n1").sized(4000, 4000, 2)).add(NodeBuilder("n2").sized(4000, 4000, 1));
              s.cluster.add(single("a").on("n1")).add(single("b").on("n1"));
            },
            {{"a"}, {"b"}},
            {"n2", "n1"}},
        NominationCase{"IsMadeOnce", kAsItIs, {{"a"}, {"a"}}, {"n3", "Refused/AlreadyNominated"}},
        NominationCase{"IsNotMadeOfPodsThatLeave",
                       [](CycleSetup& s) {
                         s.leaving = {{"default", {"uid-a"}}};
                       },
                       {{"a"}, {"b"}},
                       {"Refused/AlreadyNominated", "n1"}},
        // Without hints the scheduler would place the replacement of a on n3 and then that of b on n1.
        NominationCase{"LeavesTheHintedNodeToTheReplacementOfAPodThatLeaves",
                       [](CycleSetup& s) {
                         s.leaving = {{"default", {"uid-a"}, "n2"}};
                         s.options.placement_hints = true;
                       },
                       {{"b"}},
                       {"n3"}},
        NominationCase{"LeavesNoNodeToAReplacementThatGetsNoHint",
                       [](CycleSetup& s) {
                         s.leaving = {{"default", {"uid-a"}, "n2"}};
                         s.options.placement_hints = true;
                         s.options.namespaces_without_hints = {"default"};
                       },
                       {{"b"}},
                       {"n1"}},
        NominationCase{"WaitsWhileThePodCoolsDown",
                       [](CycleSetup& s) {
                         s.cooling = {{"default", {"uid-a"}}};
                       },
                       {{"a"}, {"b"}},
                       {"Refused/RecentlyEvacuated", "n3"}},
        NominationCase{"IsNotHeldUpByAForeignNamespacesEvacuationWithItsUid",
                       [](CycleSetup& s) {
                         s.leaving = {{"attacker", {"uid-a"}}};
                         s.cooling = {{"attacker", {"uid-b"}}};
                       },
                       {{"a"}, {"b"}},
                       {"n3", "n1"}},
        NominationCase{
            "ObeysTheServer", [](CycleSetup& s) { s.forbidden = {"default"}; }, {{"a"}}, {"Refused/Forbidden"}},
        NominationCase{"LeavesMigratingPodsToTheirOwner",
                       [](CycleSetup& s) {
                         s.cluster.add(
                             single("vm").on("n1").annotate(std::string(api::well_known::kEvictionInProgress)));
                       },
                       {{"vm"}},
                       {"Refused/MigrationInProgress"}}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Limits, Nomination,
                         testing::Values(NominationCase{"TotalEndsTheCycle",
                                                        [](CycleSetup& s) { s.spec.limits.per_cycle.total = 1; },
                                                        {{"a"}, {"c"}},
                                                        {"n3", "TotalLimit/TotalLimit"}},
                                         // Apart from c's node, the nodes are equally empty. The prediction is the
                                         // first one by name.
                                         NominationCase{"OfANodeLeavesTheOthers",
                                                        [](CycleSetup& s) { s.spec.limits.per_cycle.per_node = 1; },
                                                        {{"a"}, {"b"}, {"c"}},
                                                        {"n3", "NodeLimit/NodeLimit", "n1"}},
                                         NominationCase{
                                             "OfANamespaceIsTold",
                                             [](CycleSetup& s) { s.spec.limits.per_cycle.per_namespace = 1; },
                                             {{"a"}, {"c"}},
                                             {"n3", "NamespaceLimit/NamespaceLimit"}},
                                         NominationCase{"AreNotSpentOnCoolingPods",
                                                        [](CycleSetup& s) {
                                                          s.spec.limits.per_cycle.total = 1;
                                                          s.cooling = {{"default", {"uid-a"}}};
                                                        },
                                                        {{"a"}, {"b"}},
                                                        {"Refused/RecentlyEvacuated", "n3"}},
                                         NominationCase{"AreNotSpentOnRefusedMoves",
                                                        [](CycleSetup& s) {
                                                          s.spec.limits.per_cycle.total = 1;
                                                          s.cluster.add(builders::pdb("none", "a", 0));
                                                        },
                                                        {{"a"}, {"b"}},
                                                        {"Refused/PDBWouldBlock", "n3"}}),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Budgets, Nomination,
                         testing::Values(NominationCase{"AreSpent",
                                                        [](CycleSetup& s) {
                                                          s.cluster.add(single("a2").on("n2").label("app", "a"));
                                                          s.cluster.add(builders::pdb("one", "a", 1));
                                                        },
                                                        {{"a"}, {"a2"}},
                                                        {"n3", "Refused/PDBWouldBlock"}},
                                         NominationCase{"AreNotAskedWithoutTheOption",
                                                        [](CycleSetup& s) {
                                                          s.options.spend_pdbs = false;
                                                          s.cluster.add(builders::pdb("none", "a", 0));
                                                        },
                                                        {{"a"}},
                                                        {"n3"}}),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Placements, Nomination,
    testing::Values(NominationCase{"NeedsANode", kCordonedTargets, {{"a"}}, {"Refused/NowhereToGo"}},
                    NominationCase{"NeedsANodeThatHelps", kCordonedTargets, {{"a", "n2"}}, {"Refused/NowhereBetter"}},
                    NominationCase{"NeedsTheSchedulersConsent", kAsItIs, {{"a", "n2"}}, {"Refused/SchedulerDisagrees"}},
                    NominationCase{"NeedsNoConsentWithAHint",
                                   [](CycleSetup& s) { s.options.placement_hints = true; },
                                   {{"a", "n2"}},
                                   {"n2"}},
                    // The webhook skips these kinds of pods, so their hints would never arrive.
                    NominationCase{"NeedsConsentForAPodThatIgnoresHints",
                                   [](CycleSetup& s) {
                                     s.options.placement_hints = true;
                                     s.cluster.add(single("d").on("n1").label("evacuator.dev/placement", "Ignore"));
                                   },
                                   {{"d", "n2"}},
                                   {"Refused/SchedulerDisagrees"}},
                    NominationCase{"NeedsConsentForTheOperatorsOwnPods",
                                   [](CycleSetup& s) {
                                     s.options.placement_hints = true;
                                     s.cluster.add(single("d").on("n1").label("app.kubernetes.io/name", "evacuator"));
                                   },
                                   {{"d", "n2"}},
                                   {"Refused/SchedulerDisagrees"}},
                    NominationCase{"NeedsConsentInASparedNamespace",
                                   [](CycleSetup& s) {
                                     s.options.placement_hints = true;
                                     s.options.namespaces_without_hints = {"default"};
                                   },
                                   {{"a", "n2"}},
                                   {"Refused/SchedulerDisagrees"}},
                    NominationCase{"NeedsCapacityAlsoWithAHint",
                                   [](CycleSetup& s) {
                                     kCordonedTargets(s);
                                     s.options.placement_hints = true;
                                   },
                                   {{"a", "n2"}},
                                   {"Refused/NowhereBetter"}},
                    NominationCase{"NeedsNoneForPodsThatNobodyRecreates",
                                   [](CycleSetup& s) {
                                     kCordonedTargets(s);
                                     s.cluster.add(single("bare").on("n1").bare());
                                   },
                                   {{"bare"}},
                                   {""}},
                    NominationCase{"NeedsNoneAsUpstream",
                                   [](CycleSetup& s) {
                                     kCordonedTargets(s);
                                     s.spec.compatibility = api::Compatibility::kUpstream;
                                   },
                                   {{"a"}},
                                   {""}}),
    [](const auto& test) { return test.param.name; });

PodBuilder member(const std::string& name) { return single(name).annotate("evacuator.dev/group", "g"); }

INSTANTIATE_TEST_SUITE_P(
    Groups, Nomination,
    testing::Values(NominationCase{"TakesTheOthersAlong",
                                   [](CycleSetup& s) {
                                     s.cluster.add(member("g1").on("n1")).add(member("g2").on("n2"));
                                   },
                                   {{"g1"}, {"g2"}},
                                   {"n2", "Refused/AlreadyNominated"}},
                    NominationCase{"IsRefusedForAllByOne",
                                   [](CycleSetup& s) {
                                     s.cluster.add(member("g1").on("n1")).add(member("g2").on("n2"));
                                     s.cooling = {{"default", {"uid-g2"}}};
                                   },
                                   {{"g1"}, {"g1"}},
                                   {"Refused/GroupMemberStays", "Refused/GroupMemberStays"}}),
    [](const auto& test) { return test.param.name; });

// --- offer_whole(): all pods or none

struct WholeCase {
  std::string name;
  std::function<void(CycleSetup&)> edit;
  std::vector<std::string> pods;
  std::string towards;
  std::string want;  ///< Expected NominationResult
  std::vector<std::string> moves;
};

class WholeSet : public testing::TestWithParam<WholeCase> {};

/// n1 is cordoned. After a refusal the cycle continues as if the set had never been offered.
TEST_P(WholeSet, IsAcceptedOrLeavesNoTrace) {
  CycleSetup setup = three_pods(NodeBuilder("n1").cordoned());
  GetParam().edit(setup);
  Cycle cycle(setup);
  const std::int64_t before = cycle.pods_on(cycle.builder().outcome(), "n1");
  EXPECT_EQ(to_string(cycle.offer_whole(GetParam().pods, GetParam().towards)), GetParam().want);
  std::vector<std::string> moved;
  for (const api::PlannedMove& move : cycle.plan().moves) moved.push_back(move.pod + "→" + move.to);
  EXPECT_EQ(moved, GetParam().moves);
  EXPECT_EQ(cycle.plan().strategies[0].nominated, static_cast<std::int32_t>(moved.size()));
  if (!moved.empty()) return;
  EXPECT_EQ(cycle.pods_on(cycle.builder().outcome(), "n1"), before);
  EXPECT_EQ(cycle.offer("a"), NominationResult::kAccepted) << "limits and budgets are as before";
}

INSTANTIATE_TEST_SUITE_P(
    Sets, WholeSet,
    testing::Values(WholeCase{"AllMayGo", kAsItIs, {"a", "b"}, "!n1", "Accepted", {"a→n3", "b→n2"}},
                    WholeCase{"TheLimitTakesOnlyOne",
                              [](CycleSetup& s) { s.spec.limits.per_cycle.total = 1; },
                              {"a", "b"},
                              "",
                              "TotalLimit",
                              {}},
                    WholeCase{"TheBudgetHoldsTheLast",
                              [](CycleSetup& s) { s.cluster.add(builders::pdb("none", "b", 0)); },
                              {"a", "b"},
                              "",
                              "Refused",
                              {}},
                    WholeCase{"TheLastHasNoPlace",
                              [](CycleSetup& s) {
                                s = {};
                                s.cluster.add(NodeBuilder("n1").cordoned()).add(NodeBuilder("n3").sized(4000, 4000, 1));
                                s.cluster.add(single("a").on("n1")).add(single("b").on("n1"));
                              },
                              {"a", "b"},
                              "n3",
                              "Refused",
                              {}},
                    WholeCase{"OneLeavesAlready",
                              [](CycleSetup& s) {
                                s.leaving = {{"default", {"uid-b"}}};
                              },
                              {"a", "b"},
                              "",
                              "Accepted",
                              {"a→n2"}}),
    [](const auto& test) { return test.param.name; });

TEST(PlanBuilder, RefusesASetWithAPodThatIsAlreadyMisplaced) {
  CycleSetup setup = three_pods();
  setup.leaving = {{"default", {"uid-b"}}};  // Its replacement goes to n3
  Cycle cycle(setup);
  EXPECT_EQ(cycle.offer_whole({"b"}, "n2"), NominationResult::kRefused);
  EXPECT_EQ(cycle.plan().refusals[0].reason, "NowhereBetter");
}

// --- view of strategies

TEST(PlanBuilder, ShowsReplacementsOnTheirTargets) {
  Cycle cycle(three_pods());
  cycle.offer("a");
  EXPECT_EQ(cycle.pods_on(cycle.builder().what_if(), "n1"), 1);
  EXPECT_EQ(cycle.pods_on(cycle.builder().what_if(), "n3"), 1);
}

TEST(PlanBuilder, HidesReplacementsForUpstream) {
  CycleSetup setup = three_pods();
  setup.spec.compatibility = api::Compatibility::kUpstream;
  Cycle cycle(setup);
  cycle.offer("a");
  EXPECT_EQ(cycle.pods_on(cycle.builder().what_if(), "n1"), 1);
  EXPECT_EQ(cycle.pods_on(cycle.builder().what_if(), "n3"), 0);
  EXPECT_EQ(cycle.pods_on(cycle.builder().outcome(), "n3"), 1);
}

TEST(PlanBuilder, RemovesLeavingPodsBeforeTheFirstOffer) {
  CycleSetup setup = three_pods();
  setup.leaving = {{"default", {"uid-a"}}, {"default", {"uid-of-nobody"}}};
  Cycle cycle(setup);
  EXPECT_EQ(cycle.pods_on(cycle.builder().what_if(), "n1"), 1);
  EXPECT_THAT(cycle.plan().moves, IsEmpty());
}

// --- recorded moves and refusals

TEST(PlanBuilder, RecordsMovesAndRefusalsByStrategy) {
  CycleSetup setup = three_pods();
  setup.cooling = {{"default", {"uid-b"}}};
  Cycle cycle(setup);
  cycle.offer("a");
  cycle.builder().begin("T");
  cycle.offer("b");
  cycle.builder().refused(cycle.pod("c"), {"BarePod", "it has no owner that would recreate it"});
  cycle.builder().fail(base::invalid("no usage"));
  EXPECT_THAT(cycle.plan().strategies,
              ElementsAre(StrategyResult{"S", 1, 0, ""}, StrategyResult{"T", 0, 2, "no usage"}));
  EXPECT_THAT(cycle.plan().moves, ElementsAre(api::PlannedMove{"default", "a", "uid-a", "n1", "n3", "S", "why"}));
  EXPECT_THAT(cycle.builder().refusal_counts(),
              ElementsAre(api::ReasonCount{"BarePod", 1}, api::ReasonCount{"RecentlyEvacuated", 1}));
  ASSERT_THAT(cycle.plan().refusals, SizeIs(2));
  EXPECT_EQ(cycle.plan().refusals[0].strategy, "T");
  EXPECT_EQ(cycle.plan().refusals[0].node, "n1");
}

TEST(PlanBuilder, CountsRefusalsBeyondTheStoredOnes) {
  CycleSetup setup = three_pods();
  setup.forbidden = {"default"};
  setup.options.max_refusals = 1;
  Cycle cycle(setup);
  for (const char* name : {"a", "b", "c"}) cycle.offer(name);
  EXPECT_THAT(cycle.plan().refusals, SizeIs(1));
  EXPECT_THAT(cycle.builder().refusal_counts(), ElementsAre(api::ReasonCount{"Forbidden", 3}));
}

TEST(PlanBuilder, KeepsTheNumbersOfARefusal) {
  CycleSetup setup = three_pods();
  setup.spec.limits.per_cycle.total = 0;
  Cycle cycle(setup);
  cycle.offer("a");
  EXPECT_EQ(cycle.plan().refusals[0].message, "limits.perCycle.total is 0 and reached");
  EXPECT_EQ(cycle.plan().refusals[0].wanted, 0);
  EXPECT_EQ(cycle.plan().refusals[0].available, std::nullopt);
}

// --- soft taints

const NodeBuilder kStale =
    NodeBuilder("n3").taint(std::string(api::well_known::kEmptyingTaint), api::TaintEffect::kPreferNoSchedule);

/// Predicted target of the replacement of "a" after avoid() of `avoided`.
std::string target_of_a(const PlanOptions& options, const std::vector<std::string>& avoided, const NodeBuilder& n3) {
  CycleSetup setup;
  setup.options = options;
  setup.cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(n3);
  setup.cluster.add(single("a").on("n1")).add(single("b").on("n1")).add(single("c").on("n2").cpu(1500));
  Cycle cycle(setup);
  std::vector<NodeIndex> nodes;
  for (const std::string& name : avoided) nodes.push_back(cycle.node(name));
  cycle.builder().avoid(api::well_known::kEmptyingTaint, nodes);
  cycle.offer("a");
  return cycle.plan().moves.at(0).to;
}

TEST(SoftTaint, SendsReplacementsElsewhere) {
  EXPECT_EQ(target_of_a({.taint_value = "p"}, {}, NodeBuilder("n3")), "n3");
  EXPECT_EQ(target_of_a({.taint_value = "p"}, {"n3"}, NodeBuilder("n3")), "n1");
  EXPECT_EQ(target_of_a({.taint_value = "p"}, {"n3", "n1"}, NodeBuilder("n3")), "n2");
}

TEST(SoftTaint, IsIgnoredIfThePolicyMayNotTaint) { EXPECT_EQ(target_of_a({}, {"n3"}, NodeBuilder("n3")), "n3"); }

TEST(SoftTaint, OfAnEarlierCycleIsIgnored) {
  EXPECT_EQ(target_of_a({.taint_value = ""}, {}, kStale), "n3");
  EXPECT_EQ(target_of_a({.taint_value = "p"}, {}, kStale), "n1") << "that is another policy's";
}

/// Cluster in which the scheduler prefers n2 for the replacement of "a".
CycleSetup with_preference_for_n2() {
  CycleSetup setup;
  setup.cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  setup.cluster.add(single("a").on("n1").cpu(500)).add(single("b").on("n1").cpu(2000));
  return setup.cluster.add(single("c").on("n3").cpu(1000)), setup;
}

/// Offers "a" with the goal n3. The scheduler would place its replacement on n2, and n1 does not reach the goal.
NominationResult offer_away_from_n2(Cycle& cycle, const Goal& may) {
  cycle.builder().avoid_competitors(api::well_known::kLoadedTaint, may);
  return cycle.builder().offer_towards(cycle.pod("a"), "why", cycle.goal("n3"));
}
CycleSetup competing() {
  CycleSetup setup = with_preference_for_n2();
  setup.options.taint_value = "p";
  return setup;
}

TEST(SoftTaint, IsPutOnACompetitorThatMayBeAvoided) {
  Cycle cycle(competing());
  EXPECT_EQ(offer_away_from_n2(cycle, [](NodeIndex) { return true; }), NominationResult::kAccepted);
  EXPECT_EQ(cycle.plan().moves.at(0).to, "n3");
  EXPECT_THAT(cycle.builder().what_if().soft_taints().at(1).nodes, ElementsAre(cycle.node("n2")));
  EXPECT_TRUE(cycle.plan().refused.empty());
}

/// The other nodes have the taint already, so n2 stays the scheduler's favourite.
TEST(SoftTaint, IsPutOnACompetitorOnce) {
  Cycle cycle(competing());
  const std::vector<NodeIndex> others{cycle.node("n1"), cycle.node("n3")};
  cycle.builder().avoid(api::well_known::kLoadedTaint, others);
  EXPECT_EQ(offer_away_from_n2(cycle, [](NodeIndex) { return true; }), NominationResult::kRefused);
  EXPECT_EQ(cycle.plan().refusals.back().reason, "SchedulerDisagrees");
  EXPECT_EQ(cycle.builder().what_if().soft_taints().at(1).nodes, others) << "in vain on n2";
}

TEST(SoftTaint, IsNotPutOnACompetitorThatMayNotBeAvoided) {
  Cycle cycle(competing());
  EXPECT_EQ(offer_away_from_n2(cycle, [](NodeIndex) { return false; }), NominationResult::kRefused);
  EXPECT_EQ(offer_away_from_n2(cycle, {}), NominationResult::kRefused);
  EXPECT_THAT(cycle.builder().what_if().soft_taints().at(1).nodes, IsEmpty());
}

TEST(SoftTaint, IsNotPutOnANodeThatAReplacementGoesTo) {
  CycleSetup setup = competing();
  setup.cluster.add(single("first").on("n3").cpu(100));
  Cycle cycle(setup);
  ASSERT_EQ(cycle.offer("first", "n2"), NominationResult::kAccepted);
  EXPECT_EQ(offer_away_from_n2(cycle, [](NodeIndex) { return true; }), NominationResult::kRefused);
}

/// Replacements of earlier moves are still to be scheduled with the pledged taint.
TEST(SoftTaint, ThatIsPledgedCountsWithoutARequest) {
  EXPECT_EQ(target_of_a({.taint_value = "p", .pledged = {"n3"}}, {}, NodeBuilder("n3")), "n1");
  EXPECT_EQ(target_of_a({.taint_value = "p", .pledged = {"n3", "n1", "gone"}}, {}, NodeBuilder("n3")), "n2");
  EXPECT_EQ(target_of_a({.pledged = {"n3"}}, {}, NodeBuilder("n3")), "n3") << "this policy may not taint";
}

TEST(SoftTaint, ThatIsPledgedIsRequestedOnlyIfAStrategyRequestsItToo) {
  CycleSetup setup = three_pods();
  setup.options = {.taint_value = "p", .pledged = {"n1", "n3"}};
  Cycle cycle(setup);
  const NodeIndex wanted[] = {cycle.node("n1"), cycle.node("n2")};
  cycle.builder().avoid(api::well_known::kLoadedTaint, wanted);
  const auto asks_for = [&](const char* node) {
    return cycle.builder().asks_for(api::well_known::kLoadedTaint, cycle.node(node));
  };
  EXPECT_TRUE(asks_for("n1"));
  EXPECT_TRUE(asks_for("n2"));
  EXPECT_FALSE(asks_for("n3"));
  EXPECT_TRUE(cycle.builder().asks_for(api::well_known::kEmptyingTaint, cycle.node("n3"))) << "another key";
  EXPECT_TRUE(cycle.builder().is_taint_promised(api::well_known::kLoadedTaint, cycle.node("n3")));
  EXPECT_FALSE(cycle.builder().is_taint_promised(api::well_known::kLoadedTaint, cycle.node("n2")));
}

TEST(SoftTaint, IsRevertedIfTheOfferIsRefused) {
  CycleSetup setup = competing();
  setup.spec.convergence.min_score = 100;
  Cycle cycle(setup);
  strategies::BalanceSubject subject;
  subject.resources = {"cpu"};
  subject.pools = {{{cycle.node("n1"), cycle.node("n2"), cycle.node("n3")}}};
  subject.usage = std::make_shared<strategies::RequestedUsage>(cycle.builder().what_if());
  BalanceMeter meter(cycle.builder().what_if().base(), std::move(subject));
  cycle.builder().begin("T", &meter);
  for (int i = 0; i < 2; ++i) {
    cycle.builder().avoid_competitors(api::well_known::kLoadedTaint, [](NodeIndex) { return true; });
    EXPECT_EQ(cycle.builder().offer_towards(cycle.pod("a"), "why", cycle.goal("n3")), NominationResult::kRefused);
    EXPECT_EQ(cycle.plan().refusals.back().reason, "ScoreTooLow");
    EXPECT_THAT(cycle.builder().what_if().soft_taints().at(1).nodes, IsEmpty());
  }
}

/// One move of strategy S, followed by a plan in two waves.
std::vector<std::int32_t> waves_after(bool keep) {
  Cycle cycle(three_pods());
  EXPECT_EQ(cycle.offer("c"), NominationResult::kAccepted);
  cycle.builder().begin("T");
  cycle.builder().begin_plan();
  for (const auto& [wave, pod] : {std::pair(1, "a"), std::pair(2, "b")}) {
    cycle.builder().start_wave(wave);
    EXPECT_EQ(cycle.offer(pod), NominationResult::kAccepted);
  }
  cycle.builder().end_plan(keep);
  std::vector<std::int32_t> waves;
  for (const api::PlannedMove& move : cycle.plan().moves) waves.push_back(move.wave);
  return waves;
}

TEST(Waves, BeginAfterMovesOfOtherStrategies) {
  EXPECT_THAT(waves_after(true), ElementsAre(1, 2, 3));
  EXPECT_THAT(waves_after(false), ElementsAre(0)) << "there are none";
}

TEST(SoftTaint, AddsToEarlierNodes) {
  CycleSetup setup = three_pods();
  setup.options.taint_value = "p";
  Cycle cycle(setup);
  for (const char* name : {"n3", "n1", "n3"}) {
    const NodeIndex nodes[] = {cycle.node(name)};
    EXPECT_TRUE(cycle.builder().avoid(api::well_known::kEmptyingTaint, nodes));
  }
  EXPECT_THAT(cycle.builder().what_if().soft_taints().at(1).nodes, ElementsAre(cycle.node("n1"), cycle.node("n3")));
}

// --- deferred disagreements

TEST(DeferredDisagreements, GoToTheHandlerInsteadOfTheRecord) {
  Cycle cycle(with_preference_for_n2());
  std::vector<std::string> reasons;
  cycle.builder().defer_disagreements([&](const scheduling::Refusal& why) { reasons.emplace_back(why.reason); });
  EXPECT_EQ(cycle.offer("a", "n3"), NominationResult::kRefused);
  EXPECT_THAT(reasons, ElementsAre("SchedulerDisagrees"));
  EXPECT_THAT(cycle.plan().refusals, IsEmpty());
  EXPECT_THAT(cycle.builder().refusal_counts(), IsEmpty());
  EXPECT_EQ(cycle.offer("a", "n2"), NominationResult::kAccepted) << "the pod may be offered again";
}

TEST(DeferredDisagreements, LeaveOtherRefusalsOnRecord) {
  CycleSetup setup = with_preference_for_n2();
  setup.cluster.add(builders::pdb("none", "a", 0)).add(single("guarded").on("n1").label("app", "a"));
  Cycle cycle(setup);
  cycle.builder().defer_disagreements([](const scheduling::Refusal& why) { FAIL() << why.message(); });
  EXPECT_EQ(cycle.offer("guarded", "n3"), NominationResult::kRefused);
  EXPECT_THAT(cycle.plan().refusals, SizeIs(1));
}

TEST(DeferredDisagreements, EndWithAnEmptyHandlerAndWithTheStrategy) {
  for (const bool ends_with_strategy : {false, true}) {
    Cycle cycle(with_preference_for_n2());
    cycle.builder().defer_disagreements([](const scheduling::Refusal& why) { FAIL() << why.message(); });
    ends_with_strategy ? cycle.builder().begin("T") : cycle.builder().defer_disagreements({});
    EXPECT_EQ(cycle.offer("a", "n3"), NominationResult::kRefused);
    EXPECT_THAT(cycle.plan().refusals, SizeIs(1));
  }
}

}  // namespace plan_builder_test
}  // namespace planner
