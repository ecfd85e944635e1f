#include "cmd/explain/opinion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cmd/drain/progress.hpp"
#include "test/builders/cluster.hpp"
#include "test/builders/origin.hpp"

namespace cmd::plugin {
namespace plugin_explain_test {

using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Returns a policy that moves every pod older than half an hour.
api::DeschedulerPolicy old_pods_policy() {
  api::DeschedulerPolicy policy;
  policy.meta.name = "tidy";
  policy.spec.strategies = {{"PodLifeTime", R"({"maxPodLifeTimeSeconds":1800})"}};
  return policy;
}

struct OpinionCase {
  const char* name;
  PodBuilder pod;
  NodeBuilder node;
  void (*change)(api::DeschedulerPolicy&);
  PolicyVerdict want;
  const char* want_rule;
};
void PrintTo(const OpinionCase& c, std::ostream* out) { *out << c.name; }
class Verdict : public testing::TestWithParam<OpinionCase> {};

TEST_P(Verdict, IsWhatThePolicyWouldDoNow) {
  const OpinionCase& c = GetParam();
  const auto cluster = builders::ClusterBuilder().add(c.node).add(NodeBuilder("n2")).add(c.pod).build();
  api::DeschedulerPolicy policy = old_pods_policy();
  c.change(policy);
  const PolicyOpinion got = opinion_of(policy, *cluster, {}, *cluster->find_pod("default", "web"), kNoon);
  EXPECT_EQ(to_string(got.verdict), to_string(c.want)) << got.message;
  EXPECT_EQ(got.rule, c.want_rule);
  EXPECT_NE(got.message, "");
}

PodBuilder young_and_asking(std::string_view evict) {
  return PodBuilder("web").on("n1").older_by(base::seconds(60)).annotate(api::well_known::kEvictAnnotation, evict);
}

const auto kAsItIs = [](api::DeschedulerPolicy&) {};

INSTANTIATE_TEST_SUITE_P(
    Policy, Verdict,
    testing::Values(
        OpinionCase{"NominatesAnOldPod", PodBuilder("web").on("n1"), NodeBuilder("n1"), kAsItIs,
                    PolicyVerdict::kNominates, ""},
        OpinionCase{"IsContentWithAYoungPod", PodBuilder("web").on("n1").older_by(base::seconds(60)), NodeBuilder("n1"),
                    kAsItIs, PolicyVerdict::kNotNominated, ""},
        OpinionCase{"RefusesByLimit", PodBuilder("web").on("n1"), NodeBuilder("n1"),
                    [](api::DeschedulerPolicy& policy) { policy.spec.limits.per_cycle.total = 0; },
                    PolicyVerdict::kRefused, "TotalLimit"},
        OpinionCase{"DoesNotLookAtANodeThatIsNotReady", PodBuilder("web").on("n1"), NodeBuilder("n1").not_ready(),
                    kAsItIs, PolicyVerdict::kOutOfScope, ""},
        OpinionCase{
            "DoesNotLookAtAnotherNode", PodBuilder("web").on("n1"), NodeBuilder("n1"),
            [](api::DeschedulerPolicy& policy) { policy.spec.node_selector = builders::labels_in("pool", {"spare"}); },
            PolicyVerdict::kOutOfScope, ""},
        OpinionCase{"IsProtectedByItsAnnotation", young_and_asking("false"), NodeBuilder("n1"), kAsItIs,
                    PolicyVerdict::kProtected, "AsksToStay"},
        OpinionCase{"IsNotProtectedByItForUpstream", young_and_asking("false"), NodeBuilder("n1"),
                    [](api::DeschedulerPolicy& policy) { policy.spec.compatibility = api::Compatibility::kUpstream; },
                    PolicyVerdict::kNotNominated, ""},
        OpinionCase{"IsProtectedByWhatItAsksOfKarpenter",
                    PodBuilder("web").on("n1").annotate("karpenter.sh/do-not-disrupt", "true"), NodeBuilder("n1"),
                    kAsItIs, PolicyVerdict::kRefused, "DoNotDisrupt"},
        OpinionCase{"DoesNotLookAtANodeThatGoes", PodBuilder("web").on("n1"),
                    NodeBuilder("n1").taint("ToBeDeletedByClusterAutoscaler"), kAsItIs, PolicyVerdict::kOutOfScope, ""},
        OpinionCase{"CannotSayWithBrokenArgs", PodBuilder("web").on("n1"), NodeBuilder("n1"),
                    [](api::DeschedulerPolicy& policy) { policy.spec.strategies[0].args_json = R"({"nonsense":1})"; },
                    PolicyVerdict::kNotEvaluated, ""}),
    [](const auto& test) { return test.param.name; });

TEST(Verdict, TakesNoOtherPodWithoutAUidForThisOne) {
  scheduling::SnapshotInput input;  // a manually written dump, without UIDs
  input.nodes.push_back(std::make_shared<const api::Node>(NodeBuilder("n1").build()));
  for (const auto& [name, age] : {std::pair("old", 36000), std::pair("web", 60)}) {
    api::Pod pod = PodBuilder(name).on("n1").older_by(base::seconds(age)).build();
    pod.meta.uid.clear();
    input.pods.push_back(std::make_shared<const api::Pod>(std::move(pod)));
  }
  const scheduling::ClusterSnapshot cluster(std::move(input));
  const PolicyOpinion got = opinion_of(old_pods_policy(), cluster, {}, *cluster.find_pod("default", "web"), kNoon);
  EXPECT_EQ(to_string(got.verdict), to_string(PolicyVerdict::kNotNominated));
}

TEST(Verdict, ReportsThatUpstreamIgnoresASingleNode) {
  const auto cluster = builders::ClusterBuilder().add(NodeBuilder("n1")).add(PodBuilder("web").on("n1")).build();
  api::DeschedulerPolicy policy = old_pods_policy();
  policy.spec.compatibility = api::Compatibility::kUpstream;
  const PolicyOpinion got = opinion_of(policy, *cluster, {}, *cluster->find_pod("default", "web"), kNoon);
  EXPECT_EQ(to_string(got.verdict), to_string(PolicyVerdict::kOutOfScope));
  EXPECT_THAT(got.message, HasSubstr("fewer than two ready"));
}

TEST(Verdict, NamesTheProtectingRule) {
  const auto cluster = builders::ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(PodBuilder("web").on("n1").bare().older_by(base::seconds(60)))
                           .build();
  const PolicyOpinion got = opinion_of(old_pods_policy(), *cluster, {}, 0, kNoon);
  EXPECT_EQ(got.verdict, PolicyVerdict::kProtected);
  EXPECT_NE(got.rule, "");
}

TEST(Verdict, JudgesALeavingPodAsIfItStayed) {
  const auto cluster =
      builders::ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("web").on("n1")).build();
  api::Evacuation running;
  running.meta.ns = "default";
  running.spec.pod_ref = {"web", {"uid-web"}};
  EXPECT_EQ(opinion_of(old_pods_policy(), *cluster, {running}, 0, kNoon).verdict, PolicyVerdict::kNominates);
}

TEST(Verdict, KnowsThatItCoolsDown) {
  const auto cluster =
      builders::ClusterBuilder().add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(PodBuilder("web").on("n1")).build();
  api::Evacuation failed;
  failed.meta.ns = "default";
  failed.spec.pod_ref = {"web", {"uid-web"}};
  failed.status.phase = api::EvacuationPhase::kFailed;
  const PolicyOpinion got = opinion_of(old_pods_policy(), *cluster, {failed}, 0, kNoon);
  EXPECT_EQ(got.verdict, PolicyVerdict::kRefused);
  EXPECT_EQ(got.rule, "RecentlyEvacuated");
}

/// Returns a cluster in which a swap frees a node. Without hints the scheduler would put the pod that makes way on the
/// empty node.
builders::ClusterBuilder swap_beside_an_empty_node() {
  builders::ClusterBuilder cluster;
  cluster.add(NodeBuilder("full")).add(NodeBuilder("open-1")).add(NodeBuilder("open-2")).add(NodeBuilder("spare"));
  for (const char* name : {"web-1", "web-2", "web-3", "web-4"}) cluster.add(PodBuilder(name).on("full").cpu(1000));
  for (const char* number : {"1", "2"}) {
    cluster.add(PodBuilder(std::string("quorum-") + number)
                    .on(std::string("open-") + number)
                    .cpu(1000)
                    .label("app", "quorum")
                    .anti_affinity("app", "quorum", std::string(api::well_known::kHostnameLabel)));
  }
  return cluster;
}

/// Row 16 of the comparison with kube-scheduler: what-if and real cycle produce the same plan.
TEST(Verdict, Row16PlansWithPlacementHintsWhereTheLastCycleDid) {
  const auto cluster = swap_beside_an_empty_node().build();
  api::DeschedulerPolicy policy;
  policy.meta.name = "defragment";
  policy.spec.mode = api::PolicyMode::kManual;  // without soft taints
  policy.spec.strategies = {{"Defragmentation", "{}"}};
  policy.status.last_cycle = api::LastCycle{};
  const auto nominated = [&](bool has_hints) {
    policy.status.last_cycle->placement_hints = has_hints;
    int count = 0;
    for (const scheduling::PodIndex pod : cluster->pods())
      count += opinion_of(policy, *cluster, {}, pod, kNoon).verdict == PolicyVerdict::kNominates ? 1 : 0;
    return count;
  };
  EXPECT_EQ(nominated(false), 0);
  EXPECT_EQ(nominated(true), 2);
}

struct KeptNodeCase {
  const char* name;
  void (*arrange)(builders::ClusterBuilder&);  ///< adds objects to the pod web on n1
  std::vector<const char*> says;
};
class KeptNode : public testing::TestWithParam<KeptNodeCase> {};

TEST_P(KeptNode, IsExplainedByThePodThatKeepsIt) {
  builders::ClusterBuilder builder;
  builder.add(NodeBuilder("n1")).add(PodBuilder("web").on("n1").cpu(1000));
  GetParam().arrange(builder);
  const auto cluster = builder.build();
  api::DeschedulerPolicy policy;
  policy.meta.name = "defragment";
  policy.spec.strategies = {{"Defragmentation", "{}"}};
  const PolicyOpinion got = opinion_of(policy, *cluster, {}, *cluster->find_pod("default", "web"), kNoon);
  EXPECT_EQ(to_string(got.verdict), to_string(PolicyVerdict::kNotNominated)) << got.message;
  for (const char* words : GetParam().says) EXPECT_THAT(got.message, HasSubstr(words));
}

INSTANTIATE_TEST_SUITE_P(
    By, KeptNode,
    testing::Values(
        KeptNodeCase{"AProtectedPod",
                     [](builders::ClusterBuilder& c) {
                       c.add(NodeBuilder("n2")).add(PodBuilder("other").on("n2").bare());
                       c.add(PodBuilder("db").ns("shop").on("n1").annotate("karpenter.sh/do-not-disrupt", "true"));
                     },
                     {"; Defragmentation: its node is not emptied: pod shop/db prevents that: DoNotDisrupt: "}},
        KeptNodeCase{
            "APodThatFitsNowhereElse",
            [](builders::ClusterBuilder& c) {
              c.add(NodeBuilder("n2").sized(1500, 4000, 10)).add(PodBuilder("other").on("n2").bare());
              c.add(PodBuilder("big").on("n1").cpu(2500));
            },
            {"its node is not emptied: pod default/big prevents that: InsufficientResource: 1 of 1 other nodes"}},
        KeptNodeCase{"ItsPodsTogether",
                     [](builders::ClusterBuilder& c) {
                       c.add(NodeBuilder("n2").sized(1500, 4000, 10)).add(PodBuilder("other").on("n2").bare());
                       c.add(PodBuilder("web-2").on("n1").cpu(1000));
                     },
                     {"; Defragmentation: its node is not emptied: NoRoomTogether: its 2 pods"}}),
    [](const auto& test) { return std::string(test.param.name); });

/// The strategy's report contains the first 100 nodes only.
TEST(Verdict, NamesThePodThatKeepsANodeBeyondTheRowsOfTheReport) {
  builders::ClusterBuilder builder;
  for (int i = 100; i < 250; ++i) {
    const std::string node = "n" + std::to_string(i);
    builder.add(NodeBuilder(node)).add(PodBuilder("web-" + node).on(node).cpu(100));
    builder.add(PodBuilder("db-" + node).on(node).annotate("karpenter.sh/do-not-disrupt", "true"));
  }
  const auto cluster = builder.build();
  api::DeschedulerPolicy policy;
  policy.spec.strategies = {{"Defragmentation", "{}"}};
  const PolicyOpinion got = opinion_of(policy, *cluster, {}, *cluster->find_pod("default", "web-n249"), kNoon);
  EXPECT_THAT(got.message, HasSubstr("its node is not emptied: pod default/db-n249 prevents that: DoNotDisrupt: "));
}

TEST(Budgets, CountOnNoPodThatHasEnded) {
  const api::Pod pod = PodBuilder("web").label("app", "web").build();
  api::PodDisruptionBudget budget = builders::pdb("web", "web", 0);
  budget.expected_pods = 2;
  budget.min_available = api::IntOrPercent{1, false};
  EXPECT_FALSE(budgets_of(pod, {budget})[0].never);
  const auto ended = std::make_shared<const api::Pod>(
      PodBuilder("ended").label("app", "web").phase(api::PodPhase::kSucceeded).build());
  EXPECT_TRUE(budgets_of(pod, {budget}, {ended})[0].never);
}

TEST(Budgets, AreThoseOverThePodWithTheirNumbers) {
  const api::Pod pod = PodBuilder("web").label("app", "web").build();
  api::PodDisruptionBudget stuck = builders::pdb("stuck", "web", 0);
  stuck.expected_pods = 1;
  stuck.min_available = api::IntOrPercent{1, false};
  api::PodDisruptionBudget elsewhere = builders::pdb("elsewhere", "web", 0);
  elsewhere.meta.ns = "other";
  const auto facts = budgets_of(pod, {stuck, builders::pdb("not-mine", "api", 0), elsewhere});
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].name, "stuck");
  EXPECT_TRUE(facts[0].never);
}

