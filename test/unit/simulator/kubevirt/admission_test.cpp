#include "simulator/kubevirt/admission.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simulator/kubevirt/script.hpp"

namespace simulator::kubevirt {
namespace admission_test {

using api::Json;

constexpr const char* kTriggered = "Eviction triggered evacuation of VMI \"shop/db\"";

Json launcher(const char* node = "node-1") {
  return {{"metadata",
           {{"name", "virt-launcher-db-x"},
            {"namespace", "shop"},
            {"labels", {{"kubevirt.io", "virt-launcher"}}},
            {"annotations", {{"kubevirt.io/domain", "db"}}}}},
          {"spec", {{"nodeName", node}}},
          {"status", {{"phase", "Running"}}}};
}

Json vmi(const char* strategy = "LiveMigrate", const char* migratable = "True") {
  Json object = objects::virtual_machine("shop", "db", "1Gi", strategy);
  object["status"] = {{"nodeName", "node-1"},
                      {"conditions", Json::array({{{"type", "LiveMigratable"}, {"status", migratable}}})}};
  return object;
}

Json eviction() {
  return {
      {"metadata", {{"name", "virt-launcher-db-x"}, {"annotations", {{"requested-by", "sigs.k8s.io/descheduler"}}}}}};
}

using Edit = void (*)(Json& pod, Json& vmi, Json& body, EvictionCase& facts);

/// Row of the decision table, as a difference from the case in which the call sets the mark.
struct Row {
  const char* name;
  Edit edit;
  std::string message;
  bool marks = false;
};
class EvictionTable : public testing::TestWithParam<Row> {};

TEST_P(EvictionTable, AnswersAsListed) {
  Json pod = launcher();
  Json machine = vmi();
  Json body = eviction();
  EvictionCase facts;
  facts.pod = &pod;
  facts.vmi = &machine;
  facts.eviction = &body;
  GetParam().edit(pod, machine, body, facts);
  const EvictionDecision decision = decide_eviction(facts);
  EXPECT_EQ(decision.message, GetParam().message);
  EXPECT_EQ(decision.mark.has_value(), GetParam().marks);
}

Json owned_hotplug() {
  Json pod = launcher();
  pod["metadata"]["name"] = "hp-volume-1";
  pod["metadata"]["labels"]["kubevirt.io"] = "hotplug-disk";
  pod["metadata"]["annotations"] = Json::object();
  pod["metadata"]["ownerReferences"] = Json::array({{{"name", "virt-launcher-db-x"}}});
  return pod;
}
const Json kLiveLauncher = launcher();

INSTANTIATE_TEST_SUITE_P(
    KubeVirt, EvictionTable,
    testing::Values(
        Row{"MarkedNow", [](Json&, Json&, Json&, EvictionCase&) {}, kTriggered, true},
        Row{"PodUnreadable", [](Json&, Json&, Json&, EvictionCase& facts) { facts.pod = nullptr; }, ""},
        Row{"OtherPod", [](Json& pod, Json&, Json&, EvictionCase&) { pod["metadata"]["labels"] = Json::object(); }, ""},
        Row{"FinishedPod", [](Json& pod, Json&, Json&, EvictionCase&) { pod["status"]["phase"] = "Succeeded"; }, ""},
        Row{"NoDomain", [](Json& pod, Json&, Json&, EvictionCase&) { pod["metadata"].erase("annotations"); }, ""},
        Row{"NoVmi",
            [](Json&, Json&, Json&, EvictionCase& facts) {
              facts.vmi = nullptr;
              facts.vmi_error = "virtualmachineinstances.kubevirt.io \"db\" not found";
            },
            "kubevirt failed getting the vmi: virtualmachineinstances.kubevirt.io \"db\" not found"},
        Row{"NoStrategy", [](Json&, Json& vmi, Json&, EvictionCase&) { vmi["spec"].erase("evictionStrategy"); }, ""},
        Row{"StrategyNone", [](Json&, Json& vmi, Json&, EvictionCase&) { vmi["spec"]["evictionStrategy"] = "None"; },
            ""},
        Row{"ClusterStrategy",
            [](Json&, Json& vmi, Json&, EvictionCase& facts) {
              vmi["spec"].erase("evictionStrategy");
              facts.config.strategy = "LiveMigrate";
            },
            kTriggered, true},
        Row{"NotMigratable", [](Json&, Json& machine, Json&, EvictionCase&) { machine = vmi("LiveMigrate", "False"); },
            "VMI db is configured with an eviction strategy but is not live-migratable"},
        Row{"NotMigratableIfPossible",
            [](Json&, Json& machine, Json&, EvictionCase&) { machine = vmi("LiveMigrateIfPossible", "False"); }, ""},
        Row{"IfPossible", [](Json&, Json& machine, Json&, EvictionCase&) { machine = vmi("LiveMigrateIfPossible"); },
            kTriggered, true},
        Row{"External", [](Json&, Json& machine, Json&, EvictionCase&) { machine = vmi("External", "False"); },
            kTriggered, true},
        Row{"MarkedBefore",
            [](Json&, Json& vmi, Json&, EvictionCase&) { vmi["status"]["evacuationNodeName"] = "node-1"; },
            std::string("Evacuation in progress: ") + kTriggered},
        Row{"MarkedBeforeOn14",
            [](Json&, Json& vmi, Json&, EvictionCase& facts) {
              vmi["status"]["evacuationNodeName"] = "node-1";
              facts.config.minor = 4;
            },
            ""},
        Row{"TargetPod", [](Json& pod, Json&, Json&, EvictionCase&) { pod["spec"]["nodeName"] = "node-2"; },
            "Eviction request for target Pod"},
        Row{"BadBody", [](Json&, Json&, Json& body, EvictionCase&) { body["metadata"]["annotations"] = 7; },
            "failed to parse the eviction object: json: cannot unmarshal into Go value of type v1.Eviction"},
        Row{"DryRun", [](Json&, Json&, Json&, EvictionCase& facts) { facts.dry_run = true; }, kTriggered},
        Row{"DryRunInBody", [](Json&, Json&, Json& body, EvictionCase&) { body["deleteOptions"]["dryRun"] = {"All"}; },
            kTriggered},
        Row{"Hotplug",
            [](Json& pod, Json&, Json&, EvictionCase& facts) {
              pod = owned_hotplug();
              facts.launcher = &kLiveLauncher;
            },
            "cannot evict hotplug pod: hp-volume-1 associated with running vmi: db in namespace shop"},
        Row{"HotplugOwnerUnreadable",
            [](Json& pod, Json&, Json&, EvictionCase& facts) {
              pod = owned_hotplug();
              facts.launcher_error = "etcdserver: request timed out";
            },
            "failed getting owner for hotplug pod: etcdserver: request timed out"},
        Row{"HotplugMachineUnreadable",
            [](Json& pod, Json&, Json&, EvictionCase& facts) {
              pod = owned_hotplug();
              facts.launcher = &kLiveLauncher;
              facts.vmi = nullptr;
              facts.vmi_error = "etcdserver: request timed out";
            },
            "kubevirt failed getting the vmi: etcdserver: request timed out"},
        Row{"HotplugOfAMachineThatIsGone",
            [](Json& pod, Json&, Json&, EvictionCase& facts) {
              pod = owned_hotplug();
              facts.launcher = &kLiveLauncher;
              facts.vmi = nullptr;
              facts.vmi_missing = true;
            },
            ""},
        Row{"TargetPodOn14",
            [](Json& pod, Json&, Json&, EvictionCase& facts) {
              pod["spec"]["nodeName"] = "node-2";
              facts.config.minor = 4;
            },
            ""},
        Row{"BadBodyOn14",
            [](Json&, Json&, Json& body, EvictionCase& facts) {
              body["metadata"]["annotations"] = 7;
              facts.config.minor = 4;
            },
            kTriggered, true},
        Row{"NoAnnotationsToAddTo",
            [](Json&, Json& vmi, Json&, EvictionCase&) { vmi["metadata"].erase("annotations"); },
            "kubevirt failed marking the vmi for eviction: VirtualMachineInstance.kubevirt.io \"db\" is invalid: "
            "metadata.annotations: Invalid value: \"kubevirt.io~1eviction-source\": name part must consist of "
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
            "'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
        Row{"HotplugOn161",
            [](Json& pod, Json&, Json&, EvictionCase& facts) {
              pod = owned_hotplug();
              facts.launcher = &kLiveLauncher;
              facts.config.minor = 6;
              facts.config.patch = 1;
            },
            "cannot evict hotplug pod: hp-volume-1 associated with running vmi: db in namespace shop"},
        Row{"HotplugOrphan", [](Json& pod, Json&, Json&, EvictionCase&) { pod = owned_hotplug(); }, ""},
        Row{"HotplugOn16",
            [](Json& pod, Json&, Json&, EvictionCase& facts) {
              pod = owned_hotplug();
              facts.launcher = &kLiveLauncher;
              facts.config.minor = 6;
            },
            ""}),
    [](const auto& test) { return test.param.name; });

/// Content of the mark in addition to the node.
struct MarkCase {
  const char* name;
  Edit edit;
  bool by_descheduler;
};
class EvictionMark : public testing::TestWithParam<MarkCase> {};

TEST_P(EvictionMark, NamesItsSource) {
  Json pod = launcher();
  Json machine = vmi();
  Json body = eviction();
  EvictionCase facts;
  facts.pod = &pod;
  facts.vmi = &machine;
  facts.eviction = &body;
  GetParam().edit(pod, machine, body, facts);
  const EvictionDecision decision = decide_eviction(facts);
  ASSERT_TRUE(decision.mark);
  EXPECT_EQ((*decision.mark)["status"]["evacuationNodeName"], "node-1");
  EXPECT_EQ(annotation_of(*decision.mark, "kubevirt.io/eviction-source"),
            GetParam().by_descheduler ? "descheduler" : "");
}

INSTANTIATE_TEST_SUITE_P(
    KubeVirt, EvictionMark,
    testing::Values(MarkCase{"ByTheDescheduler", [](Json&, Json&, Json&, EvictionCase&) {}, true},
                    MarkCase{"BySomebodyElse",
                             [](Json&, Json&, Json& body, EvictionCase&) {
                               body["metadata"]["annotations"]["requested-by"] = "kubectl";
                             },
                             false},
                    MarkCase{"Before17", [](Json&, Json&, Json&, EvictionCase& facts) { facts.config.minor = 6; },
                             false},
                    MarkCase{"BySomebodyElseWithoutAnnotations",
                             [](Json&, Json& vmi, Json& body, EvictionCase&) {
                               vmi["metadata"].erase("annotations");
                               body["metadata"]["annotations"]["requested-by"] = "kubectl";
                             },
                             false}),
    [](const auto& test) { return test.param.name; });

struct InterceptCase {
  const char* name;
  std::string_view webhook;
  int minor;
  const char* pod;
  bool want;
};
class Intercepts : public testing::TestWithParam<InterceptCase> {};
TEST_P(Intercepts, ByVersionAndName) {
  Config config;
  config.minor = GetParam().minor;
  EXPECT_EQ(intercepts(GetParam().webhook, config, {{"metadata", {{"name", GetParam().pod}}}}), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    KubeVirt, Intercepts,
    testing::Values(InterceptCase{"Launcher", kLauncherEvictionWebhook, 7, "virt-launcher-db-x", true},
                    InterceptCase{"OtherPod", kLauncherEvictionWebhook, 7, "web-1", false},
                    InterceptCase{"EveryPodOn14", kLauncherEvictionWebhook, 4, "web-1", true},
                    InterceptCase{"Hotplug", kHotplugEvictionWebhook, 7, "hp-volume-1", true},
                    InterceptCase{"NoHotplugOn16", kHotplugEvictionWebhook, 6, "hp-volume-1", false},
                    InterceptCase{"HotplugLeavesLaunchers", kHotplugEvictionWebhook, 7, "virt-launcher-db-x", false}),
    [](const auto& test) { return test.param.name; });

struct VersionCase {
  const char* text;
  int minor;
};
class KubeVirtVersions : public testing::TestWithParam<VersionCase> {};
TEST_P(KubeVirtVersions, AreRead) {
  const Json object = objects::kubevirt(GetParam().text);
  EXPECT_EQ(config_of(&object).minor, GetParam().minor);
}
INSTANTIATE_TEST_SUITE_P(KubeVirt, KubeVirtVersions,
                         testing::Values(VersionCase{"v1.4.0", 4}, VersionCase{"1.6.2", 6}, VersionCase{"v1.10.0", 10},
                                         VersionCase{"v0.59.0", 0}, VersionCase{"", 7}));

struct ScriptCase {
  const char* name;
  const char* text;
  const char* error;
};
class MigrationScripts : public testing::TestWithParam<ScriptCase> {};
TEST_P(MigrationScripts, ReadsOrExplains) {
  const auto script = MigrationScript::parse(GetParam().text);
  EXPECT_EQ(script ? "" : script.error().message, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    KubeVirt, MigrationScripts,
    testing::Values(ScriptCase{"Empty", "", ""}, ScriptCase{"Usual", "run=20s, fail=2, reason=disk full,abort=3s", ""},
                    ScriptCase{"Flags",
                               "never-starts, unschedulable, post-copy=5s, shutdown=4s, external=30s, fail=always", ""},
                    ScriptCase{"Unknown", "walk=3s", "migration script: \"walk\" is no word of a migration script"},
                    ScriptCase{"BadTime", "run=soon", "migration script: \"soon\" is no duration, such as 2s or 1m30s"},
                    ScriptCase{"BadCount", "fail=-3",
                               "migration script: \"-3\" is no number of failures; write fail=2 or fail=always"}),
    [](const auto& test) { return test.param.name; });

}  // namespace admission_test
}  // namespace simulator::kubevirt
