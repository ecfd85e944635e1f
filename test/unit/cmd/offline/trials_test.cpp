/// Trials: dumps and policies based on public bug reports (test/unit/cmd/offline/trials), run through the commands.

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/json/json.hpp"
#include "cmd/commands.hpp"
#include "cmd/input/dump_time.hpp"
#include "test/unit/cmd/command_fixture.hpp"
#include "test/unit/cmd/convert/convert_cases.hpp"

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
  std::vector<const char*> says{};  ///< expected text in the tables of simulate
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

TEST_P(Trials, HaveTheExpectedResult) {
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
                  {"NODES as classified by HighNodeUtilization: 2 nodes: 1 appropriately utilized, 1 out of scope",
                   "Note: no node is underutilized", "without gpu.example.com/a, which it does not publish",
                   "gpu.example.com/a 75.0 % of allocatable, above thresholds 40 %"}},
        TrialCase{"PodsOnTheirWayOut",
                  "level-terminating-pods",
                  0,
                  {"Note: no node is overutilized",
                   "cpu 90.0 % of allocatable, above thresholds 20 %; without the pods that are leaving it cpu ",
                   ", not above targetThresholds 50 %"}},
        TrialCase{
            "TimeOfAQuietDump",
            "now-of-a-quiet-dump",
            1,
            {"Policy clear-failed at 2026-05-01T12:00:00Z",
             "(the current time is the newest time in the dump (Node n-0, status.conditions[0].lastHeartbeatTime))"}},
        TrialCase{"NothingToLevel",
                  "level-nothing-said",
                  0,
                  {"no node is underutilized except cordoned nodes, which accept no pods: n-1",
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
                   "it violates its nodeSelector or required node affinity, but does not fit on any matching node: no "
                   "node matches"}},
        TrialCase{"DaemonSetsKeepNodesFull",
                  "pack-daemonsets-count",
                  0,
                  {"3 more would be underutilized without DaemonSet pods (ignoreDaemonSets)"}}),
    [](const auto& test) { return std::string(test.param.name); });

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
                          HasSubstr("no node is underutilized except cordoned nodes, which accept no pods: n-1"),
                          HasSubstr("the newest time in the dump (")));
}

// ---------------------------------------------------------------- convert

using convert_test::convert;
using convert_test::notes_of;
using convert_test::spec_of;

convert::UpstreamOptions fixed() {
  convert::UpstreamOptions options;
  options.compatibility = "None";
  return options;
}

TEST(ConvertTrials, StatesOfEndedPodsEvictThem) {
  const auto conversion = convert(text_of(path_of("convert-completed-state", "policy.yaml")), fixed());
  ASSERT_THAT(conversion.errors, IsEmpty());
  EXPECT_EQ(spec_of(conversion).at("strategies")[0].at("args").at("terminalPods"), Json({{"evict", true}}));
  EXPECT_THAT(notes_of(conversion), Contains(HasSubstr("Completed usually selects pods that have terminated")));
}

struct EndedCase {
  const char* args;
  const char* note;  ///< empty if no note is expected and the pods stay
};

