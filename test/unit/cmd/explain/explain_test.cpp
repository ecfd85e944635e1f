#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cmd/commands.hpp"
#include "cmd/offline/policy_files.hpp"
#include "telemetry/audit/file_sink.hpp"
#include "telemetry/audit/log.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace explain_test {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kDumpText = R"(
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- apiVersion: v1
  kind: Pod
  metadata:
    {name: web, namespace: shop, uid: u-web, creationTimestamp: "2026-11-20T12:00:00Z", labels: {app: web},
     ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u-rs}]}
  spec: {nodeName: n1, containers: [{name: c, image: i}]}
  status: {phase: Running}
- apiVersion: v1
  kind: Pod
  metadata: {name: bare, namespace: shop, uid: u-bare, creationTimestamp: "2026-11-21T12:00:00Z"}
  spec: {nodeName: n1, containers: [{name: c, image: i}]}
  status: {phase: Running}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: web, namespace: shop}
  spec: {selector: {matchLabels: {app: web}}}
  status: {disruptionsAllowed: 2, currentHealthy: 5, desiredHealthy: 3, expectedPods: 5}
- apiVersion: evacuator.dev/v1alpha1
  kind: DeschedulerPolicy
  metadata: {name: in-dump}
  spec: {mode: Automatic, strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 3600}}]}
- {apiVersion: evacuator.dev/v1alpha1, kind: DeschedulerPolicy, metadata: {name: broken}, spec: {mode: Sometimes}}
)";

constexpr const char* kTwoPolicies = R"(
apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: none-today}
spec:
  strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 3600}}]
  limits: {perCycle: {total: 0}}
---
apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: patient}
spec: {strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 900000}}]}
)";

class ExplainCommand : public cmd_test::CommandTest {
 protected:
  ExplainCommand() {
    dump_ = write("dump.yaml", kDumpText);
    policies_ = write("policies.yaml", kTwoPolicies);
  }
  int explain(ExplainOptions options) {
    if (options.snapshot.empty()) options.snapshot = dump_;
    return captured([&] { return run_explain(options); });
  }

  std::string dump_, policies_;
};

TEST_F(ExplainCommand, JudgesByThePoliciesOfTheDumpAndOfTheFiles) {
  ASSERT_EQ(explain({.pod = "pod/web", .ns = "shop", .policies = {policies_}}), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("pod/web in shop: policy in-dump moves it in its next cycle"),
                          HasSubstr("web: 2 disruptions allowed now (needs 3 healthy pods, has 5 of 5)"),
                          HasSubstr("in-dump (Automatic) would move it to n"),
                          HasSubstr("none-today (DryRun) would move it, but refuses: TotalLimit"),
                          HasSubstr("patient (DryRun) does not nominate it")));
}

/// The pod is only removed, nothing replaces it. The message must not mention that it fits on no node.
TEST_F(ExplainCommand, NamesNoNodeForAPodThatHasEnded) {
  const std::string dump = write("ended.yaml", std::string(kDumpText) + R"(
- apiVersion: v1
  kind: Pod
  metadata:
    {name: ended, namespace: shop, uid: u-ended, creationTimestamp: "2026-11-20T12:00:00Z",
     ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u-rs, controller: true}]}
  spec: {nodeName: n1, containers: [{name: c, image: i}]}
  status: {phase: Failed}
)");
  const std::string policy = write("tidy.yaml", R"(
apiVersion: evacuator.dev/v1alpha1
kind: DeschedulerPolicy
metadata: {name: tidy}
spec: {strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 3600, terminalPods: {evict: true}}}]}
)");
  ASSERT_EQ(explain({.pod = "ended", .ns = "shop", .snapshot = dump, .policies = {policy}}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("tidy (DryRun) would move it (no node is predicted for a replacement)"));
}

TEST_F(ExplainCommand, GivesTheSameAsData) {
  ASSERT_EQ(explain({.pod = "bare", .ns = "shop", .policies = {policies_}, .output = "json"}), 0) << err_;
  const api::Json json = api::Json::parse(out_);
  ASSERT_EQ(json["policies"].size(), 3U);
  EXPECT_EQ(json["policies"][0]["policy"], "in-dump");
  EXPECT_EQ(json["policies"][2]["verdict"], "Protected");
  EXPECT_NE(json["policies"][2]["rule"], "");
}

