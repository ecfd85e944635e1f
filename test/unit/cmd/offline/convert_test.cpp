#include "cmd/offline/convert.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"
#include "cmd/commands.hpp"
#include "test/unit/cmd/command_fixture.hpp"
#include "test/unit/cmd/offline/convert_cases.hpp"

namespace cmd {
namespace convert_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ---------------------------------------------------------------- v1alpha2: what comes out

struct ProfileCase {
  const char* name;
  const char* profile;  ///< YAML below "- " of profiles, indented by two
  const char* spec;     ///< YAML
};

class ConvertsProfile : public testing::TestWithParam<ProfileCase> {};

TEST_P(ConvertsProfile, To) {
  const std::string text =
      std::string("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: p\n") +
      GetParam().profile;
  const auto conversion = convert(text);
  expect_valid(conversion);
  EXPECT_THAT(notes_of(conversion), IsEmpty());
  EXPECT_EQ(spec_of(conversion), api::parse_yaml(GetParam().spec)->at(0)) << api::to_yaml(spec_of(conversion));
}

constexpr const char* kOldPods = R"(
  pluginConfig:
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 86400, labelSelector: {matchLabels: {tier: web}}}
  plugins: {deschedule: {enabled: [PodLifeTime]}}
)";
constexpr const char* kOldPodsSpec = R"(
strategies:
- name: PodLifeTime
  args: {maxPodLifeTimeSeconds: 86400, labelSelector: {matchLabels: {tier: web}}}
)";

INSTANTIATE_TEST_SUITE_P(
    V1alpha2, ConvertsProfile,
    testing::Values(ProfileCase{"OneStrategy", kOldPods, kOldPodsSpec},
                    ProfileCase{"ArgsMayBeLeftOut", R"(
  pluginConfig: [{name: RemoveDuplicates}, {name: RemovePodsViolatingNodeTaints, args: null}]
  plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}, balance: {enabled: [RemoveDuplicates]}}
)",
                                "strategies: [{name: RemovePodsViolatingNodeTaints}, {name: RemoveDuplicates}]"},
                    ProfileCase{"DescheduleRunsBeforeBalance", R"(
  plugins:
    balance: {enabled: [HighNodeUtilization]}
    deschedule: {enabled: [RemovePodsViolatingInterPodAntiAffinity, RemovePodsViolatingNodeAffinity]}
  pluginConfig:
  - {name: HighNodeUtilization, args: {thresholds: {cpu: 20, nvidia.com/gpu: 10.5}, evictionModes: [OnlyThresholdingResources]}}
  - {name: RemovePodsViolatingNodeAffinity, args: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}}
  - {name: RemovePodsViolatingInterPodAntiAffinity}
)",
                                R"(
strategies:
- name: RemovePodsViolatingInterPodAntiAffinity
- {name: RemovePodsViolatingNodeAffinity, args: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}}
- {name: HighNodeUtilization, args: {thresholds: {cpu: 20, nvidia.com/gpu: 10.5}, evictionModes: [OnlyThresholdingResources]}}
)"},
                    ProfileCase{
                        "TheTypeOfArgsIsLeftOut", R"(
  pluginConfig:
  - name: RemovePodsHavingTooManyRestarts
    args: {apiVersion: descheduler/v1alpha2, kind: RemovePodsHavingTooManyRestartsArgs, podRestartThreshold: 100}
  plugins: {deschedule: {enabled: [RemovePodsHavingTooManyRestarts]}}
)",
                        "strategies: [{name: RemovePodsHavingTooManyRestarts, args: {podRestartThreshold: 100}}]"},
                    ProfileCase{"TheEvictorInToday'sWords", R"(
  pluginConfig:
  - name: DefaultEvictor
    args:
      nodeSelector: 'pool=batch,!spot,cores>8,zone in (b, a)'
      nodeFit: true
      minReplicas: 2
      minPodAge: 50m
      priorityThreshold: {value: 10000}
      labelSelector: {matchExpressions: [{key: tier, operator: Exists}]}
      namespaceLabelSelector: {matchLabels: {team: shop}}
      noEvictionPolicy: Mandatory
      podProtections:
        defaultDisabled: [PodsWithLocalStorage]
        extraEnabled: [PodsWithPVC, PodsWithResourceClaims]
        config: {PodsWithPVC: {protectedStorageClasses: [{name: local-nvme}]}}
  - {name: RemoveDuplicates}
  plugins: {balance: {enabled: [RemoveDuplicates]}, filter: {enabled: [DefaultEvictor]}, preevictionfilter: {enabled: [DefaultEvictor]}}
)",
                                R"(
