#include "api/descheduler_policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "api/descheduler_policy/status.hpp"
#include "populated.hpp"
#include "status_patches.hpp"

namespace descheduler_policy_test {

using api::Json;
using test_api::kEvictors;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const api::FieldErrors& errors) {
  std::vector<std::string> lines;
  for (const api::FieldError& error : errors) lines.push_back(error.to_string());
  return lines;
}

Json object_with(const std::string& spec) { return {{"metadata", {{"name", "p"}}}, {"spec", Json::parse(spec)}}; }

TEST(PolicyCodecTest, RoundTrips) {
  api::DeschedulerPolicy policy;
  policy.meta.name = "balance";
  policy.spec = test_api::populated_policy_spec();
  policy.status = test_api::populated_policy_status();
  Json json = api::encode_descheduler_policy(policy);
  EXPECT_EQ(json["kind"], "DeschedulerPolicy");
  json["status"] = api::encode_status(policy.status);
  const auto from_json = api::decode_descheduler_policy(json);
  const auto from_text = api::decode_descheduler_policy(json.dump());
  ASSERT_TRUE(from_json) << from_json.error().message;
  ASSERT_TRUE(from_text);
  EXPECT_EQ(*from_json, policy);
  EXPECT_EQ(*from_text, policy);
}

TEST(PolicyCodecTest, RoundTripsAnEmptyPolicy) {
  const api::DeschedulerPolicy policy;
  Json json = api::encode_descheduler_policy(policy);
  json["status"] = api::encode_status(policy.status);
  const auto back = api::decode_descheduler_policy(json);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, policy);
}

TEST(PolicyCodecTest, PublishesAtMostAHundredMoves) {
  api::DeschedulerPolicyStatus status;
  status.plan.resize(101);
  const Json json = api::encode_status(status);
  EXPECT_EQ(json["plan"].size(), 100U);
  EXPECT_EQ(json["planTruncated"], true);
}

TEST(PolicyCodecTest, PublishesAtMostAHundredRefusals) {
  api::DeschedulerPolicyStatus status;
  status.refusals.resize(101);
  EXPECT_EQ(api::encode_status(status)["refusals"].size(), 100U);
}

/// The populated status, one without each of its members in turn, and some with other lists.
std::vector<api::DeschedulerPolicyStatus> various_statuses() {
  const Json whole = api::encode_status(test_api::populated_policy_status());
  std::vector<api::DeschedulerPolicyStatus> all = {{}, test_api::populated_policy_status()};
  for (const auto& [name, value] : whole.items()) {
    Json less = {{"status", whole}};
    less["status"].erase(name);
    all.push_back(api::decode_descheduler_policy(less)->status);
  }
  all.emplace_back(all[1]).plan.resize(101);
  all.emplace_back(all[1]).refusals.push_back({});
  all.emplace_back(all[1]).cooldowns.front().times.clear();
  return all;
}

TEST(PolicyCodecTest, AChangeEqualsThePatchOfFullStatuses) { test_api::expect_changes_are_patches(various_statuses()); }

TEST(PolicyCodecTest, ShowsReadinessInTheTable) {
  api::DeschedulerPolicyStatus status;
  EXPECT_FALSE(api::encode_status(status).contains("ready"));
  status.conditions = {{"Ready", api::ConditionStatus::kTrue, "Fine", "", 1, {}}};
  EXPECT_EQ(api::encode_status(status)["ready"], "True");
}

TEST(PolicyCodecTest, ReadsStatusLeniently) {
  const auto policy = api::decode_descheduler_policy(
      R"({"spec": {}, "status": {"lastCycle": {"duration": "fast", "nodes": "3", "refused": [7, {"reason": "x", "count": 2}]}, "plan": [1], "active": {}}})");
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->status.last_cycle->refused.size(), 1U);
  EXPECT_EQ(policy->status.last_cycle->nodes, 0);
  EXPECT_THAT(policy->status.plan, IsEmpty());
}

