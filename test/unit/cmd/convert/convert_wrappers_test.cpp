#include "api/json/yaml.hpp"
#include "base/base64.hpp"
#include "test/unit/cmd/convert/convert_cases.hpp"

namespace cmd {
namespace convert_wrappers_test {

using namespace convert_test;  // NOLINT: the helpers of these tests
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// ---------------------------------------------------------------- tools that install charts

#define VALUES "schedule: '@hourly', deschedulerPolicy: {" ENABLED("balance", "RemoveDuplicates", "{}") "}"

struct WrapperCase {
  const char* name;
  const char* text;
  const char* source;  ///< source of the policy
};
class Wrappers : public testing::TestWithParam<WrapperCase> {};

TEST_P(Wrappers, AreOpened) {
  const auto conversion = convert(GetParam().text);
  expect_valid(conversion);
  EXPECT_THAT(conversion.sources, ElementsAre(GetParam().source));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Wrappers,
    testing::Values(
        WrapperCase{
            "Flux",
            "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: d}, spec: {chart: {spec: "
            "{chart: descheduler, version: 0.33.0}}, values: {" VALUES "}}}",
            "spec.values.deschedulerPolicy.profiles[0]"},
        WrapperCase{
            "FluxAmongOthers",
            "apiVersion: v1\nkind: Namespace\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec: "
            "{values: {replicas: 1}}\n---\n"
            "{apiVersion: helm.toolkit.fluxcd.io/v2beta1, kind: HelmRelease, spec: {values: {" VALUES "}}}",
            "documents[2].spec.values.deschedulerPolicy.profiles[0]"},
        WrapperCase{"OldFlux",
                    "{apiVersion: helm.fluxcd.io/v1, kind: HelmRelease, spec: {chart: {name: descheduler}, values: "
                    "{" VALUES "}}}",
                    "spec.values.deschedulerPolicy.profiles[0]"},
        WrapperCase{
            "TheOldestFlux",
            "{apiVersion: flux.weave.works/v1beta1, kind: HelmRelease, spec: {chart: {name: descheduler}, values: "
            "{" VALUES "}}}",
            "spec.values.deschedulerPolicy.profiles[0]"},
        WrapperCase{"AParentChart",
                    "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {chart: {spec: {chart: platform, "
                    "version: 0.1.0}}, values: {descheduler: {" VALUES "}}}}",
                    "spec.values.descheduler.deschedulerPolicy.profiles[0]"},
        WrapperCase{"ArgoWithText",
                    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    chart: descheduler\n"
                    "    targetRevision: 0.33.0\n    helm:\n      values: |\n        {" VALUES "}\n",
                    "spec.source.helm.values.deschedulerPolicy.profiles[0]"},
        WrapperCase{"ArgoWithAnObject",
                    "{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {sources: [{ref: values}, {chart: "
                    "descheduler, helm: {valuesObject: {" VALUES "}}}]}}",
                    "spec.sources[1].helm.valuesObject.deschedulerPolicy.profiles[0]"},
        WrapperCase{"ArgoApplicationSet",
                    "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {template: {spec: {source: {chart: "
                    "descheduler, helm: {valuesObject: {" VALUES "}}}}}}}",
                    "spec.template.spec.source.helm.valuesObject.deschedulerPolicy.profiles[0]"},
        WrapperCase{"K3s",
                    "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nspec:\n  chart: descheduler/descheduler\n"
                    "  valuesContent: |-\n    {" VALUES "}\n",
                    "spec.valuesContent.deschedulerPolicy.profiles[0]"},
        WrapperCase{"ValuesInAConfigMap",
                    "apiVersion: v1\nkind: ConfigMap\ndata:\n  values.yaml: |\n    {" VALUES "}\n",
                    "data[values.yaml].deschedulerPolicy.profiles[0]"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Wrapped, ValuesHaveTheDefaultsOfTheirChart) {
  const auto conversion = convert(R"(
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: descheduler}
spec:
  chart: {spec: {chart: descheduler, version: 0.29.0}}
)");
  expect_valid(conversion);
  EXPECT_EQ(strategies_of(conversion), kOldDefaults);
  EXPECT_EQ(spec_of(conversion).at("schedule").at("interval"), "2m0s");
  const auto argo = convert(R"(
apiVersion: argoproj.io/v1alpha1
kind: Application
spec: {source: {chart: descheduler, targetRevision: 0.24.1, helm: {parameters: [{name: kind, value: Deployment}]}}}
)");
  expect_valid(argo);
  EXPECT_EQ(strategies_of(argo).size(), 5);
  EXPECT_THAT(notes_of(argo),
              testing::Contains(HasSubstr("dropped spec.source.helm.parameters: contains further values")));
}

TEST(Wrapped, InvalidTextIsRefusedWithThePath) {
  EXPECT_THAT(errors_of(convert("{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {chart: "
                                "descheduler, helm: {values: 'a: ['}}}}")),
              ElementsAre(HasSubstr("spec.source.helm.values: line ")));
  EXPECT_THAT(
      errors_of(convert("{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {chart: {spec: {chart: "
                        "descheduler}}, values: [1]}}")),
      ElementsAre(HasSubstr("spec.values: must be an object, not a list")));
  EXPECT_THAT(errors_of(convert("{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: 7}")),
              ElementsAre(HasSubstr("the input contains no policy of the descheduler")));
}

// ---------------------------------------------------------------- OpenShift

std::string kube_descheduler(const std::string& spec) {
  return "apiVersion: operator.openshift.io/v1\nkind: KubeDescheduler\nmetadata: {name: cluster, namespace: "
         "openshift-kube-descheduler-operator}\nspec:\n  deschedulingIntervalSeconds: 3600\n" +
         spec;
}

TEST(KubeDescheduler, BecomesThePolicyThatItsOperatorGenerates) {
  const auto conversion = convert(kube_descheduler(R"(
  mode: Automatic
  evictionLimits: {total: 9, node: 3}
  profiles: [AffinityAndTaints, LifecycleAndUtilization, EvictPodsWithPVC]
  profileCustomizations:
    podLifetime: 48h
    thresholdPriority: 1000
    namespaces: {excluded: [mine]}
    devLowNodeUtilizationThresholds: High
)"));
  expect_valid(conversion);
  EXPECT_THAT(names_of(conversion), ElementsAre("affinity-and-taints", "lifecycle-and-utilization"));
  EXPECT_EQ(spec_of(conversion, 1), api::parse_yaml(R"(
evictability: {priorityThreshold: {value: 1000}}
limits: {perCycle: {total: 9, perNode: 3}}
schedule: {interval: 1h0m0s}
strategies:
- name: PodLifeTime
  args: {maxPodLifeTimeSeconds: 172800, namespaces: {exclude: [hypershift, kube-system, openshift, mine]}}
- name: RemovePodsHavingTooManyRestarts
  args:
    podRestartThreshold: 100
    includingInitContainers: true
    namespaces: {exclude: [hypershift, kube-system, openshift, mine]}
- name: LowNodeUtilization
  args:
    thresholds: {cpu: 40, memory: 40, pods: 40}
    targetThresholds: {cpu: 70, memory: 70, pods: 70}
    evictionLimits: {node: 3}
    evictableNamespaces: {exclude: [hypershift, kube-system, openshift, mine]}
)")
                                        ->at(0))
      << api::to_yaml(spec_of(conversion, 1));
  EXPECT_THAT(
      notes_of(conversion),
      testing::Contains(HasSubstr(
          "dropped spec: the operator also excludes the namespaces openshift-* of the cluster, which this object does "
          "not name; to include all of them, convert the policy that the operator has created: kubectl -n "
          "openshift-kube-descheduler-operator get configmap cluster -o yaml | evacuator convert -")));
  EXPECT_THAT(notes_of(conversion),
              testing::Contains(HasSubstr("changed spec.evictionLimits.total: applies to each of the 2 policies")));
}

/// The ConfigMap that OpenShift's operator writes for KubeVirtRelieveAndMigrate.
TEST(KubeDescheduler, TheCooldownAfterAMigrationIsALimit) {
  const auto conversion = convert(R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
maxNoOfPodsToEvictTotal: 5
profiles:
- name: KubeVirtRelieveAndMigrate
  pluginConfig:
  - name: RemoveDuplicates
  - name: DefaultEvictor
    args: {evictLocalStoragePods: true, noEvictionPolicy: Mandatory}
  - name: KubevirtMigrationAware
    args: {migrationCooldown: 20m0s, maxMigrationCooldown: 5h0m0s, migrationHistoryWindow: 24h0m0s}
  plugins:
    filter: {enabled: [DefaultEvictor, KubevirtMigrationAware]}
    preevictionfilter: {enabled: [KubevirtMigrationAware]}
    balance: {enabled: [RemoveDuplicates]}
)");
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion, 0)["limits"],
            api::parse_yaml("{perCycle: {total: 5}, cooldown: {virtualMachine: 20m0s, maximum: 5h0m0s, window: "
                            "24h0m0s}}")
                ->at(0))
      << api::to_yaml(spec_of(conversion, 0));
  const auto notes = notes_of(conversion);
  EXPECT_EQ(
      std::ranges::count_if(
          notes, [](const std::string& note) { return note.find("becomes limits.cooldown") != std::string::npos; }),
      1);
  EXPECT_THAT(notes, testing::Not(testing::Contains(HasSubstr("upstream's tree has no plugin"))));
}

TEST(KubeDescheduler, ProtectsClaimsUnlessAProfileSaysOtherwise) {
  const auto conversion =
      convert(kube_descheduler("  profiles: [SoftTopologyAndDuplicates, EvictPodsWithLocalStorage]\n"
                               "  profileCustomizations: {namespaces: {included: [shop]}}\n"));
  expect_valid(conversion);
  const api::Json spec = spec_of(conversion);
  EXPECT_EQ(spec.at("evictability").at("podProtections"),
            api::Json({{"defaultDisabled", {"PodsWithLocalStorage"}}, {"extraEnabled", {"PodsWithPVC"}}}));
  EXPECT_EQ(spec.at("strategies").at(0).at("args"),
            api::Json({{"constraints", {"DoNotSchedule", "ScheduleAnyway"}}, {"namespaces", {{"include", {"shop"}}}}}));
  EXPECT_THAT(notes_of(conversion), testing::Each(Not(HasSubstr("openshift-*"))));
}

TEST(KubeDescheduler, SaysThatNamespacesStayOpenWhereAStrategyExcludesThem) {
  const auto conversion =
      convert(kube_descheduler("  profiles: [LongLifecycle]\n"
                               "  profileCustomizations: {namespaces: {included: [shop]}}\n"));
  EXPECT_THAT(notes_of(conversion), testing::Contains(HasSubstr("excludes the namespaces openshift-*")))
      << "LowNodeUtilization takes no inclusion";
  EXPECT_THAT(notes_of(convert(kube_descheduler("  profiles: [EvictPodsWithPVC]\n"))),
              testing::Each(Not(HasSubstr("openshift-*"))))
      << "nothing is written that could move one";
}

TEST(KubeDescheduler, OtherProfilesAreConvertedToo) {
  const auto conversion =
      convert(kube_descheduler("  profiles: [CompactAndScale]\n  profileCustomizations: "
                               "{devHighNodeUtilizationThresholds: Minimal}\n"));
  expect_valid(conversion);
  EXPECT_EQ(spec_of(conversion).at("strategies").at(0).at("args").at("thresholds").at("cpu"), 10);
  EXPECT_THAT(strategies_of(convert(kube_descheduler("  profiles: [LongLifecycle]\n"))),
              ElementsAre("RemovePodsHavingTooManyRestarts", "LowNodeUtilization"));
  EXPECT_THAT(strategies_of(convert(kube_descheduler("  profiles: [TopologyAndDuplicates]\n"))),
              ElementsAre("RemovePodsViolatingTopologySpreadConstraint", "RemoveDuplicates"));
}

// ---------------------------------------------------------------- Base64 text and Secrets

constexpr const char* kPolicyText =
    "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n" ENABLED("balance", "RemoveDuplicates", "{}");

std::string holder(const char* kind, const char* member, const std::string& text) {
  return api::Json{
      {"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", "p"}}}, {member, {{"policy.yaml", text}}}}
      .dump();
}