evictability:
  nodeSelector:
    matchLabels: {pool: batch}
    matchExpressions: [{key: spot, operator: DoesNotExist}, {key: cores, operator: Gt, values: ["8"]}, {key: zone, operator: In, values: [a, b]}]
  nodeFit: true
  minReplicas: 2
  minPodAge: 50m
  priorityThreshold: {value: 10000}
  labelSelector: {matchExpressions: [{key: tier, operator: Exists}]}
  namespaceLabelSelector: {matchLabels: {team: shop}}
  noEvictionPolicy: Mandatory
  podProtections:
    defaultDisabled: [PodsWithLocalStorage]
    extraEnabled: [PodsWithPVC, PodsWithResourceClaims]
    config: {PodsWithPVC: {protectedStorageClasses: [{name: local-nvme}]}}
strategies: [{name: RemoveDuplicates}]
)"},
                    ProfileCase{"TheEvictorInDeprecatedWords", R"(
  pluginConfig:
  - name: DefaultEvictor
    args:
      evictLocalStoragePods: true
      evictSystemCriticalPods: true
      evictFailedBarePods: true
      evictDaemonSetPods: true
      ignorePvcPods: true
      ignorePodsWithoutPDB: true
      podProtections: {config: {PodsWithPVC: {protectedStorageClasses: [{name: fast}]}}}
      priorityThreshold: {value: null, name: ""}
      nodeSelector: ""
      noEvictionPolicy: ""
  - {name: RemoveDuplicates}
  plugins: {balance: {enabled: [RemoveDuplicates]}}
)",
                                R"(
evictability:
  podProtections:
    defaultDisabled: [PodsWithLocalStorage, SystemCriticalPods, FailedBarePods, DaemonSetPods]
    extraEnabled: [PodsWithPVC, PodsWithoutPDB]
    config: {PodsWithPVC: {protectedStorageClasses: [{name: fast}]}}
strategies: [{name: RemoveDuplicates}]
)"}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::erase(name, '\'');
      return name;
    });

// ---------------------------------------------------------------- whole files

TEST(Convert, TakesTheSettingsOfTheCycle) {
  const auto conversion = convert(R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
nodeSelector: prod=dev
maxNoOfPodsToEvictPerNode: 5
maxNoOfPodsToEvictPerNamespace: 0
maxNoOfPodsToEvictTotal: 4000000000
gracePeriodSeconds: 60
profiles:
- name: OldPods
)" + std::string(kOldPods));
  expect_valid(conversion);
  EXPECT_THAT(names_of(conversion), ElementsAre("old-pods"));
  const api::Json spec = spec_of(conversion);
  EXPECT_EQ(spec.at("nodeSelector"), api::Json({{"matchLabels", {{"prod", "dev"}}}}));
  EXPECT_EQ(spec.at("limits"), api::Json({{"perCycle", {{"perNode", 5}, {"perNamespace", 0}}}}));
  EXPECT_EQ(spec.at("evacuation"), api::Json({{"gracePeriodSeconds", 60}}));
  EXPECT_THAT(notes_of(conversion), ElementsAre("changed maxNoOfPodsToEvictTotal: 4000000000 is as good as no limit"));
}

TEST(Convert, KeepsPodsBackThatHaveNotStartedWhenAnAgeOfNothingIsAskedFor) {
  const auto conversion = convert(R"(
gracePeriodSeconds: 0
profiles:
- pluginConfig: [{name: DefaultEvictor, args: {minPodAge: 0s}}, {name: RemoveDuplicates}]
  plugins: {balance: {enabled: [RemoveDuplicates]}}
- pluginConfig: [{name: HighNodeUtilization, args: {thresholds: {cpu: 20}, numberOfNodes: -1}}]
  plugins: {balance: {enabled: [HighNodeUtilization]}}
)");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("evictability").at("minPodAge"), "1us");
  EXPECT_EQ(spec_of(conversion).at("evacuation").at("gracePeriodSeconds"), 1);
  EXPECT_EQ(spec_of(conversion, 1).at("strategies").at(0).at("args").at("numberOfNodes"), 0);
  EXPECT_EQ(notes_of(conversion).size(), 3);
}

TEST(Convert, DecidesAsUpstreamUnlessToldOtherwise) {
  const std::string text = "profiles:\n- name: p\n" + std::string(kOldPods);
  EXPECT_EQ(convert(text).policies.at(0).at("spec").at("compatibility"), "Upstream");
  EXPECT_EQ(convert(text, {.compatibility = "None", .interval = {}}).policies.at(0).at("spec").at("compatibility"),
            "None");
}

TEST(Convert, StartsAsADryRunUnlessToldOtherwise) {
  const std::string text = "profiles:\n- name: p\n" + std::string(kOldPods);
  EXPECT_EQ(convert(text).policies.at(0).at("spec").at("mode"), "DryRun");
  const auto conversion = convert(text, {.mode = api::PolicyMode::kAutomatic, .interval = base::seconds(90)});
  expect_valid(conversion);
  EXPECT_EQ(conversion.policies.at(0).at("spec").at("mode"), "Automatic");
  EXPECT_EQ(spec_of(conversion).at("schedule").at("interval"), "1m30s");
}