TEST(PolicyCodecTest, KeepsArgsUnchangedAndAcceptsMissingOnes) {
  const auto policy = api::decode_descheduler_policy(object_with(
      R"({"strategies":[{"name":"A","args":{"b":[1,{"c":null}],"a":1.5}},{"name":"B"},{"name":"C","args":null}]})"));
  ASSERT_TRUE(policy);
  EXPECT_THAT(policy->spec.strategies, ElementsAre(api::StrategyChoice{"A", R"({"a":1.5,"b":[1,{"c":null}]})"},
                                                   api::StrategyChoice{"B", "{}"}, api::StrategyChoice{"C", "{}"}));
}

TEST(PolicyCodecTest, ComparesNumbersInNodeSelectors) {
  const char* const kSelector = R"({"matchExpressions":[{"key":"cores","operator":"Gt","values":["8"]}]})";
  const auto policy = api::decode_descheduler_policy(object_with(
      std::string(R"({"nodeSelector":)") + kSelector + R"(,"evictability":{"nodeSelector":)" + kSelector + "}}"));
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->spec.evictability.node_selector, policy->spec.node_selector);
  EXPECT_TRUE(policy->spec.node_selector->matches({{"cores", "16"}}));
  EXPECT_FALSE(policy->spec.node_selector->matches({{"cores", "8"}}));
}

TEST(PolicyCodecTest, ConvertsMatchLabelsToRequirements) {
  const auto policy = api::decode_descheduler_policy(object_with(
      R"({"nodeSelector":{"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"c","operator":"NotIn","values":["x"]}]}})"));
  ASSERT_TRUE(policy);
  using api::SelectorOperator;
  EXPECT_THAT(policy->spec.node_selector->requirements,
              ElementsAre(api::SelectorRequirement{"a", SelectorOperator::kIn, {"1"}},
                          api::SelectorRequirement{"b", SelectorOperator::kIn, {"2"}},
                          api::SelectorRequirement{"c", SelectorOperator::kNotIn, {"x"}}));
}

struct StrictCase {
  std::string name;
  std::string spec;
  std::vector<std::string> errors;
};

class PolicyStrictTest : public testing::TestWithParam<StrictCase> {};

TEST_P(PolicyStrictTest, ComplainsWithTheFullPath) {
  const auto& [name, spec, errors] = GetParam();
  const auto policy = api::decode_descheduler_policy(object_with(spec));
  ASSERT_FALSE(policy);
  std::string want;
  for (const std::string& error : errors) want += (want.empty() ? "" : "; ") + error;
  EXPECT_EQ(policy.error().message, want);
}