TEST(ConvertTrials, CriteriaOfEndedPodsEvictThem) {
  const EndedCase cases[] = {
      {"exitCodes: [0]", "args.exitCodes: selects terminated containers, usually in pods that have terminated"},
      {"conditions: [{type: Ready, status: \"False\", reason: PodCompleted}]",
       "args.conditions: PodCompleted is a reason of pods that have terminated"},
      {"conditions: [{type: Ready}, {reason: PodFailed}]",
       "args.conditions: PodFailed is a reason of pods that have terminated"},
      {"states: [Pending, Error]", "args.states: Error usually selects pods that have terminated"},
      {"states: [CrashLoopBackOff], exitCodes: [1]", ""},
      {"conditions: [{type: Ready, reason: ContainersNotReady}]", ""},
      {"exitCodes: []", ""},
  };
  for (const EndedCase& each : cases) {
    const auto conversion =
        convert("profiles: [{name: p, pluginConfig: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 60, " +
                    std::string(each.args) + "}}], plugins: {deschedule: {enabled: [PodLifeTime]}}}]",
                fixed());
    convert_test::expect_valid(conversion);
    const Json args = spec_of(conversion).at("strategies")[0].at("args");
    EXPECT_EQ(args.value("terminalPods", Json()), *each.note == '\0' ? Json() : Json({{"evict", true}})) << each.args;
    if (*each.note == '\0') continue;
    EXPECT_THAT(notes_of(conversion), Contains(HasSubstr(each.note)));
  }
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

/// The parts of a file that the message "give it this part alone" refers to.
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
  EXPECT_EQ(spec["strategies"][0]["args"], Json({{"thresholds", {{"cpu", 20}, {"memory", 20}, {"pods", 20}}},
                                                 {"targetThresholds", {{"cpu", 50}, {"memory", 70}, {"pods", 70}}}}));
  EXPECT_EQ(spec["nodeSelector"], Json({{"matchLabels", {{"pool", "a"}}}}));
  EXPECT_EQ(spec["evictability"]["priorityThreshold"]["value"], 1000);
}

struct EnabledCase {
  const char* duplicates;  ///< settings of duplicates next to an enabled strategy
  bool want;
};

/// "default: false" in the CRD of v1alpha2; v1alpha1 requires the member.
TEST(ConvertTrials, DeckhousesStrategiesAreOffUnlessEnabled) {
  const EnabledCase cases[] = {
      {"{enabled: true}", true},  {"{enabled: false}", false}, {"{}", false},
      {"{enabled: null}", false}, {"{nodeFit: true}", false},
  };
  for (const EnabledCase& each : cases) {
    for (const char* version : {"v1alpha1", "v1alpha2"}) {
      const bool is_first = std::string_view(version) == "v1alpha1";
      const auto conversion =
          convert("apiVersion: deckhouse.io/" + std::string(version) + "\nkind: Descheduler\nspec: {" +
                      (is_first ? "deschedulerPolicy: {" : "") + "strategies: {removeDuplicates: " + each.duplicates +
                      ", lowNodeUtilization: {enabled: true}}}" + (is_first ? "}" : "") + "\n",
                  fixed());
      convert_test::expect_valid(conversion);
      EXPECT_EQ(std::ranges::count(convert_test::strategies_of(conversion), "RemoveDuplicates"), each.want ? 1 : 0)
          << version << each.duplicates;
      if (!each.want) {
        EXPECT_THAT(notes_of(conversion), Contains(HasSubstr("strategies.removeDuplicates: is not enabled")));
      }
    }
  }
}

struct ThresholdsCase {
  const char* strategy;
  const char* want;  ///< thresholds
};

