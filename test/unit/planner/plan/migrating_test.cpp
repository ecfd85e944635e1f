#include "planner/plan/migrating.hpp"

#include <gmock/gmock.h>

#include "test/builders/cluster.hpp"

namespace planner {
namespace migrating_test {

using builders::ClusterBuilder;
using builders::PodBuilder;

PodBuilder launcher(std::string name, std::string vmi = "vm-1") {
  return PodBuilder(std::move(name)).label("kubevirt.io", "virt-launcher").label("kubevirt.io/created-by", vmi);
}

struct MigratingCase {
  std::string name;
  PodBuilder pod;
  std::vector<PodBuilder> others;
  std::string want;  ///< Reason of the refusal, empty if the pod is not migrating
};

class Migrating : public testing::TestWithParam<MigratingCase> {};

TEST_P(Migrating, IsLeftToTheOwner) {
  ClusterBuilder builder;
  builder.add(GetParam().pod);
  for (const PodBuilder& other : GetParam().others) builder.add(other);
  const auto cluster = builder.build();
  MigratingPods migrating(*cluster);
  const auto refusal = migrating.refusal(cluster->find_pod("default", GetParam().pod.build().meta.name).value());
  EXPECT_EQ(refusal ? refusal->reason : "", GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Pods, Migrating,
    testing::Values(
        MigratingCase{"AnOrdinaryPod", PodBuilder("p"), {}, ""},
        MigratingCase{"OneMarkedAsEvicted",
                      PodBuilder("p").annotate(api::well_known::kEvictionInProgress),
                      {},
                      "MigrationInProgress"},
        MigratingCase{"DisksOfAMachine", PodBuilder("p").label("kubevirt.io", "hotplug-disk"), {}, "FollowsMachine"},
        MigratingCase{"TheOnlyLauncherOfAMachine", launcher("p"), {}, ""},
        MigratingCase{"OneOfTwoLaunchers", launcher("p"), {launcher("q")}, "MigrationInProgress"},
        MigratingCase{"OneBesideALauncherOfAnotherMachine", launcher("p"), {launcher("q", "vm-2")}, ""},
        MigratingCase{
            "OneBesideAFinishedLauncher", launcher("p"), {launcher("q").phase(api::PodPhase::kSucceeded)}, ""},
        MigratingCase{"AFinishedLauncher", launcher("p").phase(api::PodPhase::kSucceeded), {}, "MigrationFinished"},
        MigratingCase{"AFinishedLauncherThatKeptItsMark",
                      launcher("p").phase(api::PodPhase::kSucceeded).annotate(api::well_known::kEvictionInProgress),
                      {},
                      "MigrationFinished"},
        MigratingCase{"ALauncherWithoutAMachine", launcher("p", ""), {launcher("q", "")}, ""}),
    [](const auto& test) { return test.param.name; });

}  // namespace migrating_test
}  // namespace planner