api::Evacuation moved() {
  api::Evacuation made;
  made.meta.ns = "default";
  made.meta.name = "web-12345678";
  made.meta.creation_timestamp = kNoon - base::seconds(90);
  made.spec.pod_ref = {"web", {"uid-web"}};
  made.spec.node_name = {"n1"};
  made.spec.reason = "too old";
  made.spec.source = {"tidy", "PodLifeTime", "evacuator"};
  made.status.conditions = {builders::origin_verified()};
  made.status.phase = api::EvacuationPhase::kSucceeded;
  made.status.outcome = api::EvacuationOutcome{
      api::OutcomeKind::kEvicted, {}, api::EvacuationReplacement{"web-new", "uid-web-new", {"n2"}, {}}};
  return made;
}

TEST(Explanation, ShowsTheEvacuationOfAGonePod) {
  Explanation explanation;
  explanation.key = {"default", "web"};
  assign_evacuations(explanation, {moved()});
  EXPECT_EQ(conclusion(explanation), "it was evacuated");
  EXPECT_THAT(render(explanation, kNoon, false),
              AllOf(HasSubstr("by policy tidy (PodLifeTime): too old"), HasSubstr("replaced by web-new on node n2")));
}

TEST(Explanation, ReportsThatAManualEvacuationOnlyNamesThePolicy) {
  Explanation explanation;
  explanation.key = {"default", "web"};
  api::Evacuation forged = moved();
  forged.status.conditions.clear();
  assign_evacuations(explanation, {forged});
  EXPECT_THAT(render(explanation, kNoon, false),
              HasSubstr("by evacuator, manual (it names policy tidy, which did not create it): too old"));
}

