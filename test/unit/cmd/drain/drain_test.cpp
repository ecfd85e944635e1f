#include "cmd/drain/drain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/builders/cluster.hpp"

namespace cmd::plugin {
namespace plugin_drain_test {

using builders::PodBuilder;
using testing::ElementsAre;

PodBuilder with_volume(api::VolumeKind kind) {
  return PodBuilder("p").with([&](api::Pod& pod) { pod.volumes.push_back({kind, "v"}); });
}

struct JudgeCase {
  const char* name;
  api::Pod pod;
  DrainRules rules;
  DrainAction want;
  const char* want_flag = "";
};
void PrintTo(const JudgeCase& c, std::ostream* out) { *out << c.name; }

class Judge : public testing::TestWithParam<JudgeCase> {};

TEST_P(Judge, DecidesAsKubectlDrain) {
  const JudgeCase& c = GetParam();
  const DrainVerdict verdict = judge(c.pod, c.rules);
  EXPECT_EQ(verdict.fate, c.want);
  EXPECT_EQ(verdict.flag, c.want_flag);
  EXPECT_EQ(verdict.reason.empty(), c.want == DrainAction::kEvacuate);
}

const DrainRules kNone;
const DrainRules kAll{.ignore_daemonsets = true, .delete_emptydir_data = true, .force = true};
const auto kMirror = PodBuilder("p").annotate(api::well_known::kMirrorAnnotation).bare().build();
const auto kDaemon = PodBuilder("p").owned_by("DaemonSet", "ds").build();
const auto kDaemonWithData = with_volume(api::VolumeKind::kEmptyDir).owned_by("DaemonSet", "ds").build();

/// Returns a virt-launcher pod like KubeVirt's, with UID "vm".
PodBuilder launcher() {
  return with_volume(api::VolumeKind::kEmptyDir)
      .label("kubevirt.io", "virt-launcher")
      .annotate("kubevirt.io/domain", "db")
      .with([](api::Pod& pod) { pod.meta.uid = "vm"; });
}
PodBuilder hotplug() {
  return with_volume(api::VolumeKind::kEmptyDir)
      .label("kubevirt.io", "hotplug-disk")
      .owned_by("Pod", "virt-launcher-db");
}

INSTANTIATE_TEST_SUITE_P(
    Drain, Judge,
    testing::Values(
        JudgeCase{"MovesAnOrdinaryPod", PodBuilder("p").build(), kNone, DrainAction::kEvacuate},
        JudgeCase{"SkipsAMirrorPodSilently", kMirror, kNone, DrainAction::kSkip},
        JudgeCase{"SkipsAMirrorPodEvenWithForce", kMirror, kAll, DrainAction::kSkip},
        JudgeCase{"SkipsAFinishedPod", PodBuilder("p").bare().phase(api::PodPhase::kSucceeded).build(), kNone,
                  DrainAction::kSkip},
        JudgeCase{"SkipsATerminatingPod", PodBuilder("p").terminating().build(), kNone, DrainAction::kSkip},
        JudgeCase{"RefusesDaemonSets", kDaemon, kNone, DrainAction::kRefuse, "--ignore-daemonsets"},
        JudgeCase{"LeavesDaemonSetsWhenAllowed", kDaemon, {.ignore_daemonsets = true}, DrainAction::kSkip},
        JudgeCase{"AsksForTheDaemonSetFlagFirst", kDaemonWithData, kNone, DrainAction::kRefuse, "--ignore-daemonsets"},
        JudgeCase{"NeedsNoDataFlagForDaemonSets", kDaemonWithData, {.ignore_daemonsets = true}, DrainAction::kSkip},
        JudgeCase{"NeverMovesDaemonSetsByForce", kDaemon, {.force = true}, DrainAction::kRefuse, "--ignore-daemonsets"},
        JudgeCase{"RefusesLocalData", with_volume(api::VolumeKind::kEmptyDir).build(), kNone, DrainAction::kRefuse,
                  "--delete-emptydir-data"},
        JudgeCase{"MovesAMigratingMachine", launcher().build(), kNone, DrainAction::kEvacuate},
        JudgeCase{"RefusesAMachineThatIsShutDown",
                  launcher().build(),
                  {.shutdown_launchers = {"vm"}},
                  DrainAction::kRefuse,
                  "--delete-emptydir-data"},
        JudgeCase{"EndsAMachineWhenAllowed",
                  launcher().build(),
                  {.delete_emptydir_data = true, .shutdown_launchers = {"vm"}},
                  DrainAction::kEvacuate},
        JudgeCase{"LeavesDisksToTheirMachine", hotplug().build(), kNone, DrainAction::kSkip},
        JudgeCase{"LeavesDisksToTheirMachineWhateverTheFlags", hotplug().build(), kAll, DrainAction::kSkip},
        JudgeCase{"MovesLocalDataWhenAllowed",
                  with_volume(api::VolumeKind::kEmptyDir).build(),
                  {.delete_emptydir_data = true},
                  DrainAction::kEvacuate},
        JudgeCase{"MovesHostPathsAsKubectlDoes", with_volume(api::VolumeKind::kHostPath).build(), kNone,
                  DrainAction::kEvacuate},
        JudgeCase{"RefusesBarePods", PodBuilder("p").bare().build(), kNone, DrainAction::kRefuse, "--force"},
        JudgeCase{"MovesBarePodsByForce", PodBuilder("p").bare().build(), {.force = true}, DrainAction::kEvacuate},
        JudgeCase{"RefusesLocalDataOfBarePodsDespiteForce",
                  with_volume(api::VolumeKind::kEmptyDir).bare().build(),
                  {.force = true},
                  DrainAction::kRefuse,
                  "--delete-emptydir-data"}),
    [](const auto& test) { return test.param.name; });

TEST(DrainVerdict, KeepsPodsOfGroupsThatLeaveAsAWhole) {
  const auto pod = PodBuilder("p").with([](api::Pod& p) { p.scheduling_group.edit() = "g"; }).build();
  DrainRules rules = kAll;
  EXPECT_EQ(judge(pod, rules).fate, DrainAction::kEvacuate) << "the server has no such groups";
  rules.pod_groups.emplace();
  EXPECT_EQ(judge(pod, rules).fate, DrainAction::kRefuse) << "a group that is not known may leave as a whole";
  EXPECT_EQ(judge(PodBuilder("free").build(), rules).fate, DrainAction::kEvacuate);
  rules.pod_groups->emplace_back().meta.ns = pod.meta.ns;
  rules.pod_groups->back().meta.name = "g";
  EXPECT_EQ(judge(pod, rules).fate, DrainAction::kEvacuate);
  rules.pod_groups->back().is_disrupted_whole = true;
  EXPECT_EQ(judge(pod, rules).fate, DrainAction::kRefuse);
  EXPECT_EQ(judge(pod, rules).reason,
            "cannot leave alone: its PodGroup g (scheduling.k8s.io) has disruptionMode All: its pods do not leave "
            "individually");
  EXPECT_EQ(judge(pod, rules).flag, "");
}

TEST(DrainVerdict, WarnsOfRisksOfTheFlags) {
  EXPECT_EQ(judge(PodBuilder("p").bare().build(), kAll).warning, "nothing will recreate it");
  EXPECT_EQ(judge(with_volume(api::VolumeKind::kEmptyDir).build(), kAll).warning, "the data in its emptyDir is lost");
  EXPECT_EQ(judge(PodBuilder("p").build(), kAll).warning, "");
  EXPECT_EQ(judge(launcher().build(), kAll).warning, "");
  DrainRules ending = kAll;
  ending.shutdown_launchers = {"vm"};
  EXPECT_EQ(judge(launcher().build(), ending).warning,
            "its virtual machine cannot be migrated: the guest is shut down");
}

TEST(DrainRank, ReportsTheImpact) {
  EXPECT_EQ(rank_of(PodBuilder("p").build(), 3), DrainRank::kReplicated);
  EXPECT_EQ(rank_of(PodBuilder("p").build(), std::nullopt), DrainRank::kReplicated);
  EXPECT_EQ(rank_of(PodBuilder("p").build(), 1), DrainRank::kSingle);
  EXPECT_EQ(rank_of(PodBuilder("p").owned_by("StatefulSet", "db").build(), 3), DrainRank::kStateful);
  EXPECT_EQ(rank_of(with_volume(api::VolumeKind::kPersistentVolumeClaim).build(), 3), DrainRank::kStateful);
  EXPECT_EQ(rank_of(PodBuilder("p").annotate(api::well_known::kHandoffMode, "required").build(), 3),
            DrainRank::kStateful);
  EXPECT_EQ(rank_of(PodBuilder("p").bare().build(), 3), DrainRank::kUnmanaged);
}

std::vector<std::string> names_of(const std::vector<DrainMove>& moves) {
  std::vector<std::string> names;
  for (const DrainMove& move : moves) names.push_back(move.pod.meta.name);
  return names;
}

TEST(DrainPlan, OrdersByPriorityThenByImpact) {
  const DrainPlan plan = plan_drain(
      {PodBuilder("critical").priority(2'000'000'000).build(), PodBuilder("bare").bare().build(),
       PodBuilder("db").owned_by("StatefulSet", "db").build(),
       PodBuilder("alone").owned_by("ReplicaSet", "one").build(), PodBuilder("web-2").build(),
       PodBuilder("web-1").build(), PodBuilder("cheap").priority(-10).build(),
       PodBuilder("log").owned_by("DaemonSet", "ds").build()},
      kAll, [](const api::Pod& pod) { return pod.meta.name == "alone" ? std::optional(1) : std::optional(3); });
  EXPECT_THAT(names_of(plan.moves), ElementsAre("cheap", "web-1", "web-2", "alone", "db", "bare", "critical"));
  std::vector<std::int32_t> priorities;
  for (const DrainMove& move : plan.moves) priorities.push_back(move.priority);
  EXPECT_THAT(priorities, ElementsAre(1000, 999, 999, 998, 997, 996, 995));
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].pod.name, "log");
}

TEST(DrainPlan, ListsEveryRefusalAtOnce) {
  const DrainPlan plan = plan_drain({kDaemon, PodBuilder("bare").bare().build(), PodBuilder("web").build()}, kNone,
                                    [](const api::Pod&) { return std::nullopt; });
  ASSERT_EQ(plan.refused.size(), 2U);
  EXPECT_EQ(plan.refused[0].verdict.flag, "--force");
  EXPECT_EQ(plan.refused[1].verdict.flag, "--ignore-daemonsets");
  EXPECT_THAT(names_of(plan.moves), ElementsAre("web"));
}

}  // namespace plugin_drain_test
}  // namespace cmd::plugin