TEST(EncodedPolicies, AreReadFromSecretsAndBinaryData) {
  const std::string encoded = base::encode_base64(kPolicyText);
  for (const auto& [text, source] :
       {std::pair(holder("ConfigMap", "binaryData", encoded), "binaryData[policy.yaml].profiles[0]"),
        std::pair(holder("Secret", "data", encoded), "data[policy.yaml].profiles[0]"),
        std::pair(holder("Secret", "stringData", kPolicyText), "stringData[policy.yaml].profiles[0]")}) {
    const auto conversion = convert(text);
    expect_valid(conversion);
    EXPECT_THAT(conversion.sources, ElementsAre(source));
  }
}

TEST(EncodedPolicies, InvalidOnesAreSkipped) {
  for (const std::string& text : {std::string("no Base64 ~ eschedulerPolicy"), base::encode_base64("password"),
                                  base::encode_base64(std::string("\x1f\x8b\0\xff", 4))}) {
    EXPECT_THAT(errors_of(convert(holder("Secret", "data", text))), testing::Contains(HasSubstr("contains no policy")));
    EXPECT_THAT(convert(holder("Secret", "data", text) + "\n---\n" + kPolicyText).policies, testing::SizeIs(1));
  }
}

TEST(EncodedPolicies, AboveTheSizeLimitAreSkipped) {
  const std::string large = base::encode_base64(std::string(1'600'000, ' ') + kPolicyText);
  EXPECT_THAT(errors_of(convert(holder("Secret", "data", large))), testing::Contains(HasSubstr("contains no policy")));
}

