#include <gtest/gtest.h>

#include "test/unit/evictors/kubevirt/kubevirt_fixture.hpp"

/// Time that an attempt gets, by memory, disks and the settings of KubeVirt.
namespace kubevirt_deadline_test {

using namespace kubevirt_fixture;

struct DeadlineCase {
  const char* name;
  const char* memory;
  const char* mode;
  const char* remote_failures;
  int want_seconds;
};
class KubeVirtDeadline : public testing::TestWithParam<DeadlineCase> {};
TEST_P(KubeVirtDeadline, GrowsWithMemoryAndAttempts) {
  World world;
  world.vmi["spec"]["domain"]["memory"]["guest"] = GetParam().memory;
  if (*GetParam().mode) world.parameters.emplace_back("mode", GetParam().mode);
  if (*GetParam().remote_failures) world.parameters.emplace_back("remoteFailures", GetParam().remote_failures);
  EXPECT_EQ(kEvictor.probe(world.context()).total, base::seconds(GetParam().want_seconds));
}
INSTANTIATE_TEST_SUITE_P(Evictors, KubeVirtDeadline,
                         testing::Values(DeadlineCase{"SmallOnesGetHalfAnHour", "1Gi", "", "", 1800},
                                         DeadlineCase{"ThreeTriesOf16Gi", "16Gi", "", "", 900 + 3 * 18 * 150},
                                         DeadlineCase{"OneTry", "16Gi", "", "1", 900 + 18 * 150},
                                         DeadlineCase{"OneShot", "16Gi", "Migration", "", 900 + 18 * 150},
                                         DeadlineCase{"DecimalGigabytes", "16G", "", "1", 900 + 16 * 150},
                                         DeadlineCase{"RoundsUp", "15500Mi", "", "1", 900 + 17 * 150},
                                         DeadlineCase{"NonsenseMemory", "lots", "", "", 1800},
                                         DeadlineCase{"HugeIsBounded", "4000Pi", "", "", 7 * 86'400}),
                         [](const auto& test) { return test.param.name; });

TEST(KubeVirtProbe, FollowsTheClustersSettings) {
  World world;
  world.vmi["spec"]["domain"]["memory"]["guest"] = "100Gi";
  world.kubevirt["items"][0]["spec"]["configuration"]["migrations"]["completionTimeoutPerGiB"] = 10;
  EXPECT_EQ(kEvictor.probe(world.context()).total, base::seconds(900 + 3 * 1080));
  world.evacuation.spec.timeouts.total = base::seconds(77);
  EXPECT_EQ(kEvictor.probe(world.context()).total, std::nullopt) << "the spec's own word";
}

struct AllowanceCase {
  const char* name;
  void (*edit)(Json& vmi, Json& migrations);
  int want_seconds;  ///< Seconds in addition to the slack of 900
};
class KubeVirtAllowance : public testing::TestWithParam<AllowanceCase> {};
/// One attempt for a VM of 10 GB.
TEST_P(KubeVirtAllowance, MatchesTheTimeoutsOfKubeVirt) {
  World world;
  world.parameters = {{"mode", "Migration"}};
  world.vmi["spec"]["domain"]["memory"]["guest"] = "10G";
  Json& migrations = world.kubevirt["items"][0]["spec"]["configuration"]["migrations"];
  migrations["completionTimeoutPerGiB"] = 200;
  GetParam().edit(world.vmi, migrations);
  EXPECT_EQ(kEvictor.probe(world.context()).total, base::seconds(900 + GetParam().want_seconds));
}
constexpr int kAllowed = 10 * 200;
INSTANTIATE_TEST_SUITE_P(
    Evictors, KubeVirtAllowance,
    testing::Values(
        AllowanceCase{"TheClusters", [](Json&, Json&) {}, kAllowed},
        AllowanceCase{"TheStallDetectorsFactor",
                      [](Json& vmi, Json&) {
                        vmi["status"]["migrationState"]["migrationConfiguration"]["experimental"]["stallDetector"] = {
                            {"completionTimeoutFactor", "3"}};
                      },
                      3 * kAllowed},
        AllowanceCase{"NonsenseFactor",
                      [](Json&, Json& migrations) {
                        migrations["experimental"]["stallDetector"] = {{"completionTimeoutFactor", "much"}};
                      },
                      kAllowed},
        AllowanceCase{"TwiceWhereTheGuestMayBeDisrupted",
                      [](Json&, Json& migrations) { migrations["allowWorkloadDisruption"] = true; }, 2 * kAllowed},
        AllowanceCase{"WhichPostCopyImplies", [](Json&, Json& migrations) { migrations["allowPostCopy"] = true; },
                      2 * kAllowed},
        AllowanceCase{"UnlessItIsForbidden",
                      [](Json&, Json& migrations) {
                        migrations["allowPostCopy"] = true;
                        migrations["allowWorkloadDisruption"] = false;
                      },
                      kAllowed},
        AllowanceCase{"WhatWasResolvedForTheVmGoesFirst",
                      [](Json& vmi, Json& migrations) {
                        migrations["allowPostCopy"] = true;
                        vmi["status"]["migrationState"]["migrationConfiguration"] = {{"completionTimeoutPerGiB", 300},
                                                                                     {"allowPostCopy", false}};
                      },
                      10 * 300},
        AllowanceCase{"ResolvedPartly",
                      [](Json& vmi, Json&) {
                        vmi["status"]["migrationState"]["migrationConfiguration"] = {{"allowWorkloadDisruption", true}};
                      },
                      2 * kAllowed},
        AllowanceCase{"NoLimitIsAWeek", [](Json&, Json& migrations) { migrations["completionTimeoutPerGiB"] = 0; },
                      7 * 86'400 - 900},
        AllowanceCase{"MigratedVolumesAreCopied",
                      [](Json& vmi, Json&) {
                        const Json claim = {{"capacity", {{"storage", "50G"}}}, {"requests", {{"storage", "30G"}}}};
                        vmi["status"]["migratedVolumes"] =
                            Json::array({{{"volumeName", "a"}, {"sourcePVCInfo", claim}}, {{"volumeName", "b"}}});
                      },
                      (10 + 30) * 200},
        AllowanceCase{"EphemeralDisksAreCopiedByBlocks",
                      [](Json& vmi, Json&) {
                        vmi["status"]["migrationMethod"] = "BlockMigration";
                        vmi["spec"]["volumes"] =
                            Json::array({{{"name", "a"}, {"emptyDisk", {{"capacity", "5G"}}}},
                                         {{"name", "b"}, {"containerDisk", {{"image", "os"}}}},
                                         {{"name", "c"}, {"persistentVolumeClaim", {{"claimName", "c"}}}}});
                        vmi["status"]["volumeStatus"] = Json::array(
                            {{{"name", "b"}, {"size", 2'000'000'000}}, {{"name", "c"}, {"size", 90'000'000'000}}});
                      },
                      (10 + 5 + 2) * 200},
        AllowanceCase{"AndOnlyThen",
                      [](Json& vmi, Json&) {
                        vmi["status"]["migrationMethod"] = "LiveMigration";
                        vmi["spec"]["volumes"] = Json::array({{{"name", "a"}, {"emptyDisk", {{"capacity", "5G"}}}}});
                      },
                      kAllowed},
        AllowanceCase{"NonsenseCountsAsAbsent",
                      [](Json& vmi, Json& migrations) {
                        migrations["allowPostCopy"] = "yes";
                        vmi["status"]["migratedVolumes"] = 7;
                        vmi["status"]["migrationState"]["migrationConfiguration"] = {{"completionTimeoutPerGiB", -5}};
                      },
                      kAllowed}),
    [](const auto& test) { return test.param.name; });

}  // namespace kubevirt_deadline_test
