#include "planner/strategies/catalog.hpp"

#include <gmock/gmock.h>

namespace strategies {
namespace catalog_test {

struct ArgsCase {
  std::string name;
  std::string strategy;
  std::string args;
  std::string want;  ///< Text that an error must contain, empty if the arguments are valid
};

class CatalogTest : public testing::TestWithParam<ArgsCase> {};

TEST_P(CatalogTest, ChecksArguments) {
  const ArgsCase& c = GetParam();
  const api::FieldErrors errors = validate({{"PodLifeTime", R"({"maxPodLifeTimeSeconds": 1})"}, {c.strategy, c.args}});
  std::string text;
  for (const api::FieldError& error : errors) text += error.to_string() + "\n";
  if (c.want.empty()) {
    EXPECT_EQ(text, "");
  } else {
    EXPECT_THAT(text, testing::HasSubstr(c.want));
    EXPECT_THAT(text, testing::StartsWith("spec.strategies[1]"));
  }
}

constexpr auto kLow = "LowNodeUtilization";
constexpr auto kLife = "PodLifeTime";

INSTANTIATE_TEST_SUITE_P(
    Names, CatalogTest,
    testing::Values(ArgsCase{"RefusesAnUnknownName", "Nope", "{}", "[1].name: \"Nope\" is not a strategy; known are "},
                    ArgsCase{"GuessesAMisspelling", "PodLifetime", "{}", "did you mean \"PodLifeTime\"?"},
                    ArgsCase{"RequiresAName", "", "{}", "[1].name: is required"},
                    ArgsCase{"RefusesWhatIsNoJson", kLife, "{", "[1].args: "},
                    ArgsCase{"RefusesWhatIsNoObject", kLife, "[]", "[1].args: must be an object"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    LowNodeUtilization, CatalogTest,
    testing::Values(
        ArgsCase{"AcceptsAllArguments", kLow,
                 R"({"thresholds":{"cpu":20,"nvidia.com/gpu":0},"targetThresholds":{"cpu":50.5,"nvidia.com/gpu":100},
                     "numberOfNodes":2,"evictableNamespaces":{"exclude":["kube-system"]},"evictionLimits":{"node":3}})",
                 ""},
        ArgsCase{"AcceptsEqualThresholds", kLow, R"({"thresholds":{"cpu":50},"targetThresholds":{"cpu":50}})", ""},
        ArgsCase{"RequiresThresholds", kLow, R"({"targetThresholds":{"cpu":50}})", "args.thresholds: is required"},
        ArgsCase{"RequiresTargets", kLow, R"({"thresholds":{"cpu":50}})", "args.targetThresholds: is required"},
        ArgsCase{"RefusesEmptyThresholds", kLow, R"({"thresholds":{},"targetThresholds":{}})",
                 "args.thresholds: is required"},
        ArgsCase{"RefusesMoreThanAll", kLow, R"({"thresholds":{"cpu":120},"targetThresholds":{"cpu":50}})",
                 "spec.strategies[1].args.thresholds.cpu: 120 is above 100"},
        ArgsCase{"RefusesLessThanNothing", kLow, R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":-0.5}})",
                 "args.targetThresholds.cpu: -0.5 is below 0"},
        ArgsCase{"RefusesText", kLow, R"({"thresholds":{"cpu":"20"},"targetThresholds":{"cpu":50}})",
                 "must be a number, not a string"},
        ArgsCase{"RefusesDifferentResources", kLow, R"({"thresholds":{"cpu":1},"targetThresholds":{"memory":50}})",
                 "args.targetThresholds: must name the same resources as thresholds"},
        ArgsCase{"RefusesThresholdsAboveTargets", kLow, R"({"thresholds":{"cpu":60},"targetThresholds":{"cpu":50}})",
                 "args.thresholds.cpu: 60 is above targetThresholds, which is 50"},
        ArgsCase{"AllowsThemAsDeviations", kLow,
                 R"({"useDeviationThresholds":true,"thresholds":{"cpu":60},"targetThresholds":{"cpu":50}})", ""},
        ArgsCase{"RefusesIncludedNamespaces", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"evictableNamespaces":{"include":["a"]}})",
                 "args.evictableNamespaces.include: only exclude is supported here"},
        ArgsCase{"TakesAnEmptyListOfIncludedNamespaces", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"evictableNamespaces":{"include":[]}})", ""},
        ArgsCase{
            "RefusesAWildcardOfNamespaces", kLow,
            R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"evictableNamespaces":{"exclude":["kube-*"]}})",
            "args.evictableNamespaces.exclude[0]: \"kube-*\" is not a namespace name"},
        ArgsCase{"RefusesANegativeNumberOfNodes", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"numberOfNodes":-5})",
                 "args.numberOfNodes: -5 is below 0"},
        ArgsCase{"RefusesAMisspeltResource", kLow, R"({"thresholds":{"cpuu":1},"targetThresholds":{"cpuu":50}})",
                 "args.thresholds.cpuu: \"cpuu\" is not a resource of a node, did you mean \"cpu\"?"},
        ArgsCase{"RefusesAResourceOfNoName", kLow, R"({"thresholds":{"":1},"targetThresholds":{"":50}})",
                 "is not a resource of a node"},
        ArgsCase{"RefusesTheResourceOfMeasuredUsage", kLow,
                 R"({"thresholds":{"MetricResource":1},"targetThresholds":{"MetricResource":50}})",
                 "args.thresholds.MetricResource: \"MetricResource\" is not a resource of a node"},
        ArgsCase{"TakesEveryResourceOfANode", kLow,
                 R"({"thresholds":{"ephemeral-storage":1,"hugepages-2Mi":1,"pods":1,"a.b/c":1},
                     "targetThresholds":{"ephemeral-storage":1,"hugepages-2Mi":1,"pods":1,"a.b/c":1}})",
                 ""},
        ArgsCase{"RefusesANegativeNumberOfNodesToEmpty", "HighNodeUtilization",
                 R"({"thresholds":{"cpu":1},"numberOfNodes":-1})", "args.numberOfNodes: -1 is below 0"},
        ArgsCase{
            "TakesKubernetesMetrics", kLow,
            R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"metricsUtilization":{"source":"KubernetesMetrics"}})",
            ""},
        ArgsCase{
            "TakesTheOldSpellingOfKubernetesMetrics", kLow,
            R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"metricsUtilization":{"metricsServer":true}})",
            ""},
        ArgsCase{
            "TakesAQuery", kLow,
            R"({"thresholds":{"MetricResource":1},"targetThresholds":{"MetricResource":50},"metricsUtilization":{"source":"Prometheus","prometheus":{"query":"q"}}})",
            ""},
        ArgsCase{
            "RefusesKubernetesMetricsInBothSpellings", kLow,
            R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"metricsUtilization":{"source":"KubernetesMetrics","metricsServer":true}})",
            "args.metricsUtilization.metricsServer: is the deprecated form"},
        ArgsCase{
            "RefusesAQueryOfKubernetesMetrics", kLow,
            R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"metricsUtilization":{"source":"KubernetesMetrics","prometheus":{"query":"q"}}})",
            "args.metricsUtilization.prometheus: cannot be combined with"},
        ArgsCase{
            "RequiresTheQuery", kLow,
            R"({"thresholds":{"MetricResource":1},"targetThresholds":{"MetricResource":50},"metricsUtilization":{"source":"Prometheus","prometheus":{}}})",
            "args.metricsUtilization.prometheus.query: is required"},
        ArgsCase{"RequiresASourceOfMetrics", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"metricsUtilization":{}})",
                 "args.metricsUtilization.source: is required"},
        ArgsCase{"RefusesUnknownSourcesOfMetrics", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"metricsUtilization":{"source":"Graphite"}})",
                 "args.metricsUtilization.source: "},
        ArgsCase{
            "RefusesOtherResourcesOfAQuery", kLow,
            R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"metricsUtilization":{"source":"Prometheus","prometheus":{"query":"q"}}})",
            "args.thresholds.cpu: a Prometheus query measures only MetricResource"},
        ArgsCase{"HasNoMetricsWhereUpstreamHasNone", "HighNodeUtilization",
                 R"({"thresholds":{"cpu":1},"metricsUtilization":{"source":"KubernetesMetrics"}})",
                 "args.metricsUtilization: "},
        ArgsCase{"TakesUsageOfASource", kLow,
                 R"({"thresholds":{"psi":1},"targetThresholds":{"psi":50},
                     "usage":{"source":"prom","forecast":false,"hysteresis":{"samples":2,"of":4}}})",
                 ""},
        ArgsCase{"RequiresTheSource", kLow, R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"usage":{}})",
                 "args.usage.source: is required"},
        ArgsCase{"RefusesMoreSamplesThanThereAre", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},
                     "usage":{"source":"prom","hysteresis":{"samples":6}}})",
                 "args.usage.hysteresis.samples: 6 is not between 0 and of, which is 5"},
        ArgsCase{"TakesAsManySamplesAsAreKept", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},
                     "usage":{"source":"prom","hysteresis":{"samples":20,"of":20}}})",
                 ""},
        ArgsCase{"RefusesMoreSamplesThanAreKept", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},
                     "usage":{"source":"prom","hysteresis":{"samples":3,"of":21}}})",
                 "args.usage.hysteresis.of: 21 is not between 1 and 20: no more samples are kept per node"},
        ArgsCase{"RefusesTwoKindsOfUsage", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"usage":{"source":"prom"},
                     "metricsUtilization":{"source":"KubernetesMetrics"}})",
                 "args.usage: cannot be combined with metricsUtilization"},
        ArgsCase{"TakesPoolsInsteadOfThresholds", kLow,
                 R"({"nodePools":[{"name":"gpu","nodeSelector":{"matchLabels":{"a":"b"}},"thresholds":{"cpu":1},
                     "targetThresholds":{"cpu":50}}]})",
                 ""},
        ArgsCase{"RefusesPoolsOfOneName", kLow,
                 R"({"nodePools":[{"name":"a","thresholds":{"cpu":1},"targetThresholds":{"cpu":50}},
                                  {"name":"a","thresholds":{"cpu":1},"targetThresholds":{"cpu":50}}]})",
                 "args.nodePools[1].name: is the name of another pool"},
        ArgsCase{"RefusesPoolsOfOtherResources", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},
                     "nodePools":[{"name":"a","thresholds":{"memory":1},"targetThresholds":{"memory":50}}]})",
                 "args.nodePools[0]: must name the same resources"},
        ArgsCase{"RefusesAMisspeltFieldOfAPool", kLow,
                 R"({"nodePools":[{"name":"a","selector":{},"thresholds":{"cpu":1},"targetThresholds":{"cpu":50}}]})",
                 "args.nodePools[0].selector: "},
        ArgsCase{"TakesATargetLoad", "TargetLoadPacking", R"({"usage":{"source":"prom"},"target":{"cpu":60}})", ""},
        ArgsCase{"NeedsUsageToPackByLoad", "TargetLoadPacking", R"({"target":{"cpu":60}})", "args.usage: is required"},
        ArgsCase{"RefusesATargetOfEverything", "TargetLoadPacking",
                 R"({"usage":{"source":"prom"},"target":{"cpu":100}})",
                 "args.target.cpu: 100 is not between 0 and 100"},
        ArgsCase{"RefusesUnknownArguments", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"tresholds":1})", "args.tresholds: "},
        ArgsCase{"RefusesANegativeNodeLimit", kLow,
                 R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50},"evictionLimits":{"node":-1}})",
                 "args.evictionLimits.node: "}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(PodCriteria, CatalogTest,
                         testing::Values(ArgsCase{"TakesTheLastStateWithReasons", "PodCriteria",
                                                  R"({"reasons":["OOMKilled"],"includingLastState":true})", ""},
                                         ArgsCase{"RefusesTheLastStateOfNothing", "PodCriteria",
                                                  R"({"minAgeSeconds":1,"includingLastState":true})",
                                                  "args.includingLastState: requires reasons or exitCodes"}),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    PodLifeTime, CatalogTest,
    testing::Values(
        ArgsCase{
            "AcceptsAllArguments", kLife,
            R"({"maxPodLifeTimeSeconds":0,"states":["Failed","OOMKilled"],"conditions":[{"type":"Ready","status":"False"}],
                     "exitCodes":[-1,137],"ownerKinds":{"exclude":["Job"]},"labelSelector":{"matchLabels":{"a":"b"}},
                     "namespaces":{"include":["a"]},"includingInitContainers":true,"includingEphemeralContainers":true,"terminalPods":{"evict":true}})",
            ""},
        ArgsCase{"RequiresACriterion", kLife, R"({"ownerKinds":{"include":["Job"]}})",
                 "[1].args: requires at least one of"},
        ArgsCase{"TakesEmptyListsForNone", kLife, R"({"states":[]})", "[1].args: requires at least one of"},
        ArgsCase{"RefusesUnknownStates", kLife, R"({"states":["Failed","CrashLoop"]})",
                 "args.states[1]: \"CrashLoop\" is not one of"},
        ArgsCase{"RefusesANegativeAge", kLife, R"({"maxPodLifeTimeSeconds":-1})",
                 "args.maxPodLifeTimeSeconds: must not be negative"},
        ArgsCase{"RefusesBothKindsOfNamespaces", kLife,
                 R"({"maxPodLifeTimeSeconds":1,"namespaces":{"include":["a"],"exclude":["b"]}})",
                 "args.namespaces: only one of include and exclude can be set"},
        ArgsCase{"RefusesNamesThatNoNamespaceHas", kLife,
                 R"({"maxPodLifeTimeSeconds":1,"namespaces":{"include":["a","kube-*"]}})",
                 "args.namespaces.include[1]: \"kube-*\" is not a namespace name"},
        ArgsCase{"RefusesThemInRetentionToo", kLife,
                 R"({"maxPodLifeTimeSeconds":1,"terminalPods":{"retention":[{"namespaces":{"exclude":["A"]}}]}})",
                 "args.terminalPods.retention[0].namespaces.exclude[0]: \"A\" is not a namespace name"},
        ArgsCase{"RefusesBothKindsOfOwners", kLife,
                 R"({"maxPodLifeTimeSeconds":1,"ownerKinds":{"include":["a"],"exclude":["b"]}})",
                 "args.ownerKinds: only one of include and exclude can be set"},
        ArgsCase{"RefusesAnEmptyCondition", kLife, R"({"conditions":[{"type":"Ready"},{}]})",
                 "args.conditions[1]: must set at least one"},
        ArgsCase{"RefusesUnknownFieldsOfConditions", kLife, R"({"conditions":[{"typo":"Ready"}]})",
                 "args.conditions[0].typo: "},
        ArgsCase{"RefusesSelectorsThatDoNotParse", kLife,
                 R"({"maxPodLifeTimeSeconds":1,"labelSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}})",
                 "args.labelSelector.matchExpressions[0].values: "},
        ArgsCase{"RefusesFractionalExitCodes", kLife, R"({"exitCodes":[1.5]})",
                 "args.exitCodes[0]: must be a whole number"},
        ArgsCase{"RefusesHugeExitCodes", kLife, R"({"exitCodes":[4294967296]})",
                 "args.exitCodes[0]: must be a whole number"}),
    [](const auto& test) { return test.param.name; });

