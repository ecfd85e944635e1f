#include "api/json/yaml.hpp"
#include "test/unit/cmd/convert/convert_cases.hpp"

namespace cmd {
namespace convert_notes_test {

using namespace convert_test;  // NOLINT: the helpers of these tests
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ---------------------------------------------------------------- notes

struct NoteCase {
  const char* name;
  const char* text;  ///< YAML below "profiles: [{…}]" or of the complete policy
  const char* note;
};

class Notes : public testing::TestWithParam<NoteCase> {};

TEST_P(Notes, Say) {
  const auto conversion = convert(GetParam().text);
  expect_valid(conversion);
  EXPECT_THAT(notes_of(conversion), testing::Contains(HasSubstr(GetParam().note)));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Notes,
    testing::Values(
        NoteCase{"FieldsThatUpstreamPassesOver", "profiles: []\nmaxNoOfPodsToEvictPerNod: 5",
                 "dropped maxNoOfPodsToEvictPerNod: unknown field, did you mean \"maxNoOfPodsToEvictPerNode\"?; "
                 "upstream ignores it silently; correct or remove it"},
        NoteCase{"TheCamelCaseOfTheReadme", "profiles: [{plugins: {preEvictionFilter: {enabled: [DefaultEvictor]}}}]",
                 "dropped profiles[0].plugins.preEvictionFilter: unknown field, did you mean \"preevictionfilter\"?"},
        NoteCase{"DeadExtensionPoints",
                 "profiles: [{plugins: {sort: {enabled: [X]}, balance: {disabled: [PodLifeTime]}}}]",
                 "ignored profiles[0].plugins.sort: upstream has no such extension point"},
        NoteCase{"DisabledPlugins", "profiles: [{plugins: {balance: {disabled: [RemoveDuplicates]}}}]",
                 "ignored profiles[0].plugins.balance.disabled: upstream runs what is enabled"},
        NoteCase{
            "PluginsOfOtherBuilds", "profiles: [{plugins: {balance: {enabled: [RemoveDuplicate]}}}]",
            "dropped profiles[0].plugins.balance.enabled[0]: upstream's tree has no plugin \"RemoveDuplicate\", did "
            "you mean \"RemoveDuplicates\"?"},
        NoteCase{"NoGraceAtAll", "gracePeriodSeconds: 0\n" ENABLED("balance", "RemoveDuplicates", "{}"),
                 "changed gracePeriodSeconds: 0 would force-delete pods before they have stopped: 1 is written"},
        NoteCase{"TheOldNameOfSoftConstraints",
                 ENABLED("balance", "RemovePodsViolatingTopologySpreadConstraint", "{includeSoftConstraints: true}"),
                 "changed profiles[0].pluginConfig[0].args.includeSoftConstraints: is the name of constraints in 0.26 "
                 "and 0.27; upstream rejects it since 0.28"},
        NoteCase{"ANumberOfNodesBelowZero",
                 ENABLED("balance", "HighNodeUtilization", "{thresholds: {cpu: 20}, numberOfNodes: -1}"),
                 "changed profiles[0].pluginConfig[0].args.numberOfNodes: -1 is below 0, which upstream treats as 0"},
        NoteCase{"AnAgeOfNothing", "profiles: [{pluginConfig: [{name: DefaultEvictor, args: {minPodAge: 0s}}]}]",
                 "changed profiles[0].pluginConfig[0].args.minPodAge: keeps only pods that have not started: 1us"},
        NoteCase{"WhatIsNotEnabled", "profiles: [{pluginConfig: [{name: PodLifeTime, args: {}}]}]",
                 "ignored profiles[0].pluginConfig[0].args: PodLifeTime is configured, but not enabled"},
        NoteCase{"WhatIsConfiguredTwice", "profiles: [{pluginConfig: [{name: PodLifeTime}, {name: PodLifeTime}]}]",
                 "ignored profiles[0].pluginConfig[1]: PodLifeTime is already configured above"},
        NoteCase{"AnUnknownProvider", "profiles: []\nmetricsProviders: [{source: Graphite}]",
                 "dropped metricsProviders[0]: upstream has no source \"Graphite\""},
        NoteCase{
            "PrometheusWithoutAToken",
            "profiles: []\nmetricsProviders: [{source: Prometheus, prometheus: {url: http://p}}]",
            "changed metricsProviders[0].prometheus: upstream authenticates to Prometheus with the token of its own"},
        NoteCase{"TheSecretOfAToken",
                 "profiles: []\nmetricsProviders: [{source: Prometheus, prometheus: {url: http://p, "
                 "authToken: {secretReference: {namespace: monitoring, name: token}}}}]",
                 "changed metricsProviders[0].prometheus.authToken.secretReference: the Secret monitoring/token "
                 "must be in the operator's namespace"},
        NoteCase{"StrategiesBesideProfiles", "profiles: []\nstrategies: {}",
                 "ignored strategies: belongs to descheduler/v1alpha1; upstream ignores it in v1alpha2"},
        NoteCase{"ProfilesBesideStrategies", "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nprofiles: []",
                 "ignored profiles: belongs to descheduler/v1alpha2; upstream ignores it in v1alpha1"},
        NoteCase{"AStrategyThatIsNull", "strategies: {RemoveDuplicates: null}",
                 "ignored strategies.RemoveDuplicates: is null: not enabled"},
        NoteCase{"ConfigsOfPluginsThatUpstreamDoesNotKnow",
                 "profiles: [{pluginConfig: [{name: PodLiveTime, args: {maxPodLifeTimeSeconds: 1}}]}]",
                 "dropped profiles[0].pluginConfig[0].args: upstream's tree has no plugin \"PodLiveTime\", did you "
                 "mean \"PodLifeTime\"?; upstream rejects such a policy when it starts"},
        NoteCase{"SilentFailures", "profiles: []\nevictionFailureEventNotification: false",
                 "changed evictionFailureEventNotification: events about failed evictions are always published"}),
    [](const auto& test) { return std::string(test.param.name); });

constexpr const char* kByUsage = R"(
profiles:
- name: p
  pluginConfig:
  - name: LowNodeUtilization
    args:
      thresholds: {%R%: 20}
      targetThresholds: {%R%: 50}
      metricsUtilization: %M%
  plugins: {balance: {enabled: [LowNodeUtilization]}}
)";

std::string by_usage(std::string_view resource, std::string_view metrics) {
  std::string text = kByUsage;
  for (std::size_t at = 0; (at = text.find("%R%")) != std::string::npos;) text.replace(at, 3, resource);
  return text.replace(text.find("%M%"), 3, metrics);
}

TEST(Convert, KeepsMeasuredUsageWithItsSource) {
  const auto conversion =
      convert(by_usage("cpu", "{source: KubernetesMetrics}") + "metricsProviders: [{source: KubernetesMetrics}]");
  expect_valid(conversion);
  EXPECT_THAT(notes_of(conversion), IsEmpty());
  EXPECT_EQ(spec_of(conversion).at("usageSources"),
            api::Json::parse(R"([{"name": "metrics-server", "type": "MetricsServer"}])"));
  EXPECT_EQ(spec_of(conversion).at("strategies").at(0).at("args").at("metricsUtilization").at("source"),
            "KubernetesMetrics");
}

TEST(Convert, TakesTheOldSpellingsOfTheCollector) {
  const auto conversion = convert(by_usage("cpu", "{metricsServer: true}") + "metricsCollector: {enabled: true}");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("usageSources").at(0).at("type"), "MetricsServer");
}

