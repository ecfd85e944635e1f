#include "api/json/yaml.hpp"
#include "test/unit/cmd/convert/convert_cases.hpp"

namespace cmd {
namespace convert_chart_test {

using namespace convert_test;  // NOLINT: the helpers of these tests
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ---------------------------------------------------------------- defaults of the chart

convert::UpstreamOptions of_chart(int minor) {
  convert::UpstreamOptions options;
  options.chart_minor = minor;
  return options;
}

constexpr const char* kOneOldStrategy = R"(
schedule: "@hourly"
deschedulerPolicy: {strategies: {PodLifeTime: {enabled: true, params: {podLifeTime: {maxPodLifeTimeSeconds: 60}}}}}
)";

TEST(ChartDefaults, AreMergedUnderOldStrategies) {
  const auto conversion = convert(kOneOldStrategy, of_chart(29));
  expect_valid(conversion);
  EXPECT_EQ(conversion.policies.size(), 1);
  std::vector<std::string> expected = kOldDefaults;
  expected.insert(expected.begin() + 1, "PodLifeTime");
  EXPECT_EQ(strategies_of(conversion), expected);
  EXPECT_THAT(
      notes_of(conversion),
      testing::Contains("added deschedulerPolicy.strategies.RemoveDuplicates: {\"enabled\":true} is the default "
                        "of chart 0.29"));
  EXPECT_THAT(notes_of(conversion), testing::Each(Not(HasSubstr("PodLifeTime"))));
  EXPECT_THAT(notes_of(conversion), testing::Each(Not(HasSubstr("read with the defaults")))) << "the version was said";
}

TEST(ChartDefaults, OfOlderChartsAreFewer) {
  EXPECT_EQ(strategies_of(convert(kOneOldStrategy, of_chart(24))).size(), 6);
  EXPECT_EQ(strategies_of(convert(kOneOldStrategy, of_chart(25))).size(), 8);
}

TEST(ChartDefaults, OfAChartThatNoTableCoversAreThoseOfTheNearestAndSayIt) {
  const auto old = convert(kOneOldStrategy, of_chart(3));
  EXPECT_EQ(strategies_of(old).size(), 6);
  EXPECT_THAT(notes_of(old),
              testing::Contains(HasSubstr("the defaults of chart 0.3 are unknown, only those of 0.18 to 0.36 are "
                                          "known: read with those of chart 0.18; `helm get values --all RELEASE`")));
  EXPECT_THAT(notes_of(convert("schedule: '@daily'\ndeschedulerPolicy: {}\n", of_chart(99))),
              testing::Contains(HasSubstr("the defaults of chart 0.99 are unknown")));
  for (const int known : {18, 36})
    EXPECT_THAT(notes_of(convert(kOneOldStrategy, of_chart(known))),
                testing::Each(Not(HasSubstr("are unknown, only"))));
}

TEST(ChartDefaults, FillInOmittedFieldsOfAStrategy) {
  const auto conversion = convert(R"(
schedule: "@hourly"
deschedulerPolicyAPIVersion: descheduler/v1alpha1
deschedulerPolicy:
  strategies:
    LowNodeUtilization: {params: {nodeResourceUtilizationThresholds: {thresholds: {cpu: 5}}}}
    RemoveDuplicates: null
    RemovePodsHavingTooManyRestarts: {enabled: false}
    RemovePodsViolatingInterPodAntiAffinity: {enabled: false}
    RemovePodsViolatingNodeAffinity: {enabled: false}
    RemovePodsViolatingNodeTaints: {enabled: false}
    RemovePodsViolatingTopologySpreadConstraint: {enabled: false}
)");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("strategies"), api::parse_yaml(R"(
- name: LowNodeUtilization
  args: {thresholds: {cpu: 5, memory: 20, pods: 20}, targetThresholds: {cpu: 50, memory: 50, pods: 50}}
)")
                                                      ->at(0));
  const auto notes = notes_of(conversion);
  EXPECT_THAT(notes, testing::Contains(HasSubstr("LowNodeUtilization.enabled: true is the default of chart 0.29")));
  EXPECT_THAT(notes, testing::Contains(HasSubstr("thresholds.memory: 20 is the default of chart 0.29")));
  EXPECT_THAT(notes, testing::Each(Not(HasSubstr("added deschedulerPolicy.strategies.RemovePods"))));
  EXPECT_THAT(
      notes, testing::Contains(HasSubstr("read with the defaults of chart 0.29, the newest with v1alpha1; set "
                                         "--chart-version if it is another version; `helm get values --all RELEASE`")));
}