TEST(Catalog, KeepsTheOthersWhenOneIsInvalid) {
  const StrategySpecs parsed = parse_strategies({{"Nope", "{}"}, {"PodLifeTime", R"({"maxPodLifeTimeSeconds": 1})"}});
  EXPECT_EQ(parsed.errors.size(), 1U);
  ASSERT_EQ(parsed.runnable.size(), 1U);
  EXPECT_EQ(parsed.runnable[0].position, 1U);
  EXPECT_EQ(parsed.runnable[0].strategy->name(), "PodLifeTime");
}

constexpr auto kDefragment = "Defragmentation";

INSTANTIATE_TEST_SUITE_P(
    Defragmentation, CatalogTest,
    testing::Values(
        ArgsCase{"AcceptsAllArguments", kDefragment,
                 R"({"minNodesFreed":2,"maxMoves":100,"maxDisruptionPerWorkload":"25%","timeBudget":"2m",
                     "nodeSelector":{"matchLabels":{"pool":"a"}},"headroom":{"cpu":5},
                     "emptyFirst":[{"label":"price"},{"label":"rack"},{"nodeSelector":{"matchLabels":{"old":"yes"}}},
                                   {"age":"OldestFirst"}],
                     "weights":{"nodeFreed":4,"move":3.5}})",
                 ""},
        ArgsCase{"AcceptsTheShortestTime", kDefragment, R"({"timeBudget":"100ms"})", ""},
        ArgsCase{"RefusesNoMoves", kDefragment, R"({"maxMoves":0})", "args.maxMoves: 0 is below 1"},
        ArgsCase{"RefusesLessThanNoMoves", kDefragment, R"({"maxMoves":-1})", "args.maxMoves: -1 is below 1"},
        ArgsCase{"RefusesAPlanForNothing", kDefragment, R"({"minNodesFreed":0})", "args.minNodesFreed: 0 is below 1"},
        ArgsCase{"RefusesNoDisruption", kDefragment, R"({"maxDisruptionPerWorkload":0})",
                 "args.maxDisruptionPerWorkload: 0 is below 1"},
        ArgsCase{"RefusesNoTime", kDefragment, R"({"timeBudget":"0s"})", "args.timeBudget: must be between"},
        ArgsCase{"RefusesTooLittleTime", kDefragment, R"({"timeBudget":"99ms"})", "args.timeBudget: must be between"},
        ArgsCase{"RefusesTooMuchTime", kDefragment, R"({"timeBudget":"121s"})", "args.timeBudget: must be between"},
        ArgsCase{"RefusesAMoveThatCostsANode", kDefragment, R"({"weights":{"nodeFreed":2,"move":2}})",
                 "args.weights.move: must be below nodeFreed"},
        ArgsCase{"RefusesAMoveThatCostsMore", kDefragment, R"({"weights":{"move":2}})",
                 "args.weights.move: must be below nodeFreed"},
        ArgsCase{"RefusesAMoveThatPays", kDefragment, R"({"weights":{"move":-1}})",
                 "args.weights.move: must not be below 0"},
        ArgsCase{"RefusesAWorthlessNode", kDefragment, R"({"weights":{"nodeFreed":0}})",
                 "args.weights.nodeFreed: must be above 0"},
        ArgsCase{"RefusesTwoOrdersInOne", kDefragment, R"({"emptyFirst":[{"label":"price","age":"OldestFirst"}]})",
                 "args.emptyFirst[0]: requires exactly one of"},
        ArgsCase{"RefusesNoOrderInOne", kDefragment, R"({"emptyFirst":[{}]})",
                 "args.emptyFirst[0]: requires exactly one of"},
        ArgsCase{"RefusesTheSameOrderTwice", kDefragment,
                 R"({"emptyFirst":[{"label":"price"},{"age":"OldestFirst"},{"label":"price"}]})",
                 "args.emptyFirst[2]: uses the same criterion as an earlier entry"},
        ArgsCase{"RefusesAnOrderAndItsOpposite", kDefragment,
                 R"({"emptyFirst":[{"age":"OldestFirst"},{"age":"YoungestFirst"}]})",
                 "args.emptyFirst[1]: uses the same criterion as an earlier entry"}),
    [](const auto& test) { return test.param.name; });