TEST(Convert, KeepsAStrategyThatGoesByAQuery) {
  const auto conversion = convert(by_usage("MetricResource", "{source: Prometheus, prometheus: {query: q}}") + R"(
metricsProviders:
- source: Prometheus
  prometheus: {url: "https://p:9090", authToken: {secretReference: {namespace: m, name: t}}})");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("usageSources"), api::Json::parse(R"([{"name": "prometheus", "type": "Prometheus",
    "prometheus": {"url": "https://p:9090", "bearerToken": {"name": "t", "key": "prometheusAuthToken"}}}])"));
}

TEST(Convert, SaysWhereTheSourceIsMissing) {
  const auto conversion = convert(by_usage("cpu", "{source: KubernetesMetrics}"));
  expect_valid(conversion);
  EXPECT_THAT(notes_of(conversion),
              ElementsAre(HasSubstr("LowNodeUtilization uses a source that no metricsProviders entry configures")));
}

TEST(Convert, OmitsUnusedSources) {
  const auto conversion = convert(std::string(ENABLED("balance", "RemoveDuplicates", "{}")) +
                                  "\nmetricsProviders: [{source: KubernetesMetrics}]");
  expect_valid(conversion);
  EXPECT_FALSE(spec_of(conversion).contains("usageSources"));
}