TEST(ConvertTrials, DeckhousesDefaultsApplyPerResource) {
  const ThresholdsCase cases[] = {
      {"highNodeUtilization: {enabled: true}", R"({"cpu": 20, "memory": 20, "pods": 20})"},
      {"highNodeUtilization: {enabled: true, thresholds: {}}", R"({"cpu": 20, "memory": 20, "pods": 20})"},
      {"highNodeUtilization: {enabled: true, thresholds: {memory: 35}}", R"({"cpu": 20, "memory": 35, "pods": 20})"},
      {"highNodeUtilization: {enabled: true, thresholds: {cpu: null, example.com/gpu: 10}}",
       R"({"cpu": 20, "memory": 20, "pods": 20, "example.com/gpu": 10})"},
  };
  for (const ThresholdsCase& each : cases) {
    const auto conversion = convert("apiVersion: deckhouse.io/v1alpha2\nkind: Descheduler\nspec: {strategies: {" +
                                    std::string(each.strategy) + "}}\n");
    ASSERT_THAT(conversion.errors, IsEmpty()) << each.strategy;
    EXPECT_EQ(spec_of(conversion)["strategies"][0]["args"]["thresholds"], Json::parse(each.want)) << each.strategy;
  }
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

/// Returns a configuration whose MigrationController and LowNodeLoad have these args in addition to the thresholds.
std::string koordinator(const std::string& migration, const std::string& load = "", const std::string& top = "") {
  return "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n" + top +
         "profiles:\n- name: k\n  plugins: {balance: {enabled: [{name: LowNodeLoad}]}, evict: {enabled: [{name: "
         "MigrationController}]}}\n  pluginConfig:\n  - {name: MigrationController, args: {" +
         migration + "}}\n  - {name: LowNodeLoad, args: {lowThresholds: {cpu: 20}, highThresholds: {cpu: 50}" +
         (load.empty() ? "" : ", ") + load + "}}\n";
}

struct KeptCase {
  const char* name;
  const char* migration;  ///< args of MigrationController
  const char* load;       ///< additional args of LowNodeLoad
  const char* top;        ///< lines of the configuration
  const char* place;      ///< path in the spec
  const char* want;
};
class KoordinatorKeeps : public testing::TestWithParam<KeptCase> {};

TEST_P(KoordinatorKeeps, WhatItMayNotMove) {
  const auto conversion = convert(koordinator(GetParam().migration, GetParam().load, GetParam().top), fixed());
  convert_test::expect_valid(conversion);
  const Json spec = spec_of(conversion);
  EXPECT_EQ(spec.value(Json::json_pointer(GetParam().place), Json()), Json::parse(GetParam().want)) << spec.dump(1);
  EXPECT_THAT(notes_of(conversion), Not(Contains(HasSubstr("dropped"))));
}

INSTANTIATE_TEST_SUITE_P(
    As, KoordinatorKeeps,
    testing::Values(
        KeptCase{"Namespaces", "namespaces: {exclude: [prod]}", "", "", "/evictability/namespaces",
                 R"({"exclude": ["prod"]})"},
        KeptCase{"NamespacesOfBoth", "namespaces: {exclude: [prod]}", "evictableNamespaces: {include: [prod, shop]}",
                 "", "/evictability/namespaces", R"({"include": ["shop"]})"},
        KeptCase{"Labels", "labelSelector: {matchLabels: {app: a}}", "", "", "/evictability/labelSelector",
                 R"({"matchLabels": {"app": "a"}})"},
        KeptCase{"LabelsOfBoth", "labelSelector: {matchLabels: {app: a}}",
                 "podSelectors: [{name: s, selector: {matchLabels: {app: b, tier: c}}}]", "",
                 "/evictability/labelSelector",
                 R"({"matchLabels": {"app": "a", "tier": "c"},
                     "matchExpressions": [{"key": "app", "operator": "In", "values": ["b"]}]})"},
        KeptCase{"Priority", "priorityThreshold: {value: 9000}", "", "", "/evictability/priorityThreshold",
                 R"({"value": 9000})"},
        KeptCase{"Protections", "ignorePvcPods: true, evictLocalStoragePods: true, evictSystemCriticalPods: false", "",
                 "", "/evictability/podProtections",
                 R"({"defaultDisabled": ["PodsWithLocalStorage"], "extraEnabled": ["PodsWithPVC"]})"},
        KeptCase{"NodeFitOfOne", "nodeFit: false", "", "", "/evictability/nodeFit", "true"},
        KeptCase{"PodsInFlight",
                 "maxMigratingGlobally: 9, maxMigratingPerNode: 3, maxMigratingPerNamespace: 1, "
                 "maxMigratingPerWorkload: 10%",
                 "", "", "/limits/inFlight", R"({"total": 9, "perNode": 3, "perNamespace": 1, "perWorkload": "10%"})"},
        KeptCase{"NoLimit", "maxMigratingPerNode: 0", "", "", "/limits", "null"},
        KeptCase{"Rate", "evictQPS: \"10\", evictBurst: 2", "", "", "/limits/rate", R"({"perSecond": 10, "burst": 2})"},
        KeptCase{"PodsPerCycle", "", "", "maxNoOfPodsToEvictPerNode: 5\nmaxNoOfPodsToEvictTotal: 7\n",
                 "/limits/perCycle", R"({"perNode": 5, "total": 7})"},
        KeptCase{"Paused", "", "paused: true", "", "/suspend", "true"},
        KeptCase{"Nodes", "", "nodeSelector: {matchLabels: {pool: b}}", "nodeSelector: {matchLabels: {pool: a}}\n",
                 "/nodeSelector",
                 R"({"matchLabels": {"pool": "a"},
                     "matchExpressions": [{"key": "pool", "operator": "In", "values": ["b"]}]})"}),
    [](const auto& test) { return std::string(test.param.name); });

