#include "cmd/commands.hpp"
#include "test/unit/cmd/command_fixture.hpp"
#include "test/unit/cmd/convert/convert_cases.hpp"

namespace cmd {
namespace convert_command_test {

using namespace convert_test;  // NOLINT: the helpers of these tests
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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
        BadCase{"AnotherObject", "apiVersion: v1\nkind: Pod", "contains no policy"},
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
        BadCase{
            "ATable", "NAME   DATA   AGE\nd      1      5d\n",
            "must be a policy of the descheduler, not a string; use YAML or JSON, such as the output of `kubectl get"},
        BadCase{"AnotherLanguage", "values = [yamlencode({ deschedulerPolicy = {} })]",
                "not a string; use YAML or JSON"},
        BadCase{"APage", "<!DOCTYPE html><html><body>404: Not Found</body></html>",
                "the file is HTML or XML: did you download a web page instead of the file?"},
        BadCase{"ValuesUnderAnAlias", "my-descheduler: {deschedulerPolicy: {}}",
                "my-descheduler: the object may contain a policy at this field, but convert does not know the object's "
                "kind"},
        BadCase{"APolicyOfAPolicy",
                "apiVersion: policy.open-cluster-management.io/v1\nkind: Policy\nspec: {templates: [{object: {kind: "
                "KubeDescheduler, spec: {}}}]}",
                "spec.templates[0].object: the object may contain a policy at this field"},
        BadCase{"APlaybook", "- name: d\n  k8s: {definition: {data: {p.yaml: 'apiVersion: descheduler/v1alpha2'}}}\n",
                "[0].k8s.definition.data[p.yaml]: the object may contain a policy at this field"},
        BadCase{"ConfigMapOfObjects",
                "apiVersion: v1\nkind: ConfigMap\ndata: {p.yaml: {apiVersion: descheduler/v1alpha2, profiles: []}}",
                "data[p.yaml]: the object may contain a policy at this field"},
        BadCase{"OursAlready", "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy",
                "is already a resource of Evacuator"},
        BadCase{"AnotherVersion", "apiVersion: descheduler/v1\nkind: DeschedulerPolicy",
                "apiVersion: must be descheduler/v1alpha2 or descheduler/v1alpha1"},
        BadCase{"AnotherKind", "apiVersion: descheduler/v1alpha2\nkind: Policy", "kind: must be DeschedulerPolicy"},
        BadCase{"NegativeLimit", "profiles: []\nmaxNoOfPodsToEvictTotal: -1",
                "maxNoOfPodsToEvictTotal: -1 is not a whole number"},
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
            "profiles[0]: LowNodeUtilization undoes the moves of HighNodeUtilization of strategies[0]"},
        BadCase{"MissingArg", ENABLED("deschedule", "PodLifeTime", "{}"),
                "profiles[0].pluginConfig[0].args: requires at least"},
        BadCase{"ArgsList", ENABLED("deschedule", "PodLifeTime", "[1]"),
                "profiles[0].pluginConfig[0].args: must be an object, not a list"},
        BadCase{"WrongPoint", ENABLED("deschedule", "RemoveDuplicates", "{}"),
                "profiles[0].plugins.deschedule.enabled[0]: RemoveDuplicates is not a plugin of this extension point; "
                "move it to balance"},
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
                "the file contains {{ … }}: render the template first"},
        BadCase{"NotYetFilledIn", "kind: Deployment\ndeschedulingInterval: ${EVERY}\ndeschedulerPolicy: {}\n",
                "the file contains ${ … }: substitute the variables first (`flux build kustomization`, `envsubst`)"},
        BadCase{"Encrypted",
                "apiVersion: v1\nkind: ConfigMap\ndata: {policy.yaml: 'ENC[AES256_GCM,data:x]'}\nsops: {mac: x}\n",
                "sops: is encrypted: decrypt it first (`sops decrypt FILE | evacuator convert -`)"},
        BadCase{
            "EncryptedInPart",
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: descheduler}\nspec: {values: "
            "{deschedulerPolicy: 'ENC[AES256_GCM,data:x]'}}\nsops: {mac: x}\n",
            "sops: is encrypted: decrypt it first"}),
    [](const auto& test) { return std::string(test.param.name); });

// ---------------------------------------------------------------- the command

class ConvertCommand : public cmd_test::CommandTest {
 protected:
  int run(const std::string& text, ConvertOptions options = {}) {
    options.file = write("policy.yaml", text);
    return captured([&] { return run_convert(options); });
  }
  /// Runs `evacuator validate` on the output. Returns its exit code.
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
  EXPECT_THAT(err_, HasSubstr("policy.yaml: no policy written: none of its enabled strategies could be converted\n"));
}

TEST_F(ConvertCommand, TakesTheVersionOfTheChart) {
  const char* values = "schedule: '@daily'\ndeschedulerPolicy: {strategies: {RemoveDuplicates: {enabled: true}}}\n";
  EXPECT_EQ(run(values, {.chart_version = "0.29.0"}), 0) << err_;
  EXPECT_THAT(err_, HasSubstr("added deschedulerPolicy.strategies.LowNodeUtilization"));
  EXPECT_THAT(out_, HasSubstr("# added deschedulerPolicy.strategies.LowNodeUtilization"));
  EXPECT_EQ(validate(), 0) << validated_;
  EXPECT_EQ(run(values, {.chart_version = "soon"}), 1);
  EXPECT_THAT(err_, HasSubstr("--chart-version: \"soon\" is not a version of the chart such as 0.29.0"));
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
  EXPECT_THAT(err_, HasSubstr("--interval: \"soon\" is not a duration"));
  for (const char* each : {"4s", "169h", "-5m", "0s"}) {
    EXPECT_EQ(run("profiles: []", {.interval = each}), 1);
    EXPECT_THAT(err_, testing::ContainsRegex("--interval: .* is not between 5s and 168h")) << each;
  }
  EXPECT_EQ(run_convert({.file = directory_ + "/none"}), 1);
}

}  // namespace convert_command_test
}  // namespace cmd