constexpr auto kAlternate = "AlternatingUtilization";
constexpr auto kPrefer = "PreferredPlacement";

std::string halves(const std::string& more = "") {
  return R"({"lowNodeUtilization":{"thresholds":{"cpu":60},"targetThresholds":{"cpu":75}},
             "highNodeUtilization":{"thresholds":{"cpu":60}})" +
         more + "}";
}

INSTANTIATE_TEST_SUITE_P(
    AlternatingUtilization, CatalogTest,
    testing::Values(
        ArgsCase{"TakesBothHalves", kAlternate, halves(), ""},
        ArgsCase{"TakesAllArguments", kAlternate,
                 halves(R"(,"maxRounds":3,"minGain":{"nodesFreed":2,"imbalance":1.5},"settleTimeout":"1h")"), ""},
        ArgsCase{"TakesTheExtreme", kAlternate,
                 R"({"lowNodeUtilization":{"thresholds":{"cpu":60},"targetThresholds":{"cpu":75}},
                     "highNodeUtilization":{"thresholds":{"cpu":100}}})",
                 ""},
        ArgsCase{"RequiresTheHalfThatLevels", kAlternate, R"({"highNodeUtilization":{"thresholds":{"cpu":60}}})",
                 "args.lowNodeUtilization: is required"},
        ArgsCase{"RequiresTheHalfThatPacks", kAlternate,
                 R"({"lowNodeUtilization":{"thresholds":{"cpu":60},"targetThresholds":{"cpu":75}}})",
                 "args.highNodeUtilization: is required"},
        ArgsCase{"ChecksTheHalves", kAlternate,
                 R"({"lowNodeUtilization":{"thresholds":{"cpu":60},"targetThresholds":{"cpu":50}},
                     "highNodeUtilization":{"thresholds":{"cpu":60}}})",
                 "args.lowNodeUtilization.thresholds.cpu: 60 is above targetThresholds, which is 50"},
        ArgsCase{"RefusesATypoInAHalf", kAlternate,
                 R"({"lowNodeUtilization":{"thresholds":{"cpu":60},"targetThresholds":{"cpu":75}},
                     "highNodeUtilization":{"threshold":{"cpu":60}}})",
                 "args.highNodeUtilization.threshold"},
        ArgsCase{"RefusesNoRounds", kAlternate, halves(R"(,"maxRounds":0)"), "maxRounds: 0 is not between 1 and 100"},
        ArgsCase{"RefusesGainsOfNothing", kAlternate, halves(R"(,"minGain":{})"),
                 "minGain: must set nodesFreed, imbalance or both"},
        ArgsCase{"RefusesAGainOfNoNode", kAlternate, halves(R"(,"minGain":{"nodesFreed":0})"),
                 "minGain.nodesFreed: 0 is below 1"},
        ArgsCase{"RefusesAnImbalanceOfNothing", kAlternate, halves(R"(,"minGain":{"imbalance":0})"),
                 "minGain.imbalance: 0 is not above 0 and at most 100"},
        ArgsCase{"RefusesToWaitForNothing", kAlternate, halves(R"(,"settleTimeout":"1s")"),
                 "settleTimeout: 1s is not between 1m and 24h"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    PreferredPlacement, CatalogTest,
    testing::Values(
        ArgsCase{"TakesNothing", kPrefer, "{}", ""},
        ArgsCase{"TakesAllArguments", kPrefer,
                 R"({"preferences":["NodeAffinity","PodAffinity","TopologySpread"],"minGain":25.5,"maxMoves":3,
                     "namespaces":{"include":["shop"]},"labelSelector":{"matchLabels":{"app":"a"}}})",
                 ""},
        ArgsCase{"RefusesUnknownPreferences", kPrefer, R"({"preferences":["NodeAffinities"]})",
                 "preferences[0]: \"NodeAffinities\" is not one of"},
        ArgsCase{"RefusesNoPreference", kPrefer, R"({"preferences":[]})", "preferences: must contain at least one"},
        ArgsCase{"RefusesNoGain", kPrefer, R"({"minGain":0})", "minGain: 0 is not between 1 and 100"},
        ArgsCase{"RefusesMoreThanAllOfIt", kPrefer, R"({"minGain":101})", "minGain: 101 is not between 1 and 100"},
        ArgsCase{"RefusesNoMoves", kPrefer, R"({"maxMoves":0})", "maxMoves: 0 is below 1"}),
    [](const auto& test) { return test.param.name; });