INSTANTIATE_TEST_SUITE_P(
    Policy, PolicyStrictTest,
    testing::Values(
        StrictCase{"UnknownField", R"({"foo":{}})", {"spec.foo: unknown field"}},
        StrictCase{"MisspeltField", R"({"strategy":[]})", {"spec.strategy: unknown field"}},
        StrictCase{"NearMiss",
                   R"({"evictability":{"minReplica":2}})",
                   {"spec.evictability.minReplica: unknown field, did you mean \"minReplicas\"?"}},
        StrictCase{"Mode", R"({"mode":"Auto"})", {"spec.mode: \"Auto\" is not one of DryRun, Manual or Automatic"}},
        StrictCase{"ModeInLowerCase",
                   R"({"mode":"dryrun"})",
                   {"spec.mode: \"dryrun\" is not one of DryRun, Manual or Automatic, did you mean \"DryRun\"?"}},
        StrictCase{"IntervalAsNumber",
                   R"({"schedule":{"interval":300}})",
                   {"spec.schedule.interval: must be a string, not a number"}},
        StrictCase{"IntervalMalformed",
                   R"({"schedule":{"interval":"5 min"}})",
                   {"spec.schedule.interval: \"5 min\" is not a duration such as \"90s\", \"5m\" or \"1h30m\""}},
        StrictCase{"IntervalWithFraction",
                   R"({"schedule":{"interval":"5.5s"}})",
                   {"spec.schedule.interval: must be whole seconds"}},
        StrictCase{"Windows",
                   R"({"schedule":{"windows":[{"days":["Monday"],"start":"25:00"}],"triggers":[{"type":"NodeLost"}]}})",
                   {"spec.schedule.windows[0].days[0]: \"Monday\" is not one of Sun, Mon, Tue, Wed, Thu, Fri or Sat",
                    "spec.schedule.windows[0].start: \"25:00\" is not a time of day from 00:00 to 24:00",
                    "spec.schedule.windows[0].end: is required, such as 22:00",
                    "spec.schedule.triggers[0].type: \"NodeLost\" is not one of NodeAdded, NodeChanged, PodFailed or "
                    "UsageSpike"}},
        StrictCase{"UsageSources",
                   R"({"usageSources":[{"name":"a","type":"Prometheus","loadWatcher":{"url":"x"}},
                                       {"name":"f","type":"File"},{"name":"g","prometheus":{}}]})",
                   {"spec.usageSources[0].loadWatcher: does not go with type Prometheus",
                    "spec.usageSources[1].type: \"File\" is not one of MetricsServer, Prometheus, LoadWatcher or "
                    "Koordinator",
                    "spec.usageSources[2].type: is required",
                    "spec.usageSources[2].prometheus: does not go with type MetricsServer"}},
        StrictCase{"Gates",
                   R"({"gates":[{"name":"a"},{"name":"b","webhook":{"url":"x"},"alertmanager":{"matchers":{"a":1}}}]})",
                   {"spec.gates[0]: must have exactly one of prometheus, alertmanager and webhook",
                    "spec.gates[1].alertmanager.matchers.a: must be a string, not a number",
                    "spec.gates[1]: must have exactly one of prometheus, alertmanager and webhook"}},
        StrictCase{
            "SpecOfTheFuture",
            R"({"evictability":{"optOuts":[{"label":"a"}]},"evacuation":{"waitForReplacement":true,"placement":{}}})",
            {"spec.evictability.optOuts[0].label: unknown field", "spec.evacuation.placement: unknown field",
             "spec.evacuation.waitForReplacement: unknown field"}},
        StrictCase{"ScoringOfAnotherKind",
                   R"({"scheduler":{"scoringStrategy":{"type":"RequestedToCapacityRatio"}}})",
                   {"spec.scheduler.scoringStrategy.type: \"RequestedToCapacityRatio\" is not one of LeastAllocated or "
                    "MostAllocated"}},
        StrictCase{"ScoringWithoutItsType",
                   R"({"scheduler":{"scoringStrategy":{},"profile":"x"}})",
                   {"spec.scheduler.scoringStrategy.type: is required", "spec.scheduler.profile: unknown field"}},
        StrictCase{"SchedulerOfAnUnknownVersion",
                   R"({"scheduler":{"version":"1.19"}})",
                   {"spec.scheduler.version: \"1.19\" is not Auto or one of 1.20 to 1.36"}},
        StrictCase{"SchedulerOfTheFuture",
                   R"({"scheduler":{"version":"1.37","scoringStrategy":{"type":"MostAllocated"}}})",
                   {"spec.scheduler.version: \"1.37\" is not Auto or one of 1.20 to 1.36"}},
        StrictCase{"SchedulerVersionAsNumber",
                   R"({"scheduler":{"version":1.3}})",
                   {"spec.scheduler.version: must be a string, not a number"}},
        StrictCase{"ScoringAsString",
                   R"({"scheduler":{"scoringStrategy":"MostAllocated"}})",
                   {"spec.scheduler.scoringStrategy: must be an object, not a string"}},
        StrictCase{"ArgsOfAnotherType",
                   R"({"strategies":[{"name":"A"},{"name":"B","args":[1]}]})",
                   {"spec.strategies[1].args: must be an object, not a list"}},
        StrictCase{"StrategyAsString",
                   R"({"strategies":["PodLifeTime"]})",
                   {"spec.strategies[0]: must be an object, not a string"}},
        StrictCase{"StrategyField",
                   R"({"strategies":[{"name":"A","arguments":{}}]})",
                   {"spec.strategies[0].arguments: unknown field"}},
        StrictCase{
            "Selector",
            R"({"evictability":{"labelSelector":{"matchLabels":{"a":1,"-":"x"},"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]},
                      {"key":"a","operator":"In"},{"key":"a","operator":"Exists","values":["x"]},{"key":"b"}],"extra":1}}})",
            {"spec.evictability.labelSelector.matchLabels.-: \"-\" is not a label key",
             "spec.evictability.labelSelector.matchLabels.a: must be a string, not a number",
             R"(spec.evictability.labelSelector.matchExpressions[0].operator: "Gt" is not one of In, NotIn, Exists or DoesNotExist)",
             "spec.evictability.labelSelector.matchExpressions[1].values: must not be empty for In and NotIn",
             "spec.evictability.labelSelector.matchExpressions[2].values: must be empty for Exists and DoesNotExist",
             "spec.evictability.labelSelector.matchExpressions[3].operator: is required",
             "spec.evictability.labelSelector.extra: unknown field"}},
        StrictCase{"NumbersInANodeSelector",
                   R"({"nodeSelector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["x"]},
                      {"key":"a","operator":"Lt"},{"key":"a","operator":"Lt","values":["1","2"]}]}})",
                   {"spec.nodeSelector.matchExpressions[0].values: must be one whole number for Gt and Lt",
                    "spec.nodeSelector.matchExpressions[1].values: must be one whole number for Gt and Lt",
                    "spec.nodeSelector.matchExpressions[2].values: must be one whole number for Gt and Lt"}},
        StrictCase{
            "Percentages",
            R"({"limits":{"inFlight":{"total":"ten","perNode":"-5%","perNamespace":true,"perWorkload":1.5}}})",
            {"spec.limits.inFlight.total: must be a whole number or a percentage such as \"10%\"",
             "spec.limits.inFlight.perNode: must be a whole number or a percentage such as \"10%\"",
             "spec.limits.inFlight.perNamespace: must be a whole number or a percentage such as \"10%\", not a boolean",
             "spec.limits.inFlight.perWorkload: 1.5 is not a whole number from -9223372036854775808 to "
             "9223372036854775807"}},
        StrictCase{
            "Protections",
            R"({"evictability":{"podProtections":{"extraEnabled":["PodsWithPvc",3],"config":{"PodsWithPVC":{"protectedStorageClasses":["x"]}}}}})",
            {"spec.evictability.podProtections.extraEnabled[0]: \"PodsWithPvc\" is not one of PodsWithLocalStorage, "
             "SystemCriticalPods, FailedBarePods, DaemonSetPods, PodsWithPVC, PodsWithoutPDB or "
             "PodsWithResourceClaims, did "
             "you mean \"PodsWithPVC\"?",
             "spec.evictability.podProtections.extraEnabled[1]: 3 is not one of PodsWithLocalStorage, "
             "SystemCriticalPods, "
             "FailedBarePods, DaemonSetPods, PodsWithPVC, PodsWithoutPDB or PodsWithResourceClaims",
             "spec.evictability.podProtections.config.PodsWithPVC.protectedStorageClasses[0]: must be an object, not a "
             "string"}},
        StrictCase{"NegativeReplicas",
                   R"({"evictability":{"minReplicas":-1}})",
                   {"spec.evictability.minReplicas: -1 is not a whole number from 0 to 4294967295"}}),
    [](const auto& test) { return test.param.name; });

