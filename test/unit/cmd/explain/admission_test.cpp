#include "cmd/explain/admission.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "test/builders/cluster.hpp"

/// What `kubectl evacuator explain` reports about limits and cooldowns.
namespace cmd::plugin {
namespace plugin_admission_test {

using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;

api::Evacuation running(const std::string& pod, const std::string& node) {
  api::Evacuation made;
  made.meta.ns = "default";
  made.meta.name = pod + "-evac";
  made.meta.uid = "e-" + pod;
  made.spec.pod_ref = {pod, {"uid-" + pod}};
  made.spec.node_name = {node};
  made.status.phase = api::EvacuationPhase::kInProgress;
  made.status.attempt = 1;
  made.status.workload_group = "w-" + pod;
  return made;
}

api::DeschedulerPolicy tidy() {
  api::DeschedulerPolicy policy;
  policy.meta.name = "tidy";
  return policy;
}

struct AdmissionCase {
  const char* name;
  std::function<void(AdmissionInput&)> edit;
  bool by_policy;
  const char* limit;  ///< empty if the Evacuation is admitted at once
  const char* says;
};

class PluginAdmission : public testing::TestWithParam<AdmissionCase> {};

TEST_P(PluginAdmission, MatchesTheQueue) {
  AdmissionInput world;
  world.cluster = default_cluster_limits();
  world.cluster_known = true;
  world.nodes = {NodeBuilder("n1").build(), NodeBuilder("n2").build()};
  world.policies = {tidy()};
  GetParam().edit(world);
  const api::Pod pod = PodBuilder("web").on("n1").build();
  const auto fact = admission_of(pod, GetParam().by_policy ? &world.policies[0] : nullptr, "n2", world, kNoon);
  EXPECT_EQ(fact.immediately, std::string(GetParam().limit).empty());
  EXPECT_EQ(fact.limit, GetParam().limit);
  EXPECT_NE(fact.message.find(GetParam().says), std::string::npos) << fact.message;
}

INSTANTIATE_TEST_SUITE_P(
    World, PluginAdmission,
    testing::Values(
        AdmissionCase{"FreeWhereNothingHappens", [](auto&) {}, true, "", ""},
        AdmissionCase{"WaitsForItsNode",
                      [](auto& w) {
                        w.evacuations = {running("a", "n1"), running("b", "n1")};
                      },
                      true, "node", "at most 2 in flight from node n1"},
        AdmissionCase{"WaitsForThePolicysOwnLimit",
                      [](auto& w) {
                        w.policies[0].spec.limits.in_flight.total = api::IntOrPercent{0, false};
                      },
                      true, "policy tidy total", "under policy tidy"},
        AdmissionCase{"APersonIsNotBoundByAPolicy",
                      [](auto& w) {
                        w.policies[0].spec.limits.in_flight.total = api::IntOrPercent{0, false};
                      },
                      false, "", ""},
        AdmissionCase{"IsLeftInPeace",
                      [](auto& w) {
                        w.policies[0].spec.limits.cooldown.workload = std::chrono::hours(1);
                        w.policies[0].status.cooldowns = {{"workload/default/uid-of-rs", {kNoon - base::seconds(60)}}};
                      },
                      true, "cooldown", "was evacuated once recently"}),
    [](const auto& test) { return test.param.name; });

TEST(AdmissionNotes, ReportConditionsThatOnlyTheOperatorKnows) {
  AdmissionInput world;
  world.cluster = default_cluster_limits();
  world.policies = {tidy()};
  world.policies[0].spec.limits.rate = api::RateLimit{};
  world.policies[0].spec.limits.rate->per_minute = 3;
  const api::Pod pod = PodBuilder("web").on("n1").annotate("evacuator.dev/group", "trainer").build();
  const auto fact = admission_of(pod, &world.policies[0], "", world, kNoon);
  std::string all;
  for (const auto& note : fact.notes) all += note + "\n";
  for (const char* said : {"PodGroup trainer", "at most 3 per minute, 1 at once", "default limits are assumed"})
    EXPECT_NE(all.find(said), std::string::npos) << all;
}

TEST(ClusterLimits, AreReadFromTheOperatorsConfiguration) {
  const auto limits = cluster_limits_of("limits: {inFlight: {total: 9}}");
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->in_flight.total, (api::IntOrPercent{9, false}));
  EXPECT_FALSE(cluster_limits_of("limits: 7"));
}

}  // namespace plugin_admission_test
}  // namespace cmd::plugin