TEST_F(ExplainCommand, ShowsEarlierDecisions) {
  const std::string log_file = directory_ + "/audit.log";
  {
    base::ManualClock clock(*base::parse_time("2026-11-21T11:00:00Z"));
    base::Metrics metrics;
    std::vector<std::unique_ptr<audit::Sink>> sinks;
    sinks.push_back(std::make_unique<audit::FileSink>(audit::FileOptions{.path = log_file}));
    audit::Log log(std::move(sinks), {.actor = "evacuator/a"}, clock, metrics, base::Log());
    for (const char* reason : {"TotalLimit", "NodeLimit", "NamespaceLimit"}) {
      audit::Record record;
      record.action = "PodRefused";
      record.object = {"Pod", "shop", "web", "u-web"};
      record.policy = {"in-dump", 1};
      record.decision = audit::decision::kRefused;
      record.reason = reason;
      record.detail = {{"cycle", "c-1"}, {"strategy", "PodLifeTime"}, {"message", "3 of 3"}};
      log.record(record);
    }
  }
  ASSERT_EQ(explain({.pod = "web", .ns = "shop", .audit = {log_file}, .newest = 2}), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("Earlier decisions in the audit log"),
                          HasSubstr("60m ago  PodRefused    NodeLimit (policy in-dump, PodLifeTime): 3 of 3"),
                          testing::Not(HasSubstr("TotalLimit (policy in-dump"))));
  ASSERT_EQ(explain({.pod = "web", .ns = "shop", .audit = {log_file}, .output = "json"}), 0) << err_;
  EXPECT_EQ(api::Json::parse(out_)["past"][0]["cycle"], "c-1");
}

TEST_F(ExplainCommand, NamesTheMistake) {
  EXPECT_EQ(explain({.pod = "web"}), 1);
  EXPECT_THAT(err_, HasSubstr("the dump has no pod \"web\" in namespace \"default\"; there is one in shop"));
  EXPECT_EQ(explain({.pod = "node/n1"}), 1);
  EXPECT_THAT(err_, HasSubstr("explain supports pods, not a node"));
  EXPECT_EQ(explain({.pod = "web", .ns = "shop", .policies = {dump_}}), 1);
  EXPECT_THAT(err_, HasSubstr("dump.yaml: items[6]: spec.mode: \"Sometimes\" is not one of"));
  EXPECT_EQ(explain({.pod = "web", .ns = "shop", .policies = {directory_ + "/none"}}), 1);
  EXPECT_EQ(explain({.pod = "web", .ns = "shop", .audit = {directory_ + "/none"}}), 1);
  EXPECT_EQ(explain({.pod = "web", .ns = "shop", .now = "soon"}), 1);
  EXPECT_THAT(err_, HasSubstr("--now: \"soon\" is not an RFC 3339 time"));
  EXPECT_EQ(captured([] { return run_explain({.pod = "web", .now = "2026-11-21T11:00:00Z"}); }), 1);
  EXPECT_THAT(err_, HasSubstr("--now requires --snapshot"));
}

TEST_F(ExplainCommand, SimulateChoosesAmongThePoliciesOfAFile) {
  const auto simulate = [&](const std::string& name) {
    SimulateOptions options;
    options.snapshot = dump_;
    options.policy = policies_;
    options.policy_name = name;
    return captured([&] { return run_simulate(options); });
  };
  EXPECT_EQ(simulate("patient"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("Policy patient at"));
  EXPECT_EQ(simulate(""), 1);
  EXPECT_THAT(err_, HasSubstr("contains 2 policies (none-today, patient); select one with --policy-name"));
  EXPECT_EQ(simulate("other"), 1);
  EXPECT_THAT(err_, HasSubstr("contains no policy \"other\", but none-today, patient"));
}

TEST_F(ExplainCommand, SimulateReportsUnusualInput) {
  SimulateOptions options;
  options.snapshot = write("strange.yaml", std::string(kDumpText) + R"(
- apiVersion: v1
  kind: Pod
  metadata: {name: evil, namespace: shop, uid: u-evil}
  spec: {nodeName: n1, containers: [{name: c, image: i, resources: {requests: {memory: -5Gi}}}]}
)");
  options.policy = policies_;
  options.policy_name = "patient";
  EXPECT_EQ(captured([&] { return run_simulate(options); }), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("Warning: Pod shop/evil: spec.containers[0].resources.requests.memory: -5Gi is negative, "
                              "treated as 0"));
  options.output = "json";
  EXPECT_EQ(captured([&] { return run_simulate(options); }), 0) << err_;
  EXPECT_EQ(api::Json::parse(out_)["problems"]["first"][0]["object"], "Pod shop/evil");
}

TEST_F(ExplainCommand, PolicyFilesMayBeListsAndAreCheckedToTheArgs) {
  const std::string policy = R"({apiVersion: evacuator.dev/v1alpha1, kind: DeschedulerPolicy, metadata: {name: a}, )"
                             R"(spec: {strategies: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: %}}]}})";
  const auto with = [&](const std::string& value) {
    return "{kind: List, items: [" + std::string(policy).replace(policy.find('%'), 1, value) + "]}";
  };
  const auto good = load_policies(write("good.yaml", with("1")));
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->at(0).meta.name, "a");
  const auto bad = load_policies(write("bad.yaml", with("-1")));
  ASSERT_FALSE(bad);
  EXPECT_THAT(
      bad.error().message,
      HasSubstr("bad.yaml: items[0]: policy a: spec.strategies[0].args.maxPodLifeTimeSeconds: must not be negative"));
  EXPECT_THAT(
      load_policies(write("none.yaml", "{kind: Pod}")).error().message,
      HasSubstr("none.yaml: contains no DeschedulerPolicy of evacuator.dev/v1alpha1; convert a descheduler policy"));
}