using Spec = api::DeschedulerPolicySpec;
using base::seconds;

struct BoundCase {
  std::string name;
  std::function<void(Spec&)> change;
  std::vector<std::string> errors;
};

class PolicyBoundsTest : public testing::TestWithParam<BoundCase> {};

TEST_P(PolicyBoundsTest, AreChecked) {
  Spec spec;
  GetParam().change(spec);
  auto evictors = kEvictors;
  evictors.push_back("stateful-handoff");  // The populated policy has hooks
  EXPECT_EQ(texts(api::validate(spec, evictors)), GetParam().errors);
}

INSTANTIATE_TEST_SUITE_P(
    Policy, PolicyBoundsTest,
    testing::Values(
        BoundCase{"Empty", [](Spec&) {}, {}},
        BoundCase{"Populated", [](Spec& s) { s = test_api::populated_policy_spec(); }, {}},
        BoundCase{"ShortInterval",
                  [](Spec& s) { s.schedule.interval = seconds(4); },
                  {"spec.schedule.interval: 4s is not between 5s and 168h"}},
        BoundCase{"LeastInterval", [](Spec& s) { s.schedule.interval = seconds(5); }, {}},
        BoundCase{"LongestInterval", [](Spec& s) { s.schedule.interval = seconds(604800); }, {}},
        BoundCase{"LongInterval",
                  [](Spec& s) { s.schedule.interval = seconds(604801); },
                  {"spec.schedule.interval: 168h0m1s is not between 5s and 168h"}},
        BoundCase{"NoHistory", [](Spec& s) { s.explain.cycles = 0; }, {}},
        BoundCase{"LongHistory", [](Spec& s) { s.explain.cycles = 51; }, {"spec.explain.cycles: 51 is above 50"}},
        BoundCase{"ZeroAge",
                  [](Spec& s) { s.evictability.min_pod_age = base::Duration(0); },
                  {"spec.evictability.minPodAge: 0s is not between 1us and 87600h"}},
        BoundCase{"ThresholdBoth",
                  [](Spec& s) {
                    s.evictability.priority_threshold = api::PriorityThreshold{1, "high"};
                  },
                  {"spec.evictability.priorityThreshold: must have either value or name, and not both"}},
        BoundCase{"ThresholdNone",
                  [](Spec& s) { s.evictability.priority_threshold = api::PriorityThreshold{}; },
                  {"spec.evictability.priorityThreshold: must have either value or name, and not both"}},
        BoundCase{"ThresholdHigh",
                  [](Spec& s) {
                    s.evictability.priority_threshold = api::PriorityThreshold{2000000001, ""};
                  },
                  {"spec.evictability.priorityThreshold.value: 2000000001 is above 2000000000"}},
        BoundCase{"NamespacesBoth",
                  [](Spec& s) {
                    s.evictability.namespaces = {{"a"}, {"b"}};
                  },
                  {"spec.evictability.namespaces: must have either include or exclude, not both"}},
        BoundCase{"NamespaceName",
                  [](Spec& s) {
                    s.evictability.namespaces.include = {"a", "B"};
                  },
                  {"spec.evictability.namespaces.include[1]: \"B\" is not a namespace name"}},
        BoundCase{"ProtectionInTheOtherList",
                  [](Spec& s) {
                    s.evictability.pod_protections = {
                        {api::PodProtection::kPodsWithPVC}, {api::PodProtection::kDaemonSetPods}, {}};
                  },
                  {"spec.evictability.podProtections.defaultDisabled[0]: PodsWithPVC is off by default, it belongs "
                   "into extraEnabled",
                   "spec.evictability.podProtections.extraEnabled[0]: DaemonSetPods is on by default, it belongs into "
                   "defaultDisabled"}},
        BoundCase{"ProtectionTwice",
                  [](Spec& s) {
                    s.evictability.pod_protections.extra_enabled = {api::PodProtection::kPodsWithPVC,
                                                                    api::PodProtection::kPodsWithPVC};
                  },
                  {"spec.evictability.podProtections.extraEnabled[1]: PodsWithPVC is listed twice"}},
        BoundCase{"NamelessStorageClass",
                  [](Spec& s) {
                    s.evictability.pod_protections.protected_storage_classes = {"a", ""};
                  },
                  {"spec.evictability.podProtections.config.PodsWithPVC.protectedStorageClasses[1].name: is required"}},
        BoundCase{"Cooldowns",
                  [](auto& s) {
                    s.limits.cooldown = {-base::minutes(1), {}, std::chrono::hours(169), {}, base::seconds(59)};
                  },
                  {"spec.limits.cooldown.pod: -1m0s is not between 0s and 168h",
                   "spec.limits.cooldown.workload: 169h0m0s is not between 0s and 168h",
                   "spec.limits.cooldown.maximum: 0s is not between 1s and 168h",
                   "spec.limits.cooldown.window: 59s is not between 1m and 168h"}},
        BoundCase{"RateOfNothing",
                  [](auto& s) { s.limits.rate = api::RateLimit{}; },
                  {"spec.limits.rate: must have either perSecond or perMinute, and not both"}},
        BoundCase{"RateTwice",
                  [](auto& s) {
                    s.limits.rate = api::RateLimit{0, 20'000, 0};
                  },
                  {"spec.limits.rate: must have either perSecond or perMinute, and not both",
                   "spec.limits.rate.perSecond: 0 is below 1", "spec.limits.rate.perMinute: 20000 is above 10000",
                   "spec.limits.rate.burst: 0 is below 1"}},
        BoundCase{"NamelessStrategy",
                  [](Spec& s) {
                    s.strategies = {{"", "{}"}};
                  },
                  {"spec.strategies[0].name: is required"}},
        BoundCase{"ManyStrategies",
                  [](Spec& s) {
                    s.strategies = std::vector<api::StrategyChoice>(33, {"A", "{}"});
                  },
                  {"spec.strategies: has 33 items, at most 32 are allowed"}},
        BoundCase{"LargeArgs",
                  [](Spec& s) {
                    s.strategies = {{"A", std::string(65537, 'x')}};
                  },
                  {"spec.strategies[0].args: is larger than 65536 bytes"}},
        BoundCase{"OptOuts",
                  [](Spec& s) {
                    s.evictability.opt_outs = {{"", std::chrono::hours(1)},
                                               {"no name", std::chrono::hours(87601)},
                                               {"example.com/stay", {}},
                                               {"example.com/stay", std::chrono::hours(1)}};
                  },
                  {"spec.evictability.optOuts[0].annotation: is required",
                   "spec.evictability.optOuts[1].annotation: \"no name\" is not a name of an annotation",
                   "spec.evictability.optOuts[1].maxDuration: 87601h0m0s is not between 1us and 87600h",
                   "spec.evictability.optOuts[2].maxDuration: 0s is not between 1us and 87600h"}},
        BoundCase{"ZeroLimitsMeanNone",
                  [](Spec& s) {
                    s.limits = {{0, 0, 0}, {api::IntOrPercent{}, {}, {}, {}}};
                  },
                  {}},
        BoundCase{"NegativeLimits",
                  [](Spec& s) {
                    s.limits = {{-1, {}, {}}, {{}, api::IntOrPercent{-2, false}, {}, {}}};
                  },
                  {"spec.limits.perCycle.total: -1 is below 0", "spec.limits.inFlight.perNode: -2 is below 0"}},
        BoundCase{"PercentRange",
                  [](Spec& s) {
                    s.limits.in_flight = {api::IntOrPercent{0, true}, {}, {}, api::IntOrPercent{101, true}};
                  },
                  {"spec.limits.inFlight.total: 0% is not between 1% and 100%",
                   "spec.limits.inFlight.perWorkload: 101% is not between 1% and 100%"}},
        BoundCase{
            "TemplateOfEvacuations",
            [](Spec& s) {
              s.evacuation.evictors = {{"webhook", {}}};
              s.evacuation.retry.max_attempts = 21;
              s.evacuation.grace_period_seconds = 0;
            },
            {"spec.evacuation.evictors[0].name: evictor \"webhook\" is not supported yet, use eviction-api, "
             "annotation or stateful-handoff",
             "spec.evacuation.retry.maxAttempts: 21 is above 20", "spec.evacuation.gracePeriodSeconds: 0 is below 1"}}),
    [](const auto& test) { return test.param.name; });

TEST(CheckPolicyTest, CollectsEverythingAtOnce) {
  const auto errors = api::check_descheduler_policy(
      object_with(
          R"({"mode":"Auto","schedule":{"interval":"1s"},"evictability":{"optOuts":{}},"limits":{"perCycle":{"total":-1}}})"),
      kEvictors);
  EXPECT_THAT(texts(errors), ElementsAre("spec.mode: \"Auto\" is not one of DryRun, Manual or Automatic",
                                         "spec.evictability.optOuts: must be a list, not an object",
                                         "spec.schedule.interval: 1s is not between 5s and 168h",
                                         "spec.limits.perCycle.total: -1 is below 0"));
  EXPECT_THAT(api::check_descheduler_policy(Json(3), kEvictors).at(0).message,
              HasSubstr("must be an object, not a number"));
}

TEST(PolicyHooksTest, AreCheckedWithTheirPaths) {
  const auto complaints = [](const std::string& hooks, const char* evictor = "stateful-handoff") {
    const Json spec = {
        {"evacuation", {{"evictors", Json::array({{{"name", evictor}}})}, {"hooks", Json::parse(hooks)}}}};
    return texts(
        api::check_descheduler_policy({{"metadata", {{"name", "p"}}}, {"spec", spec}}, test_api::kAllEvictors));
  };
  const std::string job = R"({"job":{"template":{"spec":{"containers":[{"name":"c"}]}}}})";
  EXPECT_THAT(complaints(R"({"pre":)" + job + R"(,"migrate":)" + job + R"(,"post":{"webhook":{"service":"a"}}})"),
              IsEmpty());
  struct Row {
    const char* hooks;
    const char* complaint;
  };
  const std::vector<Row> rows = {
      {R"({"pre":{}})", "spec.evacuation.hooks.pre: must have either webhook or job, and not both"},
      {R"({"pre":{"webhook":{"service":"https://evil"}}})",
       "spec.evacuation.hooks.pre.webhook.service: \"https://evil\" is not a name of a service in the operator's "
       "configuration"},
      {R"({"undo":{"job":{"template":{"spec":{}}}}})",
       "spec.evacuation.hooks.undo.job.template.spec.containers: must have at least one container"},
      {R"({"post":{"job":{"template":{"spec":{"restartPolicy":"Always","containers":[{}]}}}}})",
       "spec.evacuation.hooks.post.job.template.spec.restartPolicy: must be Never or OnFailure, as in every Job"},
      {R"({"migrate":{"webhook":{"service":"a"}}})",
       "spec.evacuation.hooks.migrate.webhook: migrate must be a job; to drive a move from outside use the evictor "
       "webhook"},
      {R"({"pre":{"webhook":{"service":"a"},"retries":21}})", "spec.evacuation.hooks.pre.retries: 21 is above 20"},
      {R"({"pre":{"webhook":{"service":"a"},"failurePolicy":"Panic"}})",
       "spec.evacuation.hooks.pre.failurePolicy: \"Panic\" is not one of Abort or Ignore"},
  };
  for (const Row& row : rows) EXPECT_THAT(complaints(row.hooks), ElementsAre(row.complaint)) << row.hooks;
  EXPECT_THAT(complaints(R"({"pre":{"job":{"template":7}}})"), testing::Not(IsEmpty()));
  EXPECT_THAT(complaints(R"({"pre":{"webhook":{"service":"a"}}})", "annotation"),
              ElementsAre("spec.evacuation.hooks: needs the evictor stateful-handoff in spec.evacuation.evictors"));
}

TEST(StoredPolicyTest, KeepsTheDecodableParts) {
  const auto stored = api::decode_stored_descheduler_policy(Json::parse(
      R"({"metadata":{"name":"p"},"spec":{"suspend":true,"limits":{"inFlight":{"total":2}},"mood":1,"mode":"Fast"},"status":{"evicted":9}})"));
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->meta.name, "p");
  EXPECT_TRUE(stored->spec.suspend);
  EXPECT_EQ(stored->spec.limits.in_flight.total, (api::IntOrPercent{2, false}));
  EXPECT_EQ(stored->status.evicted, 9);
  EXPECT_THAT(stored->spec_problem, HasSubstr("spec.mood"));
  EXPECT_THAT(stored->spec_problem, HasSubstr("spec.mode"));
}

}  // namespace descheduler_policy_test