struct HysteresisCase {
  const char* load;
  std::uint32_t want;  ///< number of samples that must agree
};

/// Defaults from SetDefaults_LowNodeLoadArgs of koordinator v1alpha2.
TEST(ConvertTrials, KoordinatorsHysteresisHasItsDefault) {
  const HysteresisCase cases[] = {
      {"", 5},
      {"anomalyCondition: {timeout: 2m}", 5},
      {"anomalyCondition: {consecutiveAbnormalities: 0}", 5},
      {"anomalyCondition: {consecutiveAbnormalities: 1}", 1},
      {"anomalyCondition: {consecutiveAbnormalities: 50}", 20},
  };
  for (const HysteresisCase& each : cases) {
    const auto conversion = convert(koordinator("", each.load), fixed());
    convert_test::expect_valid(conversion);
    EXPECT_EQ(spec_of(conversion)["strategies"][0]["args"]["usage"]["hysteresis"],
              Json({{"samples", each.want}, {"of", each.want}}))
        << each.load;
  }
  EXPECT_THAT(
      notes_of(convert(koordinator("", cases[4].load), fixed())),
      Contains(HasSubstr("args.anomalyCondition.consecutiveAbnormalities: keeping 50 samples is not supported")));
  EXPECT_THAT(
      convert_test::errors_of(convert(koordinator("", "anomalyCondition: {consecutiveAbnormalities: -1}"), fixed())),
      Contains(HasSubstr("args.anomalyCondition.consecutiveAbnormalities: ")));
}

struct SelectorsCase {
  const char* selectors;
  std::vector<const char*> want;  ///< labelSelector of each policy; "null" if none
};

TEST(ConvertTrials, KoordinatorsPodSelectorsAreAlternatives) {
  const SelectorsCase cases[] = {
      {"", {"null"}},
      {"{name: a}", {"null"}},
      {"{name: a}, {selector: {matchLabels: {app: b}}}", {R"({"matchLabels": {"app": "b"}})"}},
      {"{selector: {}}, {selector: {matchLabels: {app: b}}}", {"{}"}},
      {"{selector: {matchLabels: {app: a}}}, {selector: {matchLabels: {app: b}}}",
       {R"({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]})"}},
      {"{selector: {matchLabels: {app: a, tier: c}}}, {selector: {matchLabels: {tier: c}, matchExpressions: "
       "[{key: app, operator: In, values: [d, b]}]}}",
       {R"({"matchLabels": {"tier": "c"},
            "matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b", "d"]}]})"}},
      {"{selector: {matchLabels: {app: a, tier: c}}}, {selector: {matchLabels: {app: b, tier: d}}}, "
       "{selector: {matchLabels: {app: b, tier: c}}}, {selector: {matchLabels: {app: a, tier: d}}}",
       {R"({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]},
                                 {"key": "tier", "operator": "In", "values": ["c", "d"]}]})"}},
      {"{selector: {matchLabels: {app: a}}}, {selector: {matchLabels: {app: a, tier: c}}}",
       {R"({"matchLabels": {"app": "a"}})"}},
      {"{name: web, selector: {matchLabels: {app: a}}}, {name: batch, selector: {matchLabels: {tier: c}}}",
       {R"({"matchLabels": {"app": "a"}})", R"({"matchLabels": {"tier": "c"}})"}},
      {"{selector: {matchExpressions: [{key: app, operator: Exists}]}}, {selector: {matchExpressions: [{key: app, "
       "operator: NotIn, values: [a]}]}}",
       {R"({"matchExpressions": [{"key": "app", "operator": "Exists"}]})",
        R"({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]})"}},
  };
  for (const SelectorsCase& each : cases) {
    const auto conversion = convert(koordinator("", std::string("podSelectors: [") + each.selectors + "]"), fixed());
    convert_test::expect_valid(conversion);
    ASSERT_EQ(conversion.policies.size(), each.want.size()) << each.selectors;
    for (std::size_t i = 0; i < each.want.size(); ++i) {
      const Json spec = spec_of(conversion, i);
      EXPECT_EQ(spec["evictability"].value("labelSelector", Json()), Json::parse(each.want[i])) << each.selectors;
      EXPECT_EQ(spec["strategies"].size(), 1U);
      EXPECT_EQ(spec["usageSources"].size(), 1U);
    }
    EXPECT_THAT(notes_of(conversion), Not(Contains(HasSubstr("dropped")))) << each.selectors;
  }
}