TEST(Catalog, ReportsAllProblemsTogether) {
  EXPECT_EQ(validate({{"Nope", "{}"}, {"PodLifeTime", R"({"states":["x"],"typo":1})"}}).size(), 3U);
}

struct TogetherCase {
  std::string name;
  std::vector<api::StrategyChoice> choices;
  std::string want;  ///< The only error, empty if none
};

class TogetherTest : public testing::TestWithParam<TogetherCase> {};

TEST_P(TogetherTest, ContradictionsAreRefused) {
  std::string text;
  for (const api::FieldError& error : validate(GetParam().choices)) text += error.to_string();
  EXPECT_EQ(text, GetParam().want);
}

const api::StrategyChoice kLevel{kLow, R"({"thresholds":{"cpu":1},"targetThresholds":{"cpu":50}})"};
const api::StrategyChoice kPack{"HighNodeUtilization", R"({"thresholds":{"cpu":1}})"};
const api::StrategyChoice kOld{kLife, R"({"maxPodLifeTimeSeconds": 1})"};
const api::StrategyChoice kOldOtherwiseSpaced{kLife, R"({ "maxPodLifeTimeSeconds":1 })"};
const api::StrategyChoice kOlder{kLife, R"({"maxPodLifeTimeSeconds": 2})"};