TEST(Convert, MakesOnePolicyOfEachProfile) {
  const auto conversion = convert(R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
maxNoOfPodsToEvictTotal: 10
profiles:
- name: tidy
  pluginConfig: [{name: RemoveDuplicates}]
  plugins: {balance: {enabled: [RemoveDuplicates]}}
- name: Tidy
  pluginConfig: [{name: RemovePodsViolatingNodeTaints}]
  plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}
- pluginConfig: [{name: RemoveDuplicates, args: {excludeOwnerKinds: [ReplicationController]}}]
  plugins: {balance: {enabled: [RemoveDuplicates]}}
- name: idle
)");
  expect_valid(conversion);
  EXPECT_THAT(names_of(conversion), ElementsAre("tidy", "tidy-2", "descheduler"));
  EXPECT_THAT(conversion.sources, ElementsAre("profiles[0]", "profiles[1]", "profiles[2]"));
  EXPECT_EQ(spec_of(conversion, 2).at("limits").at("perCycle").at("total"), 10);
  EXPECT_THAT(notes_of(conversion),
              ElementsAre(HasSubstr("ignored profiles[3]: enables no strategy"),
                          HasSubstr("changed maxNoOfPodsToEvictTotal: holds for each of the 3 policies by itself")));
}

// ---------------------------------------------------------------- notes

struct NoteCase {
  const char* name;
  const char* text;  ///< below "profiles: [{…}]" or of the whole policy
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
        NoteCase{
            "FieldsThatUpstreamPassesOver", "profiles: []\nmaxNoOfPodsToEvictPerNod: 5",
            "dropped maxNoOfPodsToEvictPerNod: unknown field, did you mean \"maxNoOfPodsToEvictPerNode\"?; upstream "
            "passes it over in silence; mend or remove it"},
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
                 "changed gracePeriodSeconds: 0 would delete pods by force, before they have stopped: 1 is written"},
        NoteCase{"TheOldNameOfSoftConstraints",
                 ENABLED("balance", "RemovePodsViolatingTopologySpreadConstraint", "{includeSoftConstraints: true}"),
                 "changed profiles[0].pluginConfig[0].args.includeSoftConstraints: is what 0.26 and 0.27 called "
                 "constraints; upstream refuses it since 0.28"},
        NoteCase{"ANumberOfNodesBelowZero",
                 ENABLED("balance", "HighNodeUtilization", "{thresholds: {cpu: 20}, numberOfNodes: -1}"),
                 "changed profiles[0].pluginConfig[0].args.numberOfNodes: -1 is below 0, which upstream takes as 0"},
        NoteCase{"AnAgeOfNothing", "profiles: [{pluginConfig: [{name: DefaultEvictor, args: {minPodAge: 0s}}]}]",
                 "changed profiles[0].pluginConfig[0].args.minPodAge: keeps only pods that have not started: 1us"},
        NoteCase{"WhatIsNotEnabled", "profiles: [{pluginConfig: [{name: PodLifeTime, args: {}}]}]",
                 "ignored profiles[0].pluginConfig[0].args: PodLifeTime is configured, but not enabled"},
        NoteCase{"WhatIsConfiguredTwice", "profiles: [{pluginConfig: [{name: PodLifeTime}, {name: PodLifeTime}]}]",
                 "ignored profiles[0].pluginConfig[1]: PodLifeTime is configured above already"},
        NoteCase{"AnUnknownProvider", "profiles: []\nmetricsProviders: [{source: Graphite}]",
                 "dropped metricsProviders[0]: upstream has no source \"Graphite\""},
        NoteCase{"PrometheusWithoutAToken",
                 "profiles: []\nmetricsProviders: [{source: Prometheus, prometheus: {url: http://p}}]",
                 "changed metricsProviders[0].prometheus: upstream shows Prometheus the token of its own"},
        NoteCase{"TheSecretOfAToken",
                 "profiles: []\nmetricsProviders: [{source: Prometheus, prometheus: {url: http://p, "
                 "authToken: {secretReference: {namespace: monitoring, name: token}}}}]",
                 "changed metricsProviders[0].prometheus.authToken.secretReference: the Secret monitoring/token is "
                 "read in the operator's namespace only"},
        NoteCase{"StrategiesBesideProfiles", "profiles: []\nstrategies: {}",
                 "ignored strategies: belongs to descheduler/v1alpha1; upstream passes it over in v1alpha2"},
        NoteCase{"ProfilesBesideStrategies", "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nprofiles: []",
                 "ignored profiles: belongs to descheduler/v1alpha2; upstream passes it over in v1alpha1"},
        NoteCase{"AStrategyThatIsNull", "strategies: {RemoveDuplicates: null}",
                 "ignored strategies.RemoveDuplicates: is null: not enabled"},
        NoteCase{
            "ConfigsOfPluginsThatUpstreamDoesNotKnow",
            "profiles: [{pluginConfig: [{name: PodLifetime, args: {maxPodLifeTimeSeconds: 1}}]}]",
            "dropped profiles[0].pluginConfig[0].args: upstream's tree has no plugin \"PodLifetime\", did you mean "
            "\"PodLifeTime\"?; it refuses such a policy at its start"},
        NoteCase{"SilentFailures", "profiles: []\nevictionFailureEventNotification: false",
                 "changed evictionFailureEventNotification: events about evictions that fail are always published"}),
    [](const auto& info) { return std::string(info.param.name); });

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
              ElementsAre(HasSubstr("LowNodeUtilization asks a source that no metricsProviders entry configures")));
}