TEST(ConvertTrials, PoliciesOfSeveralPodSelectorsAreNamedAndNoted) {
  const auto conversion = convert(
      koordinator(
          "labelSelector: {matchLabels: {env: p}}, evictQPS: 10",
          "podSelectors: [{name: web, selector: {matchLabels: {app: a}}}, {selector: {matchLabels: {tier: c}}}]"),
      fixed());
  convert_test::expect_valid(conversion);
  EXPECT_EQ(convert_test::names_of(conversion), (std::vector<std::string>{"k-web", "k"}));
  EXPECT_EQ(spec_of(conversion, 1)["evictability"]["labelSelector"],
            Json::parse(R"({"matchLabels": {"env": "p", "tier": "c"}})"));
  EXPECT_THAT(notes_of(conversion),
              AllOf(Contains(HasSubstr("args.podSelectors: becomes 2 policies, one for each selector")),
                    Contains(HasSubstr("args.evictQPS: applies to each of the 2 policies"))));
}

TEST(ConvertTrials, PodSelectorsThatWouldBeTooManyPoliciesAreRefused) {
  std::string selectors;
  for (int i = 0; i < 17; ++i)
    selectors += std::string(i == 0 ? "" : ", ") + "{selector: {matchLabels: {key" + std::to_string(i) + ": a}}}";
  EXPECT_THAT(convert_test::errors_of(convert(koordinator("", "podSelectors: [" + selectors + "]"), fixed())),
              testing::ElementsAre(AllOf(HasSubstr("args.podSelectors: would become 17 policies"),
                                         HasSubstr("give the pods one label that podSelectors selects"))));
}

/// The note must also contain the path.
struct UnknownCase {
  const char* migration;
  const char* load;
  const char* top;
  const char* note;
};

TEST(ConvertTrials, NothingOfKoordinatorsIsLostInSilence) {
  const UnknownCase cases[] = {
      {"", "", "maxPods: 3\n", "dropped maxPods: unknown field"},
      {"maxMoving: 3", "", "", "dropped profiles[0].pluginConfig[0].args.maxMoving: unknown field"},
      {"namespaces: {only: [a]}", "", "", "dropped profiles[0].pluginConfig[0].args.namespaces.only: unknown field"},
      {"maxUnavailablePerWorkload: 2", "", "",
       "dropped profiles[0].pluginConfig[0].args.maxUnavailablePerWorkload: has no equivalent"},
      {"evictQPS: 0.5", "", "", "dropped profiles[0].pluginConfig[0].args.evictQPS: only whole numbers"},
      {"", "evictableNamespaces: {only: [a]}", "",
       "dropped profiles[0].pluginConfig[1].args.evictableNamespaces.only: unknown field"},
      {"defaultJobMode: ReservationFirst", "", "",
       "changed profiles[0].pluginConfig[0].args.defaultJobMode: configures PodMigrationJobs"},
  };
  for (const UnknownCase& each : cases) {
    const auto conversion = convert(koordinator(each.migration, each.load, each.top), fixed());
    convert_test::expect_valid(conversion);
    EXPECT_THAT(notes_of(conversion), Contains(testing::StartsWith(each.note)));
  }
}