const api::StrategyChoice kAlternating{kAlternate, halves()};

std::string undoes(const std::string& second) {
  return "spec.strategies[1]: " + second +
         " undoes the moves of AlternatingUtilization of strategies[0]: move one to a policy that selects different "
         "nodes (spec.nodeSelector), or remove it";
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, TogetherTest,
    testing::Values(
        TogetherCase{"LevelAndPack",
                     {kOld, kPack, kLevel},
                     "spec.strategies[2]: LowNodeUtilization undoes the moves of HighNodeUtilization of strategies[1]: "
                     "move one to a policy that selects different nodes (spec.nodeSelector), or remove it"},
        TogetherCase{"TheSameTwice",
                     {kOld, kOldOtherwiseSpaced},
                     "spec.strategies[1]: is the same as strategies[0]: remove one"},
        TogetherCase{"TheSameWithOtherArgs", {kOld, kOlder}, ""}, TogetherCase{"LevelAlone", {kOld, kLevel}, ""},
        TogetherCase{"AlternateAlone", {kOld, kAlternating, kOlder}, ""},
        TogetherCase{"AlternateAndLevel", {kAlternating, kLevel}, undoes("LowNodeUtilization")},
        TogetherCase{"AlternateAndPack", {kAlternating, kPack}, undoes("HighNodeUtilization")},
        TogetherCase{"AlternateAndSwap", {kAlternating, {"Defragmentation", "{}"}}, undoes("Defragmentation")},
        TogetherCase{"AlternateAndPackByLoad",
                     {kAlternating, {"TargetLoadPacking", R"({"usage":{"source":"prom"},"target":{"cpu":60}})"}},
                     undoes("TargetLoadPacking")},
        TogetherCase{"AlternateTwice",
                     {kAlternating, {kAlternate, halves(R"(,"maxRounds":2)")}},
                     undoes("AlternatingUtilization")}),
    [](const auto& test) { return test.param.name; });

TEST(Catalog, TreatsMissingArgumentsAsEmptyOnes) {
  EXPECT_THAT(validate({{"PodLifeTime", ""}})[0].message, testing::HasSubstr("requires at least one"));
}

TEST(Catalog, ListsItsNamesInOrder) {
  const auto names = known_strategies();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_THAT(names, testing::IsSupersetOf({std::string_view("LowNodeUtilization"), std::string_view("PodLifeTime")}));
}

}  // namespace catalog_test
}  // namespace strategies