TEST(ChartDefaults, OfNewChartsRunInsteadOfOldStrategies) {
  const auto conversion = convert(kOneOldStrategy);
  expect_valid(conversion);
  EXPECT_THAT(names_of(conversion), ElementsAre("default"));
  EXPECT_EQ(strategies_of(conversion).size(), 7);
  EXPECT_EQ(spec_of(conversion).at("evictability").at("podProtections"),
            api::Json({{"defaultDisabled", {"PodsWithLocalStorage"}}, {"extraEnabled", {"PodsWithPVC"}}}));
  EXPECT_THAT(
      notes_of(conversion),
      testing::Contains("dropped deschedulerPolicy.strategies: chart 0.36 writes descheduler/v1alpha2, which has "
                        "profiles: upstream ignores strategies; set --chart-version 0.29 if the chart is that old"));
  EXPECT_THAT(notes_of(conversion),
              testing::Contains(AllOf(HasSubstr("added deschedulerPolicy.profiles: RemovePodsHavingTooManyRestarts, "),
                                      HasSubstr(" are the defaults of chart 0.36"))));
  const auto deprecated = convert(kOneOldStrategy, of_chart(33));
  EXPECT_EQ(spec_of(deprecated).at("evictability"), spec_of(conversion).at("evictability"));
}

TEST(ChartDefaults, AreNotNeededWhereTheProfilesAreGiven) {
  const auto conversion =
      convert("schedule: '@hourly'\ndeschedulerPolicy: {" ENABLED("balance", "RemoveDuplicates", "{}") "}");
  expect_valid(conversion);
  EXPECT_THAT(notes_of(conversion), ElementsAre(HasSubstr("changed schedule: the policies run every 1h0m0s")));
}

TEST(ChartDefaults, ApplyToValuesWithoutAPolicy) {
  EXPECT_EQ(strategies_of(convert("deschedulingInterval: 5m\nkind: Deployment\n")).size(), 7);
  EXPECT_EQ(strategies_of(convert("image: {tag: v0.29.0}\n", of_chart(29))), kOldDefaults);
}

TEST(ChartDefaults, TheVersionOfThePolicyFollowsTheChart) {
  const char* profiles = "deschedulerPolicyAPIVersion: descheduler/v1alpha2\ndeschedulerPolicy: {profiles: []}\n";
  EXPECT_THAT(
      notes_of(convert(profiles, of_chart(26))),
      testing::Contains("ignored deschedulerPolicyAPIVersion: chart 0.26 ignores it, and writes descheduler/v1alpha1"));
  const char* strategies = "deschedulerPolicyAPIVersion: descheduler/v1alpha1\ndeschedulerPolicy: {strategies: {}}\n";
  EXPECT_THAT(
      notes_of(convert(strategies, of_chart(30))),
      testing::Contains(HasSubstr("changed deschedulerPolicyAPIVersion: the descheduler of chart 0.30 rejects")));
}

TEST(ChartDefaults, TheVersionComesFromTheImageIfNothingElseHasIt) {
  const auto conversion = convert(std::string("image: {tag: v0.24.1}\n") + kOneOldStrategy);
  expect_valid(conversion);
  EXPECT_EQ(strategies_of(conversion).size(), 6);
  EXPECT_THAT(notes_of(conversion),
              testing::Contains(HasSubstr("read with the defaults of chart 0.24, the version of image.tag; set "
                                          "--chart-version if it is another version")));
  EXPECT_EQ(strategies_of(convert(std::string("image: {tag: v0.24.1}\n") + kOneOldStrategy, of_chart(29))).size(), 8)
      << "who says it wins";
  const auto with_profiles = convert("image: {tag: v0.28.0}\nschedule: '@hourly'\ndeschedulerPolicy: {" ENABLED(
      "balance", "RemoveDuplicates", "{}") "}");
  EXPECT_THAT(strategies_of(with_profiles), ElementsAre("RemoveDuplicates")) << "the chart is newer than its image";
}

struct VersionCase {
  const char* text;
  std::optional<int> minor;
};
class ChartVersions : public testing::TestWithParam<VersionCase> {};
TEST_P(ChartVersions, HaveAMinor) { EXPECT_EQ(convert::chart_minor_of(GetParam().text), GetParam().minor); }
INSTANTIATE_TEST_SUITE_P(Texts, ChartVersions,
                         testing::Values(VersionCase{"0.29.0", 29}, VersionCase{"v0.30.1", 30}, VersionCase{"0.29", 29},
                                         VersionCase{"~0.28.x", 28}, VersionCase{"^0.27.0", 27},
                                         VersionCase{"0.31.0-rc.1", 31}, VersionCase{"", {}}, VersionCase{"*", {}},
                                         VersionCase{">=0.27.0 <0.30.0", {}}, VersionCase{"0.x", {}},
                                         VersionCase{"1.2.3", {}}, VersionCase{"0.99999999999", {}},
                                         VersionCase{"soon", {}}));

// ---------------------------------------------------------------- schedule

struct ScheduleCase {
  const char* name;
  const char* values;    ///< values besides the policy
  const char* interval;  ///< empty if none
  const char* note;      ///< empty if none
};
class ChartSchedule : public testing::TestWithParam<ScheduleCase> {};