TEST(Convert, RefusesTheSameProviderTwice) {
  const auto conversion = convert(
      "profiles: []\nmetricsCollector: {enabled: true}\n"
      "metricsProviders: [{source: KubernetesMetrics}]");
  EXPECT_THAT(errors_of(conversion),
              ElementsAre(HasSubstr("metricsProviders[0]: metrics-server is already listed above")));
}

TEST(Convert, KeepsPodsThatHaveEndedSelected) {
  const auto conversion = convert(R"(
profiles:
- name: p
  pluginConfig: [{name: PodLifeTime, args: {maxPodLifeTimeSeconds: 60, states: [Succeeded, Failed]}}]
  plugins: {deschedule: {enabled: [PodLifeTime]}}
)");
  expect_valid(conversion);
  const api::Json args = spec_of(conversion).at("strategies").at(0).at("args");
  EXPECT_EQ(args.at("states"), api::Json({"Succeeded", "Failed"}));
  EXPECT_EQ(args.at("terminalPods"), api::Json({{"evict", true}}));
  EXPECT_THAT(notes_of(conversion), ElementsAre(HasSubstr("changed profiles[0].pluginConfig[0].args.states: selects")));
}

TEST(Convert, ReportsStrategiesThatTheCatalogueDoesNotKnow) {
  convert::StrategyCatalogue catalogue = strategy_catalogue();
  catalogue.names = {"PodLifeTime"};
  const auto conversion = convert::convert_upstream(R"(
profiles:
- pluginConfig: [{name: RemoveDuplicates}, {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 1}}]
  plugins: {deschedule: {enabled: [PodLifeTime]}, balance: {enabled: [RemoveDuplicates]}}
)",
                                                    catalogue, {});
  expect_valid(conversion);
  EXPECT_THAT(notes_of(conversion), ElementsAre(HasSubstr("dropped profiles[0].pluginConfig[0].args: the strategy "
                                                          "RemoveDuplicates is not supported yet; keep upstream")));
  EXPECT_EQ(spec_of(conversion).at("strategies").size(), 1);
}

// ---------------------------------------------------------------- v1alpha1

TEST(Convert, GroupsOldStrategiesByTheirEvictability) {
  const auto conversion = convert(R"(
apiVersion: descheduler/v1alpha1
kind: DeschedulerPolicy
evictLocalStoragePods: true
ignorePvcPods: false
maxNoOfPodsToEvictPerNode: 40
strategies:
  RemoveDuplicates:
    enabled: true
    params: {removeDuplicates: {excludeOwnerKinds: [ReplicaSet]}, namespaces: {exclude: [kube-system]}}
  LowNodeUtilization:
    enabled: true
    params:
      namespaces: {exclude: [ns-a]}
      nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, numberOfNodes: 3}
  PodLifeTime:
    enabled: true
    params:
      podLifeTime: {maxPodLifeTimeSeconds: 86400, podStatusPhases: [Pending]}
      nodeFit: true
      thresholdPriorityClassName: high
      labelSelector: {matchLabels: {app: web}}
  RemovePodsViolatingNodeTaints: {enabled: false}
)");
  expect_valid(conversion);
  EXPECT_THAT(names_of(conversion), ElementsAre("descheduler", "pod-life-time"));
  EXPECT_EQ(spec_of(conversion, 0), api::parse_yaml(R"(
evictability: {podProtections: {defaultDisabled: [PodsWithLocalStorage]}}
limits: {perCycle: {perNode: 40}}
strategies:
- name: LowNodeUtilization
  args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, numberOfNodes: 3, evictableNamespaces: {exclude: [ns-a]}}
- name: RemoveDuplicates
  args: {excludeOwnerKinds: [ReplicaSet], namespaces: {exclude: [kube-system]}}
)")
                                        ->at(0));
  EXPECT_EQ(spec_of(conversion, 1), api::parse_yaml(R"(
evictability:
  podProtections: {defaultDisabled: [PodsWithLocalStorage]}
  priorityThreshold: {name: high}
limits: {perCycle: {perNode: 40}}
strategies:
- name: PodLifeTime
  args: {maxPodLifeTimeSeconds: 86400, states: [Pending], labelSelector: {matchLabels: {app: web}}}
)")
                                        ->at(0));
  EXPECT_THAT(notes_of(conversion),
              testing::Contains("ignored strategies.RemovePodsViolatingNodeTaints: is not enabled"));
  EXPECT_THAT(notes_of(conversion),
              testing::Contains("ignored strategies.PodLifeTime.params.nodeFit: PodLifeTime ignores it"));
}

