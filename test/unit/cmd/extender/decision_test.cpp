#include "cmd/extender/decision.hpp"

#include <gmock/gmock.h>

#include <fstream>

namespace extender {
namespace decision_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- scores

TEST(Risk, IsHalfOfMeanAndDeviation) {
  EXPECT_DOUBLE_EQ(risk_score(0, 0, 1, 1), 100);
  EXPECT_DOUBLE_EQ(risk_score(40, 20, 1, 1), 70);
  EXPECT_DOUBLE_EQ(risk_score(100, 100, 1, 1), 0);
  EXPECT_DOUBLE_EQ(risk_score(40, 20, 2, 1), 60) << "margin";
  EXPECT_NEAR(risk_score(40, 25, 1, 2), 55, 1e-9) << "the deviation's square root";
  EXPECT_DOUBLE_EQ(risk_score(180, 0, 1, 1), 50) << "more than all of it";
}

TEST(ExtenderScores, AreRelativeAndNeutralWhereNothingIsKnown) {
  EXPECT_THAT(extender_scores({90.0, 40.0, 65.0}), ElementsAre(10, 0, 5));
  EXPECT_THAT(extender_scores({90.0, 88.0}), ElementsAre(10, 8)) << "a point is a step at least";
  EXPECT_THAT(extender_scores({70.0, 70.2}), ElementsAre(10, 10));
  EXPECT_THAT(extender_scores({std::nullopt, std::nullopt}), ElementsAre(5, 5));
  EXPECT_THAT(extender_scores({100.0, std::nullopt, 0.0}), ElementsAre(10, 5, 0));
  EXPECT_TRUE(extender_scores({}).empty());
}

LoadModel board() {
  LoadModel made;
  made.resources = {"cpu", "memory"};
  made.columns = {0, std::nullopt};
  return made;
}

NodeLoad load(double cpu, double deviation = 0) { return {.mean = {cpu, 0}, .deviation = {deviation, 0}}; }

TEST(Score, IsTheWeightedMeanOfTheRules) {
  const ScoreRule risk{};
  const ScoreRule packing{.kind = ScoreRule::Kind::kTargetLoadPacking, .weight = 3, .target = {{"cpu", 40}}};
  EXPECT_DOUBLE_EQ(*score_of(load(40), board(), {risk}), 80);
  EXPECT_DOUBLE_EQ(*score_of(load(40), board(), {packing}), 100);
  EXPECT_DOUBLE_EQ(*score_of(load(40), board(), {risk, packing}), 95);
}

TEST(Score, IsUnknownWhereNoRuleIsMeasured) {
  ScoreRule memory;
  memory.risk.resources = {"memory"};
  EXPECT_FALSE(score_of(load(40), board(), {memory}));
}

// --- decisions

ExtenderConfig config() {
  ExtenderConfig made;
  made.rules = {ScoreRule{}};
  return made;
}

ExtenderArgs args(std::vector<std::string> nodes) {
  ExtenderArgs made;
  made.pod.meta.ns = "shop";
  made.nodes = std::move(nodes);
  return made;
}

const PodHint kRequired{"b", true, "shop/e1"};
const PodHint kPreferred{"b", false, "shop/e1"};

TEST(Filter, KeepsPodsFromNodesWithCriticalLoad) {
  const LoadModel known = board();
  const auto decision = filter(config(), args({"a", "b", "c"}), &known, {load(91), load(90), std::nullopt}, {});
  EXPECT_THAT(decision.reasons, ElementsAre("measured cpu is critical (above 90 %)", "", ""));
  EXPECT_EQ(decision.critical, 1U);
}

TEST(Filter, NeverRefusesAllNodesForLoad) {
  const LoadModel known = board();
  const auto decision = filter(config(), args({"a", "b"}), &known, {load(99), load(98)}, {});
  EXPECT_THAT(decision.reasons, ElementsAre("", ""));
  EXPECT_TRUE(decision.all_critical);
}

TEST(Filter, PassesEverythingWithoutUsage) {
  const auto decision = filter(config(), args({"a"}), nullptr, {std::nullopt}, {});
  EXPECT_THAT(decision.reasons, ElementsAre(""));
  EXPECT_FALSE(decision.all_critical);
}

TEST(Filter, DoesNotRestrictCriticalPods) {
  const LoadModel known = board();
  ExtenderArgs system = args({"a", "b"});
  system.pod.meta.ns = "kube-system";
  ExtenderArgs critical = args({"a", "b"});
  critical.pod.priority = 2'000'000'000;
  ExtenderArgs daemon = args({"a", "b"});
  daemon.pod.meta.owner_references = {{"apps/v1", "DaemonSet", "d", "u", true}};
  for (const ExtenderArgs& each : {system, critical, daemon})
    EXPECT_THAT(filter(config(), each, &known, {load(99), load(1)}, {}).reasons, ElementsAre("", ""));
}

TEST(Filter, ARequiredHintLeavesItsNodeAlone) {
  const LoadModel known = board();
  const auto decision = filter(config(), args({"a", "b"}), &known, {load(1), load(99)}, kRequired);
  EXPECT_THAT(decision.reasons, ElementsAre(HasSubstr("shop/e1 requires node b"), ""));
  EXPECT_THAT(filter(config(), args({"a"}), &known, {load(1)}, kRequired).reasons, ElementsAre(HasSubstr("requires")))
      << "it waits for that node, or for the hint's end";
}

TEST(Filter, APreferredHintFiltersNothing) {
  const LoadModel known = board();
  EXPECT_THAT(filter(config(), args({"a", "b"}), &known, {load(1), load(2)}, kPreferred).reasons, ElementsAre("", ""));
}

TEST(Prioritize, PrefersLowLoadAndReportsUnknownLoad) {
  const LoadModel known = board();
  const auto decision = prioritize(config(), args({"a", "b", "c"}), &known, {load(80), load(20), std::nullopt}, {});
  EXPECT_THAT(decision.scores, ElementsAre(0, 10, 5));
  EXPECT_EQ(decision.unknown, 1U);
  EXPECT_EQ(decision.best, 1U);
}

TEST(Prioritize, PrefersNodesWithStableLoad) {
  const LoadModel known = board();
  const auto decision = prioritize(config(), args({"a", "b"}), &known, {load(50, 30), load(50, 0)}, {});
  EXPECT_THAT(decision.scores, ElementsAre(0, 10));
}

TEST(Prioritize, AHintsNodeIsTheBest) {
  const LoadModel known = board();
  const auto decision = prioritize(config(), args({"a", "b"}), &known, {load(10), load(90)}, kPreferred);
  EXPECT_THAT(decision.scores, ElementsAre(5, 10));
  EXPECT_EQ(decision.best, 1U);
}

TEST(Prioritize, IsNeutralWithoutUsage) {
  const auto decision = prioritize(config(), args({"a", "b"}), nullptr, {std::nullopt, std::nullopt}, {});
  EXPECT_THAT(decision.scores, ElementsAre(5, 5));
  EXPECT_FALSE(decision.best);
  EXPECT_FALSE(predicted_node(decision, {0, 0}));
}

TEST(LikelyPlace, IsAmongTheHighestScoresThatWithTheFewestPodsOfTheWorkload) {
  const PriorityDecision decision{.scores = {9, 10, 10, 0}, .best = 2};
  EXPECT_EQ(predicted_node(decision, {0, 0, 0, 0}), 2U) << "of equal ones the best";
  EXPECT_EQ(predicted_node(decision, {0, 4, 5, 0}), 1U);
}

// --- configuration

constexpr const char* kSource = "usageSources: [{name: m, type: MetricsServer}]\n";

TEST(Config, HasDefaults) {
  const auto config = parse_extender_config(kSource);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->address, "127.0.0.1:10280");
  EXPECT_EQ(config->rules, std::vector<ScoreRule>{ScoreRule{}});
  EXPECT_THAT(config->resources(), ElementsAre("cpu", "memory"));
  EXPECT_EQ(config->chosen_source()->name, "m");
}

