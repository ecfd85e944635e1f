/// Trials: dumps and policies made after public bug reports (test/unit/cmd/offline/trials), played as a user would.

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/json/json.hpp"
#include "cmd/commands.hpp"
#include "cmd/explain/explain.hpp"
#include "cmd/input/dump_time.hpp"
#include "test/unit/cmd/command_fixture.hpp"
#include "test/unit/cmd/offline/convert_cases.hpp"

namespace cmd {
namespace trials_test {

using api::Json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string path_of(const std::string& trial, const std::string& file) {
  return std::string(EVACUATOR_SOURCE_DIR) + "/test/unit/cmd/offline/trials/" + trial + "/" + file;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct TrialCase {
  const char* name;
  const char* trial;
  std::size_t moves;
  std::vector<const char*> says{};  ///< in the tables of simulate
};

class Trials : public cmd_test::CommandTest, public testing::WithParamInterface<TrialCase> {
 protected:
  std::string simulated(const std::string& trial, const std::string& output, const std::string& policy = "") {
    SimulateOptions options;
    options.snapshot = path_of(trial, "dump.json");
    options.policy = policy.empty() ? path_of(trial, "policy.yaml") : write("policy.yaml", policy);
    options.output = output;
    EXPECT_EQ(captured([&] { return run_simulate(options); }), 0) << err_;
    return out_;
  }
};

TEST_P(Trials, ComeOutRight) {
  const Json plan = Json::parse(simulated(GetParam().trial, "json"), nullptr, false);
  EXPECT_EQ(plan.at("moves").size(), GetParam().moves) << plan.at("moves").dump(1);
  const std::string table = simulated(GetParam().trial, "table");
  for (const char* words : GetParam().says) EXPECT_THAT(table, HasSubstr(words));
}

INSTANTIATE_TEST_SUITE_P(
    Decisions, Trials,
    testing::Values(
        TrialCase{"ResourceThatIsNotPublished",
                  "pack-resource-not-published",
                  0,
                  {"NODES as HighNodeUtilization classes them: 2 nodes: 1 appropriately utilized, 1 out of scope",
                   "Note: no node is underutilized", "without gpu.example.com/a, which it does not publish",
                   "gpu.example.com/a 75.0 % of allocatable, above thresholds 40 %"}},
        TrialCase{"PodsOnTheirWayOut",
                  "level-terminating-pods",
                  0,
                  {"Note: no node is overutilized",
                   "cpu 90.0 % of allocatable, above thresholds 20 %; without the pods that are leaving it cpu ",
                   ", not above targetThresholds 50 %"}},
        TrialCase{"TimeOfAQuietDump",
                  "now-of-a-quiet-dump",
                  1,
                  {"Policy clear-failed at 2026-05-01T12:00:00Z",
                   "(now is the newest time in the dump (Node n-0, status.conditions[0].lastHeartbeatTime))"}},
        TrialCase{"NothingToLevel",
                  "level-nothing-said",
                  0,
                  {"no node is underutilized but for cordoned ones, which take no pods: n-1",
                   "cpu 75.0 % of allocatable, above targetThresholds 50 %", "3 of 110"}},
        TrialCase{"TaintedPool",
                  "level-tainted-pool-message",
                  0,
                  {"NoDestinationHasCapacity",
                   "2 of 2 nodes: the pod does not tolerate the taint dedicated (t-0 and 1 more)"}},
        TrialCase{"AffinityThatNoNodeMeets",
                  "affinity-violation-not-said",
                  0,
                  {"NoMatchingNodeFits",
                   "it violates its nodeSelector or required node affinity, but fits on no node that matches: no node "
                   "matches"}},
        TrialCase{"DaemonSetsKeepNodesFull",
                  "pack-daemonsets-count",
                  0,
                  {"3 more would be underutilized without DaemonSet pods (ignoreDaemonSets)"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(Trials, DaemonSetsCanBeIgnored) {
  std::string policy = text_of(path_of("pack-daemonsets-count", "policy.yaml"));
  policy.replace(policy.find("      thresholds:"), 0, "      ignoreDaemonSets: true\n");
  const Json plan = Json::parse(simulated("pack-daemonsets-count", "json", policy), nullptr, false);
  EXPECT_FALSE(plan.at("moves").empty());
}

TEST_F(Trials, AreExplained) {
  ExplainOptions options;
  options.snapshot = path_of("level-nothing-said", "dump.json");
  options.policies = {path_of("level-nothing-said", "policy.yaml")};
  options.pod = "pod/a-0";
  options.ns = "shop";
  options.output = "text";
  ASSERT_EQ(captured([&] { return run_explain(options); }), 0) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("LowNodeUtilization: its node is Overutilized: cpu 75.0 % of allocatable, above "
                                    "targetThresholds 50 %"),
                          HasSubstr("no node is underutilized but for cordoned ones, which take no pods: n-1"),
                          HasSubstr("the newest time in the dump (")));
}

// ---------------------------------------------------------------- convert

using convert_test::convert;
using convert_test::notes_of;
using convert_test::spec_of;

api::UpstreamOptions fixed() {
  api::UpstreamOptions options;
  options.compatibility = "None";
  return options;
}

TEST(ConvertTrials, StatesOfEndedPodsEvictThem) {
  const auto conversion = convert(text_of(path_of("convert-completed-state", "policy.yaml")), fixed());
  ASSERT_THAT(conversion.errors, IsEmpty());
  EXPECT_EQ(spec_of(conversion).at("strategies")[0].at("args").at("terminalPods"), Json({{"evict", true}}));
  EXPECT_THAT(notes_of(conversion), Contains(HasSubstr("Completed is mostly a state of pods that have ended")));
}

TEST(ConvertTrials, DeckhousesDescheduler) {
  const std::string text = text_of(path_of("convert-deckhouse-descheduler", "policy.yaml"));
  const auto conversion = convert(text);
  ASSERT_THAT(conversion.errors, IsEmpty());
  const Json spec = spec_of(conversion);
  ASSERT_EQ(spec.at("strategies").size(), 1U) << spec.dump(1);
  EXPECT_EQ(spec["strategies"][0]["name"], "RemovePodsViolatingInterPodAntiAffinity");
  EXPECT_EQ(spec["evictability"]["nodeFit"], true);
  EXPECT_EQ(spec["evictability"]["podProtections"]["extraEnabled"], Json({"PodsWithPVC"}));
  EXPECT_EQ(spec["limits"]["perCycle"]["perNamespace"], 1);
}

/// What "give it this part alone" was said of, and parts of it.
TEST(ConvertTrials, PartsOfDeckhousesDeschedulerGiveTheSame) {
  constexpr auto kBody = R"({"globalParameters": {"maxNoOfPodsToEvictPerNamespace": 1},
    "strategies": {"removePodsViolatingInterPodAntiAffinity": {"enabled": true, "nodeFit": true}}})";
  for (const std::string& text : {std::string(kBody), R"({"deschedulerPolicy": )" + std::string(kBody) + "}"}) {
    const auto conversion = convert(text);
    ASSERT_THAT(conversion.errors, IsEmpty()) << text;
    EXPECT_EQ(spec_of(conversion).at("strategies").size(), 1U) << text;
    EXPECT_EQ(spec_of(conversion)["limits"]["perCycle"]["perNamespace"], 1) << text;
  }
}

TEST(ConvertTrials, DeckhousesSecondVersion) {
  const auto conversion = convert(R"(
apiVersion: deckhouse.io/v1alpha2
kind: Descheduler
metadata: {name: low}
spec:
  nodeLabelSelector: {matchLabels: {pool: a}}
  priorityClassThreshold: {value: 1000}
  evictLocalStoragePods: {enabled: true}
  strategies:
    lowNodeUtilization: {enabled: true, thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}
    removeDuplicates: {enabled: false}
)");
  ASSERT_THAT(conversion.errors, IsEmpty());
  const Json spec = spec_of(conversion);
  ASSERT_EQ(spec.at("strategies").size(), 1U);
  EXPECT_EQ(spec["strategies"][0]["args"], Json({{"thresholds", {{"cpu", 20}}}, {"targetThresholds", {{"cpu", 50}}}}));
  EXPECT_EQ(spec["nodeSelector"], Json({{"matchLabels", {{"pool", "a"}}}}));
  EXPECT_EQ(spec["evictability"]["priorityThreshold"]["value"], 1000);
}

TEST(ConvertTrials, AdviceAboutTargetThresholdsLeadsToAPolicy) {
  std::string text = text_of(path_of("convert-hnu-target-thresholds", "policy.yaml"));
  const auto refused = convert(text);
  ASSERT_EQ(refused.errors.size(), 1U);
  EXPECT_THAT(refused.errors.front().to_string(), HasSubstr("remove it: nodes are filled up to their capacity"));
  const std::string line = "      targetThresholds: {cpu: 80, memory: 80}\n";
  text.erase(text.find(line), line.size());
  const auto conversion = convert(text);
  EXPECT_THAT(conversion.errors, IsEmpty());
  EXPECT_EQ(spec_of(conversion)["strategies"][0]["name"], "HighNodeUtilization");
}

constexpr auto kKoordinator = R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 60s
profiles:
- name: koord-descheduler
  plugins:
    deschedule: {disabled: [{name: "*"}]}
    balance: {enabled: [{name: LowNodeLoad}]}
    evict: {disabled: [{name: "*"}], enabled: [{name: MigrationController}]}
  pluginConfig:
  - name: MigrationController
    args: {apiVersion: descheduler/v1alpha2, kind: MigrationControllerArgs, maxMigratingPerNode: 2}
  - name: LowNodeLoad
    args:
      apiVersion: descheduler/v1alpha2
      kind: LowNodeLoadArgs
      evictableNamespaces: {exclude: [kube-system]}
      lowThresholds: {cpu: 20, memory: 30}
      highThresholds: {cpu: 50, memory: 60}
      anomalyCondition: {consecutiveAbnormalities: 5}
)";

TEST(ConvertTrials, KoordinatorsLowNodeLoadGoesByItsMetrics) {
  const std::string in_a_map = [] {
    std::istringstream lines(kKoordinator);
    std::string text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: k}\ndata:\n  koord-descheduler-config: |\n";
    for (std::string line; std::getline(lines, line);) text += "    " + line + "\n";
    return text;
  }();
  for (const std::string& text : {std::string(kKoordinator), in_a_map}) {
    const auto conversion = convert(text, fixed());
    ASSERT_THAT(conversion.errors, IsEmpty()) << conversion.errors.front().to_string();
    const Json spec = spec_of(conversion);
    ASSERT_EQ(spec.at("strategies").size(), 1U);
    const Json& args = spec["strategies"][0]["args"];
    EXPECT_EQ(spec["strategies"][0]["name"], "LowNodeUtilization");
    EXPECT_EQ(args["thresholds"], Json({{"cpu", 20}, {"memory", 30}}));
    EXPECT_EQ(args["targetThresholds"], Json({{"cpu", 50}, {"memory", 60}}));
    EXPECT_EQ(args["usage"], Json({{"source", "koordinator"}, {"hysteresis", {{"samples", 5}, {"of", 5}}}}));
    EXPECT_EQ(spec["usageSources"][0]["type"], "Koordinator");
    EXPECT_EQ(spec["schedule"]["interval"], "60s");
  }
}

TEST(ConvertTrials, NamesInAnotherCaseAreFound) {
  const auto legacy = convert(
      "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\n"
      "strategies: {removeduplicates: {enabled: true}}\n");
  EXPECT_EQ(spec_of(legacy)["strategies"][0]["name"], "RemoveDuplicates");
  const auto profile = convert(R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig: [{name: removeDuplicates, args: {}}]
  plugins: {balance: {enabled: [removeDuplicates]}}
)");
  EXPECT_THAT(profile.errors, IsEmpty());
  EXPECT_EQ(spec_of(profile)["strategies"][0]["name"], "RemoveDuplicates");
  EXPECT_THAT(notes_of(profile), Contains(HasSubstr("is read as RemoveDuplicates")));
}

/// The advice names the part that stands without the chart's defaults.
TEST(ConvertTrials, AdviceAboutAnUnknownObjectLeadsToItsPolicy) {
  const auto refused = convert(
      "apiVersion: example.com/v1\nkind: Tidy\nspec: {deschedulerPolicy: {strategies: "
      "{RemoveDuplicates: {enabled: true}}}}\n");
  ASSERT_FALSE(refused.errors.empty());
  EXPECT_EQ(refused.errors.front().path, "spec.deschedulerPolicy");
  const auto alone = convert("strategies: {RemoveDuplicates: {enabled: true}}\n");
  EXPECT_EQ(spec_of(alone)["strategies"].size(), 1U);
}

// ---------------------------------------------------------------- now

struct NewestCase {
  const char* name;
  const char* object;  ///< beside a Node that was made at 06:00
  const char* want;
};
class NewestTimes : public testing::TestWithParam<NewestCase> {};

TEST_P(NewestTimes, AreOfThePast) {
  NewestTime newest;
  newest.look_at(Json::parse(R"({"metadata": {"name": "n", "creationTimestamp": "2026-05-01T06:00:00Z"}})"), "Node");
  const Json object = Json::parse(GetParam().object);
  newest.look_at(object, object.at("kind"));
  EXPECT_EQ(base::format_time(*newest.time()), std::string("2026-05-01T") + GetParam().want + ":00Z") << newest.where();
}

#define AT(what) "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"x\"}, " what "}"
INSTANTIATE_TEST_SUITE_P(
    Of, NewestTimes,
    testing::Values(
        NewestCase{"Heartbeats", AT(R"("status": {"conditions": [{"lastHeartbeatTime": "2026-05-01T12:00:00Z"}]})"),
                   "12:00"},
        NewestCase{"ContainersThatEnded", AT(R"("status": {"containerStatuses": [{"state": {"terminated": {"finishedAt":
                   "2026-05-01T12:00:00Z"}}}]})"),
                   "12:00"},
        NewestCase{"ContainersThatBegan",
                   AT(R"("status": {"initContainerStatuses": [{"lastState": {"terminated": {"startedAt":
                   "2026-05-01T12:00:00Z"}}}]})"),
                   "12:00"},
        NewestCase{"Leases",
                   R"({"kind": "Lease", "metadata": {"name": "n"}, "spec": {"renewTime": "2026-05-01T12:00:00Z"}})",
                   "12:00"},
        NewestCase{"Events",
                   R"({"kind": "Event", "metadata": {"name": "e"}, "series": {"lastObservedTime":
                   "2026-05-01T12:00:00.123456Z"}, "eventTime": null, "lastTimestamp": "2026-05-01T11:00:00Z"})",
                   "12:00"},
        NewestCase{"ManagedFields",
                   R"({"kind": "ConfigMap", "metadata": {"name": "c", "managedFields": [{"time":
                   "2026-05-01T12:00:00Z"}]}})",
                   "12:00"},
        NewestCase{"NoDeletionsToCome",
                   R"({"kind": "Pod", "metadata": {"name": "p", "deletionTimestamp": "2026-05-01T12:00:00Z"}})",
                   "06:00"},
        NewestCase{"NoDeadlines",
                   AT(R"("status": {"nextCycleTime": "2026-05-01T12:00:00Z", "deadlineTime": "2026-05-01T12:00:00Z",
                   "renewalTime": "2026-05-01T12:00:00Z", "expirationTimestamp": "2026-05-01T12:00:00Z"})"),
                   "06:00"},
        NewestCase{"NothingExpected", AT(R"("status": {"expectedCompletionAt": "2026-05-01T12:00:00Z",
                   "responders": [{"expectedCompletionTime": "2026-05-01T12:00:00Z"}]})"),
                   "06:00"},
        NewestCase{"Measurements",
                   R"({"kind": "NodeMetrics", "metadata": {"name": "n"}, "timestamp": "2026-05-01T12:00:00Z",
                   "window": "30s"})",
                   "12:00"},
        NewestCase{"TaintsThatWereAdded",
                   R"({"kind": "Node", "metadata": {"name": "n"}, "spec": {"podCIDR": "x", "taints": [{"key": "k",
                   "timeAdded": "2026-05-01T12:00:00Z"}, {"key": "k", "timeAdded": null}, 7]}})",
                   "12:00"},
        NewestCase{"NoTaintsOfOtherKinds", AT(R"("spec": {"taints": [{"timeAdded": "2026-05-01T12:00:00Z"}]})"),
                   "06:00"},
        NewestCase{"NothingPlanned", AT(R"("status": {"scheduledTime": "2026-05-01T12:00:00Z",
                   "plannedStartTime": "2026-05-01T12:00:00Z", "windowStartTime": "2026-05-01T12:00:00Z"})"),
                   "06:00"},
        NewestCase{"SchedulesOfThePast", AT(R"("status": {"lastScheduleTime": "2026-05-01T12:00:00Z"})"), "12:00"},
        NewestCase{"NoSpecs", AT(R"("spec": {"startTime": "2026-05-01T12:00:00Z"})"), "06:00"},
        NewestCase{"NoAnnotations",
                   R"({"kind": "Pod", "metadata": {"name": "p", "annotations": {"stayTime": "2026-05-01T12:00:00Z"}}})",
                   "06:00"}),
    [](const auto& info) { return std::string(info.param.name); });
#undef AT

}  // namespace trials_test
}  // namespace cmd