TEST(ConvertTrials, DryRunsOfKoordinatorStayDryRuns) {
  convert::UpstreamOptions options = fixed();
  options.mode = api::PolicyMode::kAutomatic;
  for (const auto& text : {koordinator("", "", "dryRun: true\n"), koordinator("dryRun: true"),
                           koordinator("", "dryRun: true"), koordinator("dryRun: false")}) {
    const auto conversion = convert(text, options);
    convert_test::expect_valid(conversion);
    const bool dry = text.find("dryRun: true") != std::string::npos;
    EXPECT_EQ(conversion.policies.at(0)["spec"]["mode"], dry ? "DryRun" : "Automatic") << text;
    EXPECT_EQ(notes_of(conversion).size(), dry ? 2U : 1U) << text;
  }
}

/// Each strategy becomes one policy. Only limits that are set get a note.
TEST(ConvertTrials, KoordinatorsLimitsHoldForEachPolicy) {
  std::string text = koordinator("evictQPS: 10");
  text.replace(text.find("plugins: {"), 10, "plugins: {deschedule: {enabled: [{name: RemoveDuplicates}]}, ");
  const auto conversion = convert(text, fixed());
  convert_test::expect_valid(conversion);
  ASSERT_EQ(conversion.policies.size(), 2U);
  EXPECT_EQ(spec_of(conversion, 0)["limits"], spec_of(conversion, 1)["limits"]);
  EXPECT_THAT(notes_of(conversion), Contains(HasSubstr("args.evictQPS: applies to each of the 2 policies")));
  EXPECT_THAT(notes_of(conversion), Not(Contains(HasSubstr("evictBurst"))));
}

TEST(ConvertTrials, SelectorsOfWrongTypesAreComplainedAbout) {
  for (const auto& text :
       {koordinator("", "nodeSelector: [a]", "nodeSelector: {matchLabels: {a: b}}\n"),
        koordinator("", "nodeSelector: {matchLabels: {a: b}}", "nodeSelector: true\n"),
        koordinator("labelSelector: {matchLabels: {a: b}}", "podSelectors: [{selector: [a]}]"),
        koordinator("", "podSelectors: {selector: {matchLabels: {a: b}}}"),
        koordinator("", "podSelectors: [{selector: {matchLabels: {a: b}}}, {selector: [a]}]"),
        koordinator("", "podSelectors: [{selector: {matchLabels: {a: b}}}, {selector: {matchLabels: {a: 1}}}]"),
        koordinator("",
                    "podSelectors: [{selector: {matchExpressions: [{key: 1, operator: In, values: [a]}]}}, "
                    "{selector: {matchExpressions: [{key: 1, operator: In, values: [b]}]}}]"),
        koordinator("labelSelector: text", "podSelectors: [{selector: {matchLabels: {a: b}}}]")})
    EXPECT_FALSE(convert(text, fixed()).errors.empty()) << text;
}

TEST(ConvertTrials, KoordinatorsNamespacesMustMeet) {
  const auto conversion =
      convert(koordinator("namespaces: {exclude: [shop]}", "evictableNamespaces: {include: [shop]}"), fixed());
  EXPECT_THAT(convert_test::errors_of(conversion),
              Contains(HasSubstr("profiles[0].pluginConfig[0].args.namespaces: allows none of the namespaces")));
}

// ---------------------------------------------------------------- paths in messages

#define DECKHOUSE(version, spec) "apiVersion: deckhouse.io/" version "\nkind: Descheduler\nspec: {" spec "}\n"
#define KOORDINATOR(configs)                                                      \
  "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\nprofiles:\n" \
  "- {plugins: {balance: {enabled: [{name: LowNodeLoad}]}}, pluginConfig: [" configs "]}\n"

struct PlaceCase {
  const char* name;
  const char* text;
  const char* says;  ///< expected text of a note or error
};
class Places : public testing::TestWithParam<PlaceCase> {};