TEST(Config, TheManifestsIsTaken) {
  std::ifstream file(std::string(EVACUATOR_SOURCE_DIR) + "/config/extender/extender.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto config = parse_extender_config(text);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->address, ExtenderConfig().address);
  EXPECT_EQ(config->critical, ExtenderConfig().critical);
}

TEST(Config, ReadsEveryField) {
  const auto config = parse_extender_config(std::string(kSource) + R"(
source: m
server: {address: "0.0.0.0:9000", certFile: c, keyFile: k, clientCAFile: a, healthAddress: ":1", metricsAddress: ":2",
         maxBodyBytes: 65536}
strategies:
  - {name: TargetLoadPacking, weight: 2, args: {target: {cpu: 60, gpu: 50}}}
  - {name: LoadVariationRiskBalancing, args: {resources: [cpu], margin: 2, sensitivity: 0.5}}
critical: {}
sparedNamespaces: [a]
placementHints: false
operatorNamespace: ops
client: {qps: 5, burst: 6}
logging: {level: debug, format: json}
)");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->client_ca_file, "a");
  EXPECT_EQ(config->max_body_bytes, 65536);
  EXPECT_EQ(config->rules.at(0).weight, 2);
  EXPECT_EQ(config->rules.at(1).risk, (RiskArgs{{"cpu"}, 2, 0.5}));
  EXPECT_TRUE(config->critical.empty());
  EXPECT_FALSE(config->placement_hints);
  EXPECT_THAT(config->resources(), ElementsAre("cpu", "gpu"));
  EXPECT_EQ(config->operator_namespace, "ops");
}

TEST(Config, ReportsErrors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", "usageSources"},
      {std::string(kSource) + "source: other\n", "no source \"other\""},
      {std::string(kSource) + "crtical: {cpu: 90}\n", "did you mean"},
      {std::string(kSource) + "critical: {cpu: 120}\n", "critical"},
      {std::string(kSource) + "server: {certFile: c}\n", "keyFile"},
      {std::string(kSource) + "server: {clientCAFile: a}\n", "clientCAFile"},
      {std::string(kSource) + "server: {maxBodyBytes: 1}\n", "maxBodyBytes"},
      {std::string(kSource) + "strategies: [{name: Other}]\n", "strategies[0].name"},
      {std::string(kSource) + "strategies: [{name: TargetLoadPacking, args: {target: {cpu: 100}}}]\n", "target"},
      {std::string(kSource) + "strategies: [{name: LoadVariationRiskBalancing, weight: 0}]\n", "weight"},
      {"usageSources: [{name: m, type: Other}]\n", "type"}};
  for (const auto& [yaml, words] : cases) {
    const auto config = parse_extender_config(yaml);
    ASSERT_FALSE(config.ok()) << yaml;
    EXPECT_THAT(config.error().message, HasSubstr(words)) << yaml;
  }
}

}  // namespace decision_test
}  // namespace extender