TEST(Convert, LeavesOutSourcesThatNobodyAsks) {
  const auto conversion = convert(std::string(ENABLED("balance", "RemoveDuplicates", "{}")) +
                                  "\nmetricsProviders: [{source: KubernetesMetrics}]");
  expect_valid(conversion);
  EXPECT_FALSE(spec_of(conversion).contains("usageSources"));
}

TEST(Convert, RefusesTheSameProviderTwice) {
  const auto conversion = convert(
      "profiles: []\nmetricsCollector: {enabled: true}\n"
      "metricsProviders: [{source: KubernetesMetrics}]");
  EXPECT_THAT(errors_of(conversion), ElementsAre(HasSubstr("metricsProviders[0]: metrics-server is named above")));
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
  api::StrategyCatalogue catalogue = strategy_catalogue();
  catalogue.names = {"PodLifeTime"};
  const auto conversion = api::convert_upstream(R"(
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

TEST(Convert, GroupsOldStrategiesByWhatTheyMayEvict) {
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
              testing::Contains("ignored strategies.PodLifeTime.params.nodeFit: PodLifeTime does not look at it"));
}

TEST(Convert, SaysThatFailedPodsStayLongerThanOnce) {
  const auto convert_with = [](const char* params) {
    return convert(std::string("strategies: {RemoveFailedPods: {enabled: true, params: {failedPods: {") + params +
                   "}}}}");
  };
  const auto by_default = convert_with("includingInitContainers: true");
  expect_valid(by_default);
  EXPECT_THAT(notes_of(by_default),
              testing::Contains(HasSubstr("changed strategies.RemoveFailedPods.params: leaves failed pods for an hour "
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
  EXPECT_THAT(notes_of(conversion), ElementsAre(HasSubstr("targetThresholds: upstream passes it over in silence")));
}

TEST(Convert, NotesOldParamsThatTheirStrategyDoesNotLookAt) {
  const auto conversion = convert(R"(
strategies:
  RemoveDuplicates: {enabled: true, weight: 1, params: {labelSelector: {}, nodeAffinityType: [x], podLifeTime: {}, nope: 1}}
  RemoveDuplicats: {enabled: true}
)");
  expect_valid(conversion);
  EXPECT_THAT(
      notes_of(conversion),
      ElementsAre(HasSubstr("ignored strategies.RemoveDuplicates.params.labelSelector: RemoveDuplicates does not"),
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
          HasSubstr(
              "dropped strategies.LowNodeUtilization.params.nodeResourceUtilizationThresholds.numberOfNode: unknown "
              "field, did you mean \"numberOfNodes\"?; upstream passes it over in silence"),
          HasSubstr("dropped strategies.RemoveDuplicates.params.namespaces.excluded: unknown field"),
          HasSubstr(
              "dropped strategies.RemoveDuplicates.params.removeDuplicates.labelSelector: upstream passes it over"),
          HasSubstr("dropped strategies.RemoveDuplicates.params.removeDuplicates[exclude.kinds]: unknown field")));
}

// ---------------------------------------------------------------- where policies are found

TEST(Convert, ReadsTheValuesOfTheChart) {
  const auto conversion = convert(R"(
kind: CronJob
image: {repository: example.org/descheduler}
schedule: "*/30 * * * *"
suspend: true
cmdOptions: {v: 3, dry-run: true}
deschedulerPolicyAPIVersion: descheduler/v1alpha2
deschedulerPolicy:
  maxNoOfPodsToEvictTotal: 3
  profiles:
  - name: default
    pluginConfig: [{name: RemoveDuplicates}]
    plugins: {balance: {enabled: [RemoveDuplicates]}}
rbac: {create: true}
)");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion), api::parse_yaml(R"(
limits: {perCycle: {total: 3}}
schedule: {interval: 30m0s}
suspend: true
strategies: [{name: RemoveDuplicates}]
)")
                                     ->at(0));
  EXPECT_THAT(notes_of(conversion), ElementsAre(HasSubstr("changed schedule: the policies run every 30m0s"),
                                                HasSubstr("ignored cmdOptions.v: is a flag of the process"),
                                                HasSubstr("ignored image, rbac: about how upstream is installed")));
}

TEST(Convert, ReadsTheValuesOfAParentChart) {
  const auto conversion = convert(R"(
descheduler:
  kind: Deployment
  deschedulingInterval: 10m
  deschedulerPolicy: {profiles: [{name: p, pluginConfig: [{name: RemoveDuplicates}], plugins: {balance: {enabled: [RemoveDuplicates]}}}]}
)");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("schedule").at("interval"), "10m0s");
  EXPECT_THAT(conversion.sources, ElementsAre("descheduler.deschedulerPolicy.profiles[0]"));
  EXPECT_THAT(notes_of(conversion), IsEmpty());
}

TEST(Convert, FindsPoliciesInConfigMapsListsAndSeveralDocuments) {
  const std::string map = R"({apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {policy.yaml: "apiVersion: )"
                          R"(descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: [{name: m, pluginConfig: )"
                          R"([{name: RemoveDuplicates}], plugins: {balance: {enabled: [RemoveDuplicates]}}}]\n"}})";
  EXPECT_THAT(names_of(convert(map)), ElementsAre("m"));
  EXPECT_THAT(names_of(convert("{apiVersion: v1, kind: List, items: [" + map + "]}")), ElementsAre("m"));
  const auto two = convert("apiVersion: v1\nkind: ServiceAccount\n---\n" + map + "\n---\n" + map);
  expect_valid(two);
  EXPECT_THAT(names_of(two), ElementsAre("m", "m-2"));
  EXPECT_EQ(two.sources.at(0), "documents[1].data[policy.yaml].profiles[0]");
}

