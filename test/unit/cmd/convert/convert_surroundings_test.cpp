#include "api/json/yaml.hpp"
#include "base/base64.hpp"
#include "test/unit/cmd/convert/convert_cases.hpp"

/// Other objects in the same stream as a policy, as `kubectl kustomize` and `helm template` render it.

namespace cmd {
namespace convert_surroundings_test {

using namespace convert_test;  // NOLINT: the helpers of these tests
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---------------------------------------------------------------- values in other objects

#define SURROUNDED_POLICY "deschedulerPolicy: {" ENABLED("balance", "RemoveDuplicates", "{}") "}"

std::string release(const std::string& spec) {
  return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: descheduler}\nspec: {" + spec +
         "}\n---\n";
}
std::string config_map(const std::string& name, const std::string& values) {
  return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  values.yaml: |\n    " + values +
         "\n---\n";
}

TEST(ValuesElsewhere, AreReadFromConfigMapsOfTheSameInput) {
  const auto conversion =
      convert(release("values: {kind: Deployment}, valuesFrom: [{kind: ConfigMap, name: base}, {kind: ConfigMap, name: "
                      "top}]") +
              config_map("base", "{kind: CronJob, deschedulingInterval: 9m, " SURROUNDED_POLICY "}") +
              config_map("top", "{deschedulingInterval: 7m}"));
  expect_valid(conversion);
  EXPECT_THAT(names_of(conversion), ElementsAre("p")) << "not once more from the ConfigMap";
  EXPECT_EQ(spec_of(conversion).at("schedule"), api::Json({{"interval", "7m0s"}}));
  EXPECT_THAT(notes_of(conversion), IsEmpty());
}

TEST(ValuesElsewhere, AreReadFromSecretsOfTheSameInput) {
  const std::string values = "{deschedulingInterval: 7m, kind: Deployment, " SURROUNDED_POLICY "}";
  const std::string head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";
  for (const std::string& body : {"data: {mine.yaml: " + base::encode_base64(values) + "}",
                                  "data: {mine.yaml: e30=}\nstringData:\n  mine.yaml: |\n    " + values}) {
    const auto conversion =
        convert(release("valuesFrom: [{kind: Secret, name: s, valuesKey: mine.yaml}]") + head + body);
    expect_valid(conversion);
    EXPECT_THAT(names_of(conversion), ElementsAre("p")) << "not once more from the Secret";
    EXPECT_EQ(spec_of(conversion).at("schedule"), api::Json({{"interval", "7m0s"}}));
  }
}

TEST(ValuesElsewhere, ThatAreNoTextAreNotRead) {
  for (const char* data : {"data: {values.yaml: '{}'}", "data: {values.yaml: 5}", "data: {other.yaml: e30=}", "data: 7",
                           "stringData: {values.yaml: null}"}) {
    EXPECT_THAT(errors_of(convert(release("valuesFrom: [{kind: Secret, name: s}]") +
                                  "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + data)),
                ElementsAre(HasSubstr("spec.valuesFrom: the policy is in another object")))
        << data;
  }
}

TEST(ValuesElsewhere, AreOfTheNamespaceOfTheRelease) {
  const auto in = [](const std::string& ns, const std::string& object) {
    std::string text = object;
    return text.insert(text.find("metadata: {") + std::string_view("metadata: {").size(), "namespace: " + ns + ", ");
  };
  const std::string asks = in("ours", release("values: {kind: Deployment}, valuesFrom: [{kind: ConfigMap, name: v}]"));
  const std::string theirs = in("theirs", config_map("v", "{deschedulingInterval: 9m}"));
  const std::string ours = "{deschedulingInterval: 7m, " SURROUNDED_POLICY "}";
  for (const std::string& text : {asks + theirs + in("ours", config_map("v", ours)), asks + config_map("v", ours)})
    EXPECT_EQ(spec_of(convert(text)).at("schedule"), api::Json({{"interval", "7m0s"}}));
  EXPECT_THAT(errors_of(convert(asks + theirs)), ElementsAre(HasSubstr("the policy is in another object")));
}

TEST(ValuesElsewhere, ANullDeletesTheChartsDefault) {
  const auto conversion = convert(
      release("values: {kind: Deployment, deschedulerPolicyAPIVersion: descheduler/v1alpha1, deschedulerPolicy: "
              "{strategies: {LowNodeUtilization: null}}}, chart: {spec: {chart: descheduler, version: 0.29.0}}, "
              "valuesFrom: [{kind: ConfigMap, name: base}]") +
      config_map("base", "{deschedulerPolicy: {strategies: {LowNodeUtilization: {enabled: true}}}}"));
  expect_valid(conversion);
  EXPECT_THAT(strategies_of(conversion), testing::Not(Contains("LowNodeUtilization")));
}

TEST(ValuesElsewhere, LeaveNothingToConvertWithoutThem) {
  EXPECT_THAT(errors_of(convert(release("values: {kind: Deployment}, valuesFrom: [{kind: Secret, name: s}]"))),
              ElementsAre(HasSubstr(
                  "spec.valuesFrom: the policy is in another object that this object names; convert that object, or "
                  "the running configuration: `helm get values --all RELEASE | evacuator convert -`")));
  EXPECT_THAT(
      errors_of(convert("{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {sources: [{chart: descheduler, "
                        "helm: {valueFiles: [$values/descheduler.yaml]}}, {ref: values}]}}")),
      ElementsAre(HasSubstr("spec.sources[0].helm.valueFiles: the policy is in another object")));
}

TEST(ValuesElsewhere, AreNotedWithAPolicy) {
  const auto conversion = convert(release("values: {kind: Deployment, deschedulingInterval: 7m, " SURROUNDED_POLICY
                                          "}, valuesFrom: [{kind: Secret, name: s}]"));
  expect_valid(conversion);
  EXPECT_THAT(
      notes_of(conversion),
      ElementsAre(HasSubstr(
          "dropped spec.valuesFrom: contains further values, which are not read; `helm get values --all RELEASE")));
}

TEST(ValuesElsewhere, OfAnotherChartAreIgnored) {
  EXPECT_THAT(errors_of(convert("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\n"
                                "spec: {valuesFrom: [{kind: Secret, name: s}]}")),
              ElementsAre(HasSubstr("the input contains no policy of the descheduler")));
}

TEST(ChartVersion, ComesFromTheRepositoryOfTheRelease) {
  const auto conversion = convert(
      "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: descheduler}\nspec: {ref: {tag: "
      "0.29.0}}\n---\n" +
      release("chartRef: {kind: OCIRepository, name: descheduler}"));
  expect_valid(conversion);
  EXPECT_EQ(strategies_of(conversion), kOldDefaults);
  EXPECT_THAT(notes_of(conversion), Contains(HasSubstr("is the default of chart 0.29")));
}

// ---------------------------------------------------------------- command line of upstream

std::string policy_map(const std::string& version = "v1alpha1") {
  return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: policy}\ndata:\n  policy.yaml: |\n    apiVersion: "
         "descheduler/" +
         version +
         "\n    kind: DeschedulerPolicy\n    strategies: {RemoveDuplicates: {enabled: true}}\n    profiles: "
         "[{pluginConfig: [{name: RemoveDuplicates}], plugins: {balance: {enabled: [RemoveDuplicates]}}}]\n---\n";
}
std::string pod(const std::string& image, const std::string& args, const std::string& map = "policy") {
  return "template: {spec: {containers: [{image: " + image +
         ", command: [/bin/descheduler], args: [--policy-config-file, /d/policy.yaml" + args +
         "]}], volumes: [{configMap: {name: " + map + "}}]}}";
}
std::string cron_job(const std::string& schedule, const std::string& map = "policy") {
  return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: d}\nspec: {" + schedule + ", jobTemplate: {spec: {" +
         pod("k8s.gcr.io/descheduler/descheduler:v0.27.1", "", map) + "}}}\n---\n";
}
std::string deployment(const std::string& image, const std::string& args) {
  return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {" + pod(image, args) + "}\n---\n";
}

TEST(Starters, ACronJobSaysWhen) {
  EXPECT_EQ(spec_of(convert(policy_map() + cron_job("schedule: '*/10 * * * *'"))).at("schedule"),
            api::Json({{"interval", "10m0s"}}));
  const api::Json spec =
      spec_of(convert(cron_job("schedule: 5 4 * * *, timeZone: Asia/Tokyo, suspend: true") + policy_map("v1alpha2")));
  EXPECT_EQ(spec.at("schedule"), api::Json({{"cron", "5 4 * * *"}, {"timeZone", "Asia/Tokyo"}}));
  EXPECT_EQ(spec.at("suspend"), true);
}

TEST(Starters, ADeploymentSaysHowOften) {
  for (const char* args : {", --descheduling-interval, 20m", ", --descheduling-interval=20m, --v=3"}) {
    EXPECT_EQ(spec_of(convert(policy_map() + deployment("d:v0.29.0", args))).at("schedule"),
              api::Json({{"interval", "20m0s"}}));
  }
  EXPECT_FALSE(spec_of(convert(policy_map() + deployment("d:v0.29.0", ", --v, '3'"))).contains("schedule"));
}

TEST(Starters, OldFlagsDecide) {
  const auto conversion = convert(policy_map() + deployment("d:v0.18.0@sha256:0a", ", --evict-local-storage-pods"));
  expect_valid(conversion);
  EXPECT_TRUE(spec_of(conversion).contains("evictability"));
  EXPECT_THAT(notes_of(convert(policy_map() + deployment("d:v0.29.0", ", --evict-local-storage-pods"))),
              Contains(HasSubstr("upstream has removed this flag in 0.23")));
}

TEST(Starters, OfAnotherPolicyAreIgnored) {
  EXPECT_FALSE(spec_of(convert(policy_map() + cron_job("schedule: '*/10 * * * *'", "another"))).contains("schedule"));
  const auto twice = convert(policy_map() + cron_job("schedule: '*/10 * * * *'") + cron_job("schedule: '*/5 * * * *'"));
  EXPECT_FALSE(spec_of(twice).contains("schedule"));
  EXPECT_THAT(notes_of(twice), Contains(HasSubstr("dropped documents[2]: is the second object that starts upstream "
                                                  "with this policy: no schedule is read; set --interval")));
}

TEST(Starters, ASeparatePolicyFileUsesTheOnlyStarter) {
  const auto conversion = convert(cron_job("schedule: '*/10 * * * *'") + ENABLED("balance", "RemoveDuplicates", "{}"));
  EXPECT_EQ(spec_of(conversion).at("schedule"), api::Json({{"interval", "10m0s"}}));
}

}  // namespace convert_surroundings_test
}  // namespace cmd