struct ForeignCase {
  const char* name;
  const char* text;
  const char* error;
};
class ForeignPolicies : public ExplainCommand, public testing::WithParamInterface<ForeignCase> {};

TEST_P(ForeignPolicies, AreNoPoliciesThatMoveNothing) {
  const std::string file = write("policy.yaml", GetParam().text);
  SimulateOptions options;
  options.snapshot = dump_;
  options.policy = file;
  EXPECT_EQ(captured([&] { return run_simulate(options); }), 1);
  EXPECT_THAT(err_, AllOf(HasSubstr("policy.yaml: "), HasSubstr(GetParam().error)));
  EXPECT_EQ(out_, "");
  EXPECT_EQ(explain({.pod = "web", .ns = "shop", .policies = {file}}), 1);
  EXPECT_THAT(err_, HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Of, ForeignPolicies,
    testing::Values(
        ForeignCase{
            "Upstream", "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: []\n",
            "descheduler/v1alpha2 is a policy of kubernetes-sigs/descheduler; convert it first: evacuator convert"},
        ForeignCase{"OldUpstream", "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {}\n",
                    "descheduler/v1alpha1 is a policy of kubernetes-sigs/descheduler"},
        ForeignCase{"KindAlone", "kind: DeschedulerPolicy\nprofiles: []\n",
                    "apiVersion: must be evacuator.dev/v1alpha1, not \"\"; convert a descheduler policy first"},
        ForeignCase{"AnotherVersion", "apiVersion: evacuator.dev/v2\nkind: DeschedulerPolicy\nmetadata: {name: a}\n",
                    "apiVersion: must be evacuator.dev/v1alpha1, not \"evacuator.dev/v2\""},
        ForeignCase{"WithoutAName", "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nspec: {}\n",
                    "metadata.name: must not be empty"},
        ForeignCase{"WithoutStrategies",
                    "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nmetadata: {name: a}\nspec: {}\n",
                    "policy a: spec.strategies: must name at least one strategy"},
        ForeignCase{
            "SecondOfAList",
            "kind: List\nitems:\n- {kind: Pod}\n- {apiVersion: descheduler/v1alpha2, kind: DeschedulerPolicy}\n",
            "policy.yaml: items[1]: descheduler/v1alpha2 is a policy of kubernetes-sigs/descheduler"},
        ForeignCase{"Values", "deschedulerPolicy: {profiles: []}\n", "or values of its chart first"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ExplainCommand, PolicyFilesOfManyNameTheFirstTen) {
  std::string text;
  for (int i = 10; i < 25; ++i)
    text += "---\napiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nmetadata: {name: p" + std::to_string(i) +
            "}\nspec: {strategies: [{name: RemoveDuplicates}]}\n";
  SimulateOptions options;
  options.snapshot = dump_;
  options.policy = write("many.yaml", text);
  EXPECT_EQ(captured([&] { return run_simulate(options); }), 1);
  EXPECT_THAT(err_,
              HasSubstr("contains 15 policies (p10, p11, p12, p13, p14, p15, p16, p17, p18, p19 and 5 more); select"));
}

}  // namespace explain_test
}  // namespace cmd