struct CronCase {
  const char* cron;
  const char* schedule;  ///< of the policy, as YAML; "" = none
};
class Cron : public testing::TestWithParam<CronCase> {};
TEST_P(Cron, BecomesASchedule) {
  const auto conversion = convert(std::string("schedule: \"") + GetParam().cron + R"("
deschedulerPolicy:
  profiles: [{name: p, pluginConfig: [{name: RemoveDuplicates}], plugins: {balance: {enabled: [RemoveDuplicates]}}}]
)");
  expect_valid(conversion);
  const auto expected = api::parse_yaml(GetParam().schedule);
  EXPECT_EQ(spec_of(conversion).value("schedule", api::Json()), expected->empty() ? api::Json() : expected->at(0));
}
INSTANTIATE_TEST_SUITE_P(
    Expressions, Cron,
    testing::Values(
        // Equal distances of at most an hour: an interval.
        CronCase{"*/2 * * * *", "interval: 2m0s"}, CronCase{"* * * * *", "interval: 1m0s"},
        CronCase{"15 * * * *", "interval: 1h0m0s"}, CronCase{"@hourly", "interval: 1h0m0s"},
        CronCase{"@every 90m", "interval: 1h30m0s"},
        // Times that somebody chose.
        CronCase{"30 */2 * * *", "cron: '30 */2 * * *'"}, CronCase{"30 3 * * *", "cron: '30 3 * * *'"},
        CronCase{"0 4 * * 0", "cron: '0 4 * * 0'"}, CronCase{"@daily", "cron: '@daily'"},
        CronCase{"*/7 * * * *", "cron: '*/7 * * * *'"}, CronCase{"4,34,50 * * * *", "cron: '4,34,50 * * * *'"},
        CronCase{"0 9-17 * * MON-FRI", "cron: 0 9-17 * * MON-FRI"}, CronCase{"0 0 1 * *", "cron: 0 0 1 * *"},
        CronCase{"TZ=Europe/Rome 0 3 * * *", "{cron: 0 3 * * *, timeZone: Europe/Rome}"},
        // Neither.
        CronCase{"99 * * * *", ""}, CronCase{"soon", ""}, CronCase{"0 0 30 2 *", ""}, CronCase{"${WHEN}", ""},
        CronCase{"TZ=Atlantis 0 3 * * *", ""}, CronCase{"TZ=", ""}, CronCase{"@every never", ""}));

TEST(SoftConstraints, KeepTheirMeaningUnderTheOldName) {
  const auto args_of = [](const char* soft) {
    const auto conversion =
        convert(std::string("profiles: [{pluginConfig: [{name: "
                            "RemovePodsViolatingTopologySpreadConstraint, args: "
                            "{includeSoftConstraints: ") +
                soft + "}}], plugins: {balance: {enabled: [RemovePodsViolatingTopologySpreadConstraint]}}}]");
    expect_valid(conversion);
    return spec_of(conversion).at("strategies").at(0).value("args", api::Json());
  };
  EXPECT_EQ(args_of("true"), api::Json({{"constraints", {"DoNotSchedule", "ScheduleAnyway"}}}));
  EXPECT_EQ(args_of("false"), api::Json());
}

