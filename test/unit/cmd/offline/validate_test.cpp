#include <gmock/gmock.h>

#include "cmd/commands.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace validate_test {

class ValidateCommand : public cmd_test::CommandTest {};

constexpr const char* kUnknownParameter = R"(
apiVersion: evacuator.dev/v1alpha1
kind: Evacuation
metadata: {name: web-0, namespace: shop}
spec:
  podRef: {name: web-0}
  evictors: [{name: eviction-api, parameters: {speed: fast}}]
)";

TEST_F(ValidateCommand, ChecksParametersOfEvictors) {
  const std::string file = write("evacuation.yaml", kUnknownParameter);
  EXPECT_EQ(captured([&] { return run_validate({.files = {file}, .output = "text"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr("spec.evictors[0].parameters.speed: "));
}

TEST_F(ValidateCommand, ShowsHowToConvertUpstreamPolicies) {
  const std::string file = write("p.yaml", "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles: []\n");
  EXPECT_EQ(captured([&] { return run_validate({.files = {file}, .output = "text"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr("not \"descheduler/v1alpha2\"; convert it first: evacuator convert " + file));
}

TEST_F(ValidateCommand, NamesAFileThatCannotBeReadOnce) {
  const std::string none = directory_ + "/none.yaml";
  EXPECT_EQ(captured([&] { return run_validate({.files = {none}, .output = "text"}); }), 1);
  EXPECT_EQ(out_, none + ": No such file or directory\n");
}

TEST_F(ValidateCommand, ChecksTheItemsOfATypedList) {
  const std::string file = write("list.yaml",
                                 "apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicyList\n"
                                 "items: [{metadata: {name: a}, spec: {strategies: [{name: None}]}}]\n");
  EXPECT_EQ(captured([&] { return run_validate({.files = {file}, .output = "text"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr("DeschedulerPolicy a: spec.strategies[0].name: "));
}

TEST_F(ValidateCommand, FailsWhenNothingWasChecked) {
  const std::string foreign = write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n");
  const std::string list = write("pods.yaml", "apiVersion: v1\nkind: PodList\nitems: []\n");
  EXPECT_EQ(captured([&] { return run_validate({.files = {list}, .output = "text"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr("contains no object"));
  EXPECT_EQ(captured([&] { return run_validate({.files = {foreign}, .output = "text"}); }), 1);
  EXPECT_THAT(err_, testing::HasSubstr("nothing was checked"));
}

TEST_F(ValidateCommand, CountsUncheckedObjects) {
  std::string dump = "apiVersion: v1\nkind: PodList\nitems:\n";
  for (int i = 0; i < 8; ++i) dump += "- metadata: {name: p" + std::to_string(i) + "}\n";
  const std::string file = write("dump.yaml", dump);
  EXPECT_EQ(captured([&] { return run_validate({.files = {file}, .output = "text"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr(file + ": Pod p4: not checked (not a kind of Evacuator)\n" + file +
                                       ": 3 objects more: not checked (not kinds of Evacuator)\n"));
  EXPECT_THAT(out_, testing::Not(testing::HasSubstr("p5")));
  EXPECT_EQ(captured([&] { return run_validate({.files = {file}, .output = "json"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr("Pod p7")) << "all of them for programs";
}

TEST_F(ValidateCommand, ShowsTheKindOfAnUnnamedObject) {
  const std::string file = write("p.yaml", "apiVersion: v1\nkind: DeschedulerPolicy\n");
  EXPECT_EQ(captured([&] { return run_validate({.files = {file}, .output = "text"}); }), 1);
  EXPECT_THAT(out_, testing::StartsWith(file + ": DeschedulerPolicy: apiVersion: must be "));
}

TEST_F(ValidateCommand, WritesNamesOfFilesThatAreNoUtf8) {
  EXPECT_EQ(captured([&] { return run_validate({.files = {directory_ + "/\xff"}, .output = "json"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr("No such file"));
}

struct AroundCase {
  const char* name;
  const char* object;
  const char* problem;  ///< empty if none
};
class AroundSpec : public ValidateCommand, public testing::WithParamInterface<AroundCase> {};

TEST_P(AroundSpec, IsCheckedAsTheServerDoes) {
  const std::string file = write("p.yaml", std::string("apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\n"
                                                       "spec: {strategies: [{name: RemoveDuplicates}]}\n") +
                                               GetParam().object);
  const bool good = *GetParam().problem == 0;
  EXPECT_EQ(captured([&] { return run_validate({.files = {file}, .output = "text"}); }), good ? 0 : 1) << out_;
  EXPECT_THAT(out_, testing::HasSubstr(good ? "valid" : GetParam().problem));
}

INSTANTIATE_TEST_SUITE_P(
    Of, AroundSpec,
    testing::Values(
        AroundCase{"AFieldThatIsNotIndented", "metadata: {name: a}\nmode: Automatic\n",
                   "DeschedulerPolicy a: mode: unknown field, or does it belong under spec, with indentation?"},
        AroundCase{"AMisspeltMember", "metadata: {name: a}\nspecs: {}\n",
                   "specs: unknown field, did you mean \"spec\"?"},
        AroundCase{"AMisspeltMemberOfMetadata", "metadata: {name: a, label: {x: y}}\n",
                   "metadata.label: unknown field, did you mean \"labels\"?"},
        AroundCase{"AnotherMemberOfMetadata", "metadata: {name: a, owner: me}\n", "metadata.owner: unknown field\n"},
        AroundCase{"AName", "metadata: {name: Ours_x}\n", "metadata.name: \"Ours_x\" is not a DNS subdomain"},
        AroundCase{"ALabel", "metadata: {name: a, labels: {x: 1}}\n",
                   "metadata.labels.x: must be a string, not a number"},
        AroundCase{"AnAnnotation", "metadata: {name: a, annotations: {x.dev/y: true}}\n",
                   "metadata.annotations[x.dev/y]: must be a string, not a boolean"},
        AroundCase{"WhatTheServerWrites",
                   "metadata: {name: a, uid: u, resourceVersion: '7', generation: 3, creationTimestamp: "
                   "'2026-01-01T00:00:00Z', managedFields: [], finalizers: [], labels: {a: b}, annotations: null}\n"
                   "status: {}\n",
                   ""}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ValidateCommand, NamesPoliciesThatReplaceEachOther) {
  const auto policy = [](const char* strategy) {
    return std::string("apiVersion: evacuator.dev/v1alpha1\nkind: DeschedulerPolicy\nmetadata: {name: default}\n") +
           "spec: {strategies: [{name: " + strategy + "}]}\n";
  };
  const std::string first = write("a.yaml", policy("RemoveDuplicates"));
  const std::string second = write("b.yaml", policy("RemoveFailedPods"));
  EXPECT_EQ(captured([&] { return run_validate({.files = {first, first}, .output = "text"}); }), 0) << "the same twice";
  EXPECT_EQ(captured([&] { return run_validate({.files = {first, second}, .output = "text"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr(second +
                                       ": DeschedulerPolicy default: metadata.name: another DeschedulerPolicy "
                                       "default is in " +
                                       first + ": `kubectl apply` keeps one of them"));
}

}  // namespace validate_test
}  // namespace cmd