/// Reasons are written by any user who may create Evacuations, and messages by services and webhooks.
TEST(Explanation, EscapesControlCharacters) {
  const std::string hostile = "old\033[2J\npod/web: it was evacuated\u202e";
  api::Evacuation strange = moved();
  strange.spec.reason = hostile;
  strange.spec.source.requester = hostile;
  strange.status.conditions.clear();
  strange.status.phase = api::EvacuationPhase::kRequesting;
  strange.status.blocked_by = {{.kind = "Webhook", .name = hostile, .message = hostile}};
  strange.status.history = {{.to = "Requesting", .reason = "Requested", .message = hostile}};
  Explanation explanation;
  explanation.key = {"default", "web"};
  explanation.problems = {hostile};
  assign_evacuations(explanation, {strange});
  const std::string text = render(explanation, kNoon, false) + evacuation_table({strange}, true, kNoon, false);
  for (const char* steering : {"\033", "\npod/web: it was evacuated", "\u202e"})
    EXPECT_THAT(text, Not(HasSubstr(steering)));
  EXPECT_THAT(text, HasSubstr("manual (it names policy tidy, which did not create it): old [2J pod/web: it was"));
}

TEST(Explanation, ShowsThePodThatAReplacementReplaced) {
  Explanation explanation;
  explanation.key = {"default", "web-new"};
  explanation.pod = PodBuilder("web-new").on("n2").build();
  assign_evacuations(explanation, {moved()});
  EXPECT_THAT(render(explanation, kNoon, false), HasSubstr("pod web of node n1, evacuated 90s ago by policy tidy"));
  EXPECT_EQ(as_json(explanation)["replaced"].size(), 1U);
}