// ---------------------------------------------------------------- bad input

struct BadCase {
  const char* name;
  const char* text;
  const char* error;
};
class BadInput : public testing::TestWithParam<BadCase> {};

TEST_P(BadInput, IsRefusedWithThePath) {
  const auto conversion = convert(GetParam().text);
  EXPECT_THAT(errors_of(conversion), testing::Contains(HasSubstr(GetParam().error)));
  EXPECT_THAT(conversion.policies, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Of, BadInput,
    testing::Values(
        BadCase{"NoYaml", "profiles: [", "line "},
        BadCase{"AnotherObject", "apiVersion: v1\nkind: Pod", "there is no policy"},
        BadCase{"NothingAtAll", "", "is empty: did the command that should write it fail?"},
        BadCase{"OnlyMarksAndComments", "---\n# later\n---\n", "is empty: did the command"},
        BadCase{
            "AKustomization",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nconfigMapGenerator: [{name: p, files: "
            "[policy.yaml]}]\n",
            "render them first (`kubectl kustomize DIR | evacuator convert -`)"},
        BadCase{"AKustomizationWithoutType", "resources: [base]\n", "(`kubectl kustomize DIR | evacuator convert -`)"},
        BadCase{"AKustomizationWithCharts",
                "kind: Kustomization\nhelmCharts: [{name: descheduler, valuesInline: {kind: Deployment}}]\n",
                "(`kustomize build --enable-helm DIR | evacuator convert -`)"},
        BadCase{"AKustomizationOfFlux",
                "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {path: ./a}\n",
                "(`flux build kustomization NAME --path DIR --kustomization-file FILE | evacuator convert -`)"},
        BadCase{"AHelmfile", "releases: [{name: descheduler, chart: descheduler/descheduler}]\n",
                "(`helmfile template | evacuator convert -`)"},
        BadCase{"AList", "[1]", "must be a policy of the descheduler, not a list"},
        BadCase{"OursAlready", "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy", "is Evacuator's already"},
        BadCase{"AnotherVersion", "apiVersion: descheduler/v1\nkind: DeschedulerPolicy",
                "apiVersion: must be descheduler/v1alpha2 or descheduler/v1alpha1"},
        BadCase{"AnotherKind", "apiVersion: descheduler/v1alpha2\nkind: Policy", "kind: must be DeschedulerPolicy"},
        BadCase{"NegativeLimit", "profiles: []\nmaxNoOfPodsToEvictTotal: -1",
                "maxNoOfPodsToEvictTotal: -1 is no whole number"},
        BadCase{"LimitInQuotes", "profiles: []\nmaxNoOfPodsToEvictPerNode: '5'",
                "maxNoOfPodsToEvictPerNode: must be a whole"},
        BadCase{"Selector", "profiles: []\nnodeSelector: 'a in b'", "nodeSelector: \"(\" is missing before \"b\""},
        BadCase{"SelectorObject", "profiles: []\nnodeSelector: {a: b}",
                "nodeSelector: must be a string, not an object"},
        BadCase{"NegativeGrace", "gracePeriodSeconds: -1\n" ENABLED("balance", "RemoveDuplicates", "{}"),
                "gracePeriodSeconds: "},
        BadCase{
            "UnknownArg", ENABLED("balance", "RemoveDuplicates", "{excludeOwnerKind: []}"),
            "profiles[0].pluginConfig[0].args.excludeOwnerKind: unknown field, did you mean \"excludeOwnerKinds\"?"},
        BadCase{"ArgOfOurs", ENABLED("balance", "RemoveDuplicates", "{labelSelector: {matchLabels: {a: b}}}"),
                "profiles[0].pluginConfig[0].args.labelSelector: upstream has no such field"},
        BadCase{"TargetsOfOurs",
                ENABLED("balance", "HighNodeUtilization", "{thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}"),
                "profiles[0].pluginConfig[0].args.targetThresholds: upstream has no such field"},
        BadCase{"ConsentOfOurs",
                ENABLED("deschedule", "PodLifeTime", "{states: [Failed], terminalPods: {evict: true}}"),
                "profiles[0].pluginConfig[0].args.terminalPods: upstream has no such field"},
        BadCase{"ArgOutOfRange", ENABLED("balance", "HighNodeUtilization", "{thresholds: {cpu: 120}}"),
                "profiles[0].pluginConfig[0].args.thresholds.cpu: 120 is above 100"},
        BadCase{
            "Contradiction",
            "profiles: [{name: p, pluginConfig: [{name: HighNodeUtilization, args: {thresholds: {cpu: 20}}}, {name: "
            "LowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}}], plugins: {balance: "
            "{enabled: [HighNodeUtilization, LowNodeUtilization]}}}]",
            "profiles[0]: LowNodeUtilization undoes what HighNodeUtilization of strategies[0] does"},
        BadCase{"MissingArg", ENABLED("deschedule", "PodLifeTime", "{}"),
                "profiles[0].pluginConfig[0].args: needs at least"},
        BadCase{"ArgsList", ENABLED("deschedule", "PodLifeTime", "[1]"),
                "profiles[0].pluginConfig[0].args: must be an object, not a list"},
        BadCase{"WrongPoint", ENABLED("deschedule", "RemoveDuplicates", "{}"),
                "profiles[0].plugins.deschedule.enabled[0]: RemoveDuplicates is no plugin of this extension point; it "
                "belongs under balance"},
        BadCase{"NotConfigured", "profiles: [{plugins: {balance: {enabled: [RemoveDuplicates]}}}]",
                "profiles[0].plugins.balance.enabled[0]: RemoveDuplicates has no entry in pluginConfig"},
        BadCase{"EnabledObjects", "profiles: [{plugins: {balance: {enabled: [{name: RemoveDuplicates}]}}}]",
                "profiles[0].plugins.balance.enabled[0]: must be a string, not an object"},
        BadCase{"EvictorMixesStyles",
                "profiles: [{pluginConfig: [{name: DefaultEvictor, args: {evictDaemonSetPods: true, podProtections: "
                "{extraEnabled: [PodsWithPVC]}}}]}]",
                "profiles[0].pluginConfig[0].args.evictDaemonSetPods: the deprecated booleans and"},
        BadCase{"EvictorUnknownArg", "profiles: [{pluginConfig: [{name: DefaultEvictor, args: {namespaces: {}}}]}]",
                "profiles[0].pluginConfig[0].args.namespaces: unknown field"},
        BadCase{"EvictorThreshold",
                "profiles: [{name: p, pluginConfig: [{name: DefaultEvictor, args: {priorityThreshold: {value: 1, name: "
                "x}}}, {name: RemoveDuplicates}], plugins: {balance: {enabled: [RemoveDuplicates]}}}]",
                "profiles[0].pluginConfig[0].args.priorityThreshold: must have either value or name"},
        BadCase{"OldThresholdTwice",
                "strategies: {RemoveDuplicates: {enabled: true, params: {thresholdPriority: 1, "
                "thresholdPriorityClassName: x}}}",
                "strategies.RemoveDuplicates.params.thresholdPriority: only one of"},
        BadCase{
            "OldArg",
            "strategies: {LowNodeUtilization: {enabled: true, params: {nodeResourceUtilizationThresholds: "
            "{thresholds: {cpu: 200}, targetThresholds: {cpu: 20}}}}}",
            "strategies.LowNodeUtilization.params.nodeResourceUtilizationThresholds.thresholds.cpu: 200 is above 100"},
        BadCase{"OldNodeFit", "strategies: {RemoveDuplicates: {enabled: true, params: {nodeFit: 7}}}",
                "strategies.RemoveDuplicates.params.nodeFit: must be"},
        BadCase{
            "ChartInterval",
            "kind: Deployment\ndeschedulingInterval: 1s\ndeschedulerPolicy: {" ENABLED("balance", "RemoveDuplicates",
                                                                                       "{}") "}",
            "deschedulingInterval: 1s is not between 5s and 168h"},
        BadCase{"ChartWithoutPolicy", "deschedulerPolicy:\n",
                "deschedulerPolicy: is empty: the chart writes no policy"},
        BadCase{"NotYetRendered", "deschedulerPolicy:\n  {{- with .Values.x }}\n  profiles: []\n  {{- end }}\n",
                "it holds {{ … }}: render the template first"},
        BadCase{"NotYetFilledIn", "kind: Deployment\ndeschedulingInterval: ${EVERY}\ndeschedulerPolicy: {}\n",
                "it holds ${ … }: fill it in first (`flux build kustomization`, `envsubst`)"},
        BadCase{"Encrypted",
                "apiVersion: v1\nkind: ConfigMap\ndata: {policy.yaml: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: x}\n",
                "sops: is encrypted: decrypt it first (`sops decrypt FILE | evacuator convert -`)"},
        BadCase{
            "EncryptedInPart",
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: descheduler}\nspec: {values: "
            "{deschedulerPolicy: 'ENC[AES256_GCM,data:x]'}}\nsops: {mac: x}\n",
            "sops: is encrypted: decrypt it first"}),
    [](const auto& info) { return std::string(info.param.name); });

// ---------------------------------------------------------------- the command

class ConvertCommand : public cmd_test::CommandTest {
 protected:
  int run(const std::string& text, ConvertOptions options = {}) {
    options.file = write("policy.yaml", text);
    return captured([&] { return run_convert(options); });
  }
  /// What `evacuator validate` makes of the output.
  int validate() {
    const std::string file = write("out.yaml", out_);
    testing::internal::CaptureStdout();
    const int code = run_validate({.files = {file}, .output = "text"});
    validated_ = testing::internal::GetCapturedStdout();
    return code;
  }

  std::string validated_;
};

constexpr const char* kTwoProfiles = R"(
sort: nothing
profiles:
- name: "b\n# evil"
  pluginConfig: [{name: RemoveDuplicates}, {name: RemovePodsViolatingNodeTaints}]
  plugins: {balance: {enabled: [RemoveDuplicates, Custom]}}
- name: a
  pluginConfig: [{name: RemovePodsViolatingNodeTaints}]
  plugins: {deschedule: {enabled: [RemovePodsViolatingNodeTaints]}}
)";

TEST_F(ConvertCommand, WritesDocumentsWithTheirNotesAsComments) {
  EXPECT_EQ(run(kTwoProfiles), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("# dropped profiles[0].plugins.balance.enabled[1]: upstream's tree has no plugin"));
  EXPECT_THAT(out_, HasSubstr(", profiles[1].\napiVersion: evacuator.dev/v1alpha1\n"));
  EXPECT_THAT(err_, testing::StartsWith("dropped "));
  EXPECT_EQ(validate(), 0) << validated_;
  EXPECT_THAT(validated_, HasSubstr("DeschedulerPolicy a: valid"));
}

TEST_F(ConvertCommand, WritesOneListAsJson) {
  EXPECT_EQ(run(kTwoProfiles, {.output = "json"}), 0) << err_;
  EXPECT_EQ(api::Json::parse(out_).at("items").size(), 2);
  EXPECT_EQ(validate(), 0) << validated_;
  EXPECT_THAT(validated_, HasSubstr("DeschedulerPolicy b-evil: valid"));
}

TEST_F(ConvertCommand, WritesNothingWhenStrictAndSomethingIsDropped) {
  EXPECT_EQ(run(kTwoProfiles, {.strict = true}), 1);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(err_, HasSubstr("dropped sort: unknown field"));
}

TEST_F(ConvertCommand, FailsWhenNothingCouldBeConverted) {
  for (const char* output : {"yaml", "json"}) {
    EXPECT_EQ(run("strategies: {RemoveDuplicates: {enabled: false}}", {.output = output}), 1);
    EXPECT_THAT(out_, IsEmpty());
    EXPECT_THAT(err_, HasSubstr("policy.yaml: no policy written: it enables no strategy\n"));
  }
  EXPECT_EQ(run("profiles: []"), 1);
  EXPECT_THAT(err_, testing::EndsWith("policy.yaml: no policy written: it enables no strategy\n"));
  EXPECT_EQ(run("profiles: [{name: a, pluginConfig: [{name: Own}], plugins: {balance: {enabled: [Own]}}}]"), 1);
  EXPECT_THAT(err_, HasSubstr("policy.yaml: no policy written: nothing that it enables could be converted\n"));
}

TEST_F(ConvertCommand, TakesTheVersionOfTheChart) {
  const char* values = "schedule: '@daily'\ndeschedulerPolicy: {strategies: {RemoveDuplicates: {enabled: true}}}\n";
  EXPECT_EQ(run(values, {.chart_version = "0.29.0"}), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("added deschedulerPolicy.strategies.LowNodeUtilization"));
  EXPECT_THAT(out_, HasSubstr("# added deschedulerPolicy.strategies.LowNodeUtilization"));
  EXPECT_EQ(validate(), 0) << validated_;
  EXPECT_EQ(run(values, {.chart_version = "soon"}), 1);
  EXPECT_THAT(err_, HasSubstr("--chart-version: \"soon\" is no version of the chart such as 0.29.0"));
}

TEST_F(ConvertCommand, FailsOnBadInputWithFileAndPath) {
  EXPECT_EQ(run("profiles: 7"), 1);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(err_, HasSubstr("policy.yaml: profiles: must be a list, not a number"));
  EXPECT_THAT(err_, testing::EndsWith("policy.yaml: no policy written\n"));
  EXPECT_EQ(run("profiels: []\nschedule: '@hourly'\ndeschedulerPolicy: {prfiles: [], profiles: 7}"), 1);
  EXPECT_THAT(err_, testing::StartsWith("dropped deschedulerPolicy.prfiles: ")) << "what may be why comes first";
  EXPECT_THAT(err_, Not(HasSubstr("changed"))) << "about a policy that is not written";
  EXPECT_EQ(run("profiles: []", {.interval = "soon"}), 1);
  EXPECT_THAT(err_, HasSubstr("--interval: \"soon\" is no duration"));
  for (const char* each : {"4s", "169h", "-5m", "0s"}) {
    EXPECT_EQ(run("profiles: []", {.interval = each}), 1);
    EXPECT_THAT(err_, testing::ContainsRegex("--interval: .* is not between 5s and 168h")) << each;
  }
  EXPECT_EQ(run_convert({.file = directory_ + "/none"}), 1);
}

}  // namespace convert_test
}  // namespace cmd