TEST(Convert, SaysThatFailedPodsStayLongerThanOnce) {
  const auto convert_with = [](const char* params) {
    return convert(std::string("strategies: {RemoveFailedPods: {enabled: true, params: {failedPods: {") + params +
                   "}}}}");
  };
  const auto by_default = convert_with("includingInitContainers: true");
  expect_valid(by_default);
  EXPECT_THAT(notes_of(by_default),
              testing::Contains(HasSubstr("changed strategies.RemoveFailedPods.params: keeps failed pods for an hour "
                                          "(minPodLifetimeSeconds), as upstream does since 0.27")));
  EXPECT_THAT(notes_of(convert_with("minPodLifetimeSeconds: 60")), testing::Each(Not(HasSubstr("for an hour"))));
}

TEST(Convert, JoinsBothNamesOfOldStates) {
  const auto conversion = convert(R"(
strategies:
  PodLifeTime:
    enabled: true
    params: {podLifeTime: {podStatusPhases: [Pending, Running], states: [Running, ImagePullBackOff]}}
)");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("strategies").at(0).at("args").at("states"),
            api::Json({"Pending", "Running", "ImagePullBackOff"}));
}

TEST(Convert, DropsOldTargetsOfHighNodeUtilization) {
  const auto conversion = convert(R"(
strategies:
  HighNodeUtilization:
    enabled: true
    params: {nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}}
)");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("strategies").at(0).at("args"), api::Json({{"thresholds", {{"cpu", 20}}}}));
  EXPECT_THAT(notes_of(conversion), ElementsAre(HasSubstr("targetThresholds: upstream ignores it silently")));
}

TEST(Convert, NotesOldParamsThatTheirStrategyIgnores) {
  const auto conversion = convert(R"(
strategies:
  RemoveDuplicates: {enabled: true, weight: 1, params: {labelSelector: {}, nodeAffinityType: [x], podLifeTime: {}, nope: 1}}
  RemoveDuplicats: {enabled: true}
)");
  expect_valid(conversion);
  EXPECT_THAT(
      notes_of(conversion),
      ElementsAre(HasSubstr("ignored strategies.RemoveDuplicates.params.labelSelector: RemoveDuplicates ignores"),
                  HasSubstr("ignored strategies.RemoveDuplicates.params.nodeAffinityType"),
                  HasSubstr("ignored strategies.RemoveDuplicates.params.podLifeTime"),
                  HasSubstr("dropped strategies.RemoveDuplicates.params.nope: unknown field"),
                  HasSubstr("dropped strategies.RemoveDuplicats: upstream has no such strategy, did you mean")));
}

TEST(Convert, PassesOverUnknownArgsOfOldStrategiesAsTheirDecoderDid) {
  const auto conversion = convert(R"(
apiVersion: descheduler/v1alpha1
kind: DeschedulerPolicy
strategies:
  RemoveDuplicates:
    enabled: true
    params:
      namespaces: {exclude: [a], excluded: [b]}
      removeDuplicates: {excludeOwnerKinds: [Job], labelSelector: {}, exclude.kinds: []}
  LowNodeUtilization:
    enabled: true
    params: {nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, numberOfNode: 1}}
)");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("strategies").at(1).at("args"),
            api::Json({{"excludeOwnerKinds", {"Job"}}, {"namespaces", {{"exclude", {"a"}}}}}));
  EXPECT_THAT(
      notes_of(conversion),
      testing::UnorderedElementsAre(
          HasSubstr("dropped strategies.LowNodeUtilization.params.nodeResourceUtilizationThresholds.numberOfNode: "
                    "unknown field, did you mean \"numberOfNodes\"?; upstream ignores it silently"),
          HasSubstr("dropped strategies.RemoveDuplicates.params.namespaces.excluded: unknown field"),
          HasSubstr("dropped strategies.RemoveDuplicates.params.removeDuplicates.labelSelector: upstream ignores it"),
          HasSubstr("dropped strategies.RemoveDuplicates.params.removeDuplicates[exclude.kinds]: unknown field")));
}

}  // namespace convert_notes_test
}  // namespace cmd