TEST(Explanation, ShowsHowToApprove) {
  api::Evacuation waiting = moved();
  waiting.status = {};
  waiting.spec.suspend = true;
  Explanation explanation;
  explanation.key = {"default", "web"};
  explanation.pod = PodBuilder("web").on("n1").build();
  assign_evacuations(explanation, {waiting});
  EXPECT_EQ(conclusion(explanation), "it is being evacuated");
  EXPECT_THAT(render(explanation, kNoon, false), HasSubstr("kubectl evacuator approve web-12345678 -n default"));
}

TEST(Explanation, SummarizesThePolicies) {
  Explanation explanation;
  explanation.pod = PodBuilder("web").on("n1").build();
  EXPECT_EQ(conclusion(explanation), "it stays: no policy applies to it");
  explanation.policies = {{.policy = "a", .verdict = PolicyVerdict::kNotNominated}};
  EXPECT_EQ(conclusion(explanation), "it stays: no policy nominates it");
  explanation.policies.push_back({.policy = "b", .verdict = PolicyVerdict::kRefused, .rule = "TotalLimit"});
  EXPECT_EQ(conclusion(explanation), "policy b would move it, but refuses: TotalLimit");
  explanation.policies.push_back({.policy = "c", .verdict = PolicyVerdict::kNominates});
  EXPECT_EQ(conclusion(explanation), "policy c would move it, but takes no action (mode DryRun)");
  explanation.policies.back().mode = api::PolicyMode::kAutomatic;
  EXPECT_EQ(conclusion(explanation), "policy c moves it in its next cycle");
}

}  // namespace plugin_explain_test
}  // namespace cmd::plugin
