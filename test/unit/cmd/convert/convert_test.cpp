#include "cmd/convert/convert.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/json/yaml.hpp"
#include "test/unit/cmd/convert/convert_cases.hpp"

namespace cmd {
namespace convert_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ---------------------------------------------------------------- v1alpha2: converted profiles

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
    [](const auto& test) {
      std::string name = test.param.name;
      std::erase(name, '\'');
      return name;
    });

// ---------------------------------------------------------------- complete files

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
  EXPECT_THAT(notes_of(conversion),
              ElementsAre("changed maxNoOfPodsToEvictTotal: 4000000000 is practically unlimited"));
}

TEST(Convert, ExcludesUnstartedPodsForAnAgeOfZero) {
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

TEST(Convert, UsesUpstreamCompatibilityByDefault) {
  const std::string text = "profiles:\n- name: p\n" + std::string(kOldPods);
  EXPECT_EQ(convert(text).policies.at(0).at("spec").at("compatibility"), "Upstream");
  EXPECT_EQ(convert(text, {.compatibility = "None", .interval = {}}).policies.at(0).at("spec").at("compatibility"),
            "None");
}

TEST(Convert, IsADryRunByDefault) {
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
                          HasSubstr("changed maxNoOfPodsToEvictTotal: applies to each of the 3 policies separately")));
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
  EXPECT_THAT(notes_of(conversion),
              ElementsAre(HasSubstr("changed schedule: the policies run every 30m0s"),
                          HasSubstr("ignored cmdOptions.v: is a flag of the process"),
                          HasSubstr("ignored image, rbac: configures the installation of upstream")));
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
  const char* schedule;  ///< schedule of the policy as YAML, empty if none
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
        // Equal distances of at most one hour become an interval.
        CronCase{"*/2 * * * *", "interval: 2m0s"}, CronCase{"* * * * *", "interval: 1m0s"},
        CronCase{"15 * * * *", "interval: 1h0m0s"}, CronCase{"@hourly", "interval: 1h0m0s"},
        CronCase{"@every 90m", "interval: 1h30m0s"},
        // Specific times stay a cron expression.
        CronCase{"30 */2 * * *", "cron: '30 */2 * * *'"}, CronCase{"30 3 * * *", "cron: '30 3 * * *'"},
        CronCase{"0 4 * * 0", "cron: '0 4 * * 0'"}, CronCase{"@daily", "cron: '@daily'"},
        CronCase{"*/7 * * * *", "cron: '*/7 * * * *'"}, CronCase{"4,34,50 * * * *", "cron: '4,34,50 * * * *'"},
        CronCase{"0 9-17 * * MON-FRI", "cron: 0 9-17 * * MON-FRI"}, CronCase{"0 0 1 * *", "cron: 0 0 1 * *"},
        CronCase{"TZ=Europe/Rome 0 3 * * *", "{cron: 0 3 * * *, timeZone: Europe/Rome}"},
        // Invalid expressions give no schedule.
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

}  // namespace convert_test
}  // namespace cmd