TEST_P(Places, AreThoseOfTheInput) {
  const auto conversion = convert(GetParam().text, fixed());
  std::vector<std::string> said = notes_of(conversion);
  for (const std::string& error : convert_test::errors_of(conversion)) said.push_back(error);
  EXPECT_THAT(said, Contains(HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Places,
    testing::Values(
        PlaceCase{"ArgsOfDeckhouse",
                  DECKHOUSE("v1alpha1",
                            "deschedulerPolicy: {strategies: {removePodsViolatingTopologySpreadConstraint: "
                            "{enabled: true, constraints: [DoNotSchedule]}}}"),
                  "spec.deschedulerPolicy.strategies.removePodsViolatingTopologySpreadConstraint.constraints: unknown"},
        PlaceCase{"NestedArgsOfDeckhouse",
                  DECKHOUSE("v1alpha2", "strategies: {lowNodeUtilization: {enabled: true, thresholds: {cpu: 120}}}"),
                  "spec.strategies.lowNodeUtilization.thresholds.cpu: 120"},
        PlaceCase{"FiltersOfDeckhouse",
                  DECKHOUSE("v1alpha1",
                            "deschedulerPolicy: {strategies: {removeDuplicates: {enabled: true, "
                            "priorityFilter: {thresholdPriority: 1, thresholdPriorityClassName: a}}}}"),
                  "strategies.removeDuplicates.priorityFilter.thresholdPriority: only one"},
        PlaceCase{"GlobalParametersOfDeckhouse",
                  DECKHOUSE("v1alpha1",
                            "deschedulerPolicy: {globalParameters: {maxNoOfPodsToEvictPerNode: 3}, "
                            "strategies: {removeDuplicates: {enabled: true, nodeFit: true}, "
                            "podLifeTime: {enabled: true, maxPodLifeTimeSeconds: 60}}}"),
                  "spec.deschedulerPolicy.globalParameters.maxNoOfPodsToEvictPerNode: applies to each of the 2"},
        PlaceCase{"PodsOfDeckhouse",
                  DECKHOUSE("v1alpha2",
                            "podLabelSelector: {matchLabels: {app: 1}}, strategies: {removeDuplicates: "
                            "{enabled: true}}"),
                  "spec.podLabelSelector.matchLabels.app: must be a string"},
        PlaceCase{
            "StatesOfTwoLists",
            "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {PodLifeTime: {enabled: true, "
            "params: {podLifeTime: {podStatusPhases: [Pending], states: [Pending, Completed]}}}}",
            "strategies.PodLifeTime.params.podLifeTime.states[1]: Completed usually selects"},
        PlaceCase{
            "PhasesOfTwoLists",
            "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {PodLifeTime: {enabled: true, "
            "params: {podLifeTime: {podStatusPhases: [Pending], states: [Failed]}}}}",
            "strategies.PodLifeTime.params.podLifeTime.states[0]: selects pods that have terminated"},
        PlaceCase{"LowNodeLoad", KOORDINATOR("{name: LowNodeLoad, args: {}}"),
                  "profiles[0].pluginConfig[0].args.lowThresholds: is required"},
        PlaceCase{"LowNodeLoadWithoutArgs", KOORDINATOR(""),
                  "profiles[0].pluginConfig.LowNodeLoad.args.highThresholds: is required"},
        PlaceCase{"PoolsOfLowNodeLoad",
                  KOORDINATOR("{name: LowNodeLoad, args: {lowThresholds: {cpu: 20}, highThresholds: {cpu: 50}, "
                              "nodePools: [{name: a, nodeSelector: {matchLabels: {b: c}}, lowThresholds: {cpu: 120}, "
                              "highThresholds: {cpu: 130}}]}}"),
                  "profiles[0].pluginConfig[0].args.nodePools[0].lowThresholds.cpu: 120"}),
    [](const auto& test) { return std::string(test.param.name); });

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

/// The advice names the part that is converted without the chart's defaults.
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
  const char* object;  ///< object next to a Node that was created at 06:00
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
    [](const auto& test) { return std::string(test.param.name); });
#undef AT

}  // namespace trials_test
}  // namespace cmd