TEST(EncodedPolicies, OfAReleaseOfHelmAreAskedFromHelm) {
  EXPECT_THAT(errors_of(convert("{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, data: {release: SDRzSQ==}}")),
              testing::Contains(HasSubstr("`helm get values --all RELEASE | evacuator convert -`")));
}

struct OpenShiftCase {
  const char* spec;
  const char* error;
};
class BadKubeDescheduler : public testing::TestWithParam<OpenShiftCase> {};
TEST_P(BadKubeDescheduler, IsRefusedWithThePath) {
  EXPECT_THAT(errors_of(convert(kube_descheduler(GetParam().spec))), testing::Contains(HasSubstr(GetParam().error)));
}
INSTANTIATE_TEST_SUITE_P(
    Specs, BadKubeDescheduler,
    testing::Values(
        OpenShiftCase{"", "spec.profiles: must name at least one profile"},
        OpenShiftCase{"  strategies: [{name: RemoveDuplicates}]\n",
                      "spec.strategies: belongs to v1beta1 of OpenShift 4.6 and older, which is not supported; convert "
                      "the policy that the operator has created: kubectl -n"},
        OpenShiftCase{"  profiles: [Tidy]\n", "spec.profiles[0]: \"Tidy\" is not a profile of KubeDescheduler"},
        OpenShiftCase{"  profiles: [KubeVirtRelieveAndMigrate]\n",
                      "spec.profiles[0]: uses Prometheus, whose URL is not in this object; convert the policy that the "
                      "operator has created: kubectl -n openshift-kube-descheduler-operator get configmap"},
        OpenShiftCase{"  profiles: [CompactAndScale]\n  profileCustomizations: "
                      "{devHighNodeUtilizationThresholds: Huge}\n",
                      "spec.profileCustomizations.devHighNodeUtilizationThresholds: \"Huge\" is not one of"},
        OpenShiftCase{"  profiles: [CompactAndScale]\n  profileCustomizations: {namespaces: {included: [a], "
                      "excluded: [b]}}\n",
                      "only one of included and excluded"}));

}  // namespace convert_wrappers_test
}  // namespace cmd