TEST_P(ChartSchedule, IsTheChartsOwn) {
  const auto conversion = convert(std::string(GetParam().values) +
                                  "\ndeschedulerPolicy: {" ENABLED("balance", "RemoveDuplicates", "{}") "}");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).value("schedule", api::Json::object()).value("interval", ""), GetParam().interval);
  if (*GetParam().note == 0) {
    EXPECT_THAT(notes_of(conversion), IsEmpty());
  } else {
    EXPECT_THAT(notes_of(conversion), testing::Contains(HasSubstr(GetParam().note)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, ChartSchedule,
    testing::Values(
        ScheduleCase{"NothingIsAJobOfTwoMinutes", "", "2m0s",
                     "added schedule: \"*/2 * * * *\" is the default of chart 0.36"},
        ScheduleCase{"AnIntervalOfAJobIsNotLookedAt", "deschedulingInterval: 10m", "2m0s",
                     "ignored deschedulingInterval: the default, a CronJob, runs on a schedule; only kind: Deployment"},
        ScheduleCase{"AJobByItsSchedule", "kind: CronJob\nschedule: '0 * * * *'\ndeschedulingInterval: 10m", "1h0m0s",
                     "ignored deschedulingInterval"},
        ScheduleCase{"ADeploymentByItsInterval", "kind: Deployment\ndeschedulingInterval: 10m", "10m0s", ""},
        ScheduleCase{"ADeploymentOfFiveMinutes", "kind: Deployment", "5m0s",
                     "added deschedulingInterval: 5m is the default of chart 0.36"},
        ScheduleCase{"AScheduleOfADeploymentIsNotLookedAt",
                     "kind: Deployment\ndeschedulingInterval: 10m\nschedule: '0 * * * *'", "10m0s",
                     "ignored schedule: only kind: CronJob uses it"},
        ScheduleCase{"ASuspendedDeploymentRuns", "kind: Deployment\ndeschedulingInterval: 10m\nsuspend: true", "10m0s",
                     "ignored suspend: only kind: CronJob uses it"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ChartSchedules, GoByTheirTimeZone) {
  const std::string policy = "\ndeschedulerPolicy: {" ENABLED("balance", "RemoveDuplicates", "{}") "}";
  const auto in_zone = convert("schedule: '17 7 * * *'\ntimeZone: Europe/Berlin" + policy);
  expect_valid(in_zone);
  EXPECT_EQ(spec_of(in_zone).at("schedule"), api::Json({{"cron", "17 7 * * *"}, {"timeZone", "Europe/Berlin"}}));
  EXPECT_THAT(notes_of(in_zone), IsEmpty());
  const auto without = convert("schedule: '17 7 * * *'" + policy);
  EXPECT_THAT(notes_of(without), ElementsAre(HasSubstr("changed schedule: \"17 7 * * *\" uses UTC; a CronJob without "
                                                       "timeZone uses the local time of kube-controller-manager")));
  EXPECT_THAT(notes_of(convert("schedule: 'at noon'" + policy)),
              ElementsAre(HasSubstr("dropped schedule: \"at noon\" is not a schedule: ")));
  const auto by_flag = convert("schedule: '17 7 * * *'" + policy, {.interval = base::seconds(60)});
  EXPECT_EQ(spec_of(by_flag).at("schedule"), api::Json({{"interval", "1m0s"}})) << "--interval wins";
}

// ---------------------------------------------------------------- flags of the process

constexpr const char* kOldFlags = R"(
schedule: "@hourly"
cmdOptions: {evict-local-storage-pods: '', max-pods-to-evict-per-node: 10, node-selector: a=b}
deschedulerPolicy: {maxNoOfPodsToEvictPerNode: 3}
)";

TEST(ChartFlags, ApplyToFieldsThatThePolicyOmits) {
  const auto conversion = convert(kOldFlags, of_chart(22));
  expect_valid(conversion);
  const api::Json spec = spec_of(conversion);
  EXPECT_EQ(spec.at("evictability").at("podProtections").at("defaultDisabled"), api::Json({"PodsWithLocalStorage"}));
  EXPECT_EQ(spec.at("nodeSelector").at("matchLabels"), api::Json({{"a", "b"}}));
  EXPECT_EQ(spec.at("limits").at("perCycle").at("perNode"), 3) << "the policy wins";
}

TEST(ChartFlags, AreRefusedByNewerOnes) {
  const auto conversion = convert(kOldFlags, of_chart(23));
  expect_valid(conversion);
  EXPECT_FALSE(spec_of(conversion).contains("evictability"));
  EXPECT_THAT(notes_of(conversion),
              testing::Contains("dropped cmdOptions.evict-local-storage-pods: upstream has removed this flag in 0.23, "
                                "and rejects it when it starts; set evictLocalStoragePods in the policy"));
  EXPECT_THAT(errors_of(convert("cmdOptions: {max-pods-to-evict-per-node: some}\ndeschedulerPolicy: {}", of_chart(20))),
              ElementsAre("cmdOptions.max-pods-to-evict-per-node: must be a whole number"));
}

}  // namespace convert_chart_test
}  // namespace cmd
