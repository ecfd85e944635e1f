#include <gmock/gmock.h>

#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

namespace unknown_namespaces_test {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;

struct UnknownCase {
  std::string name;
  std::function<void(api::DeschedulerPolicySpec&)> edit;
  std::vector<std::string> want;
};

planner::Plan plan_of(const api::DeschedulerPolicySpec& spec, const scheduling::ClusterSnapshot& cluster) {
  const planner::PlanSpec parsed(spec);
  return planner::plan_cycle({.spec = parsed, .cluster = cluster, .leaving = {}, .now = kNoon});
}

class UnknownNamespaces : public testing::TestWithParam<UnknownCase> {};

/// The namespaces "shop" and "default" exist. "default" has a pod.
TEST_P(UnknownNamespaces, AreNamedWithTheirField) {
  const auto cluster = ClusterBuilder().add(PodBuilder("p")).add_namespace("shop", {}).build();
  api::DeschedulerPolicySpec spec;
  GetParam().edit(spec);
  std::vector<std::string> texts;
  const planner::Plan plan = plan_of(spec, *cluster);
  for (const auto& error : plan.warnings) texts.push_back(error.to_string());
  for (const auto& error : plan.notes) {
    if (error.message.starts_with("namespace ")) texts.push_back("harmless: " + error.to_string());
  }
  EXPECT_EQ(texts, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Plans, UnknownNamespaces,
    testing::Values(
        UnknownCase{"NothingNamed", [](auto&) {}, {}},
        UnknownCase{"Known",
                    [](auto& spec) {
                      spec.evictability.namespaces.include = {"shop", "default"};
                    },
                    {}},
        UnknownCase{"InEvictability",
                    [](auto& spec) {
                      spec.evictability.namespaces.exclude = {"shop", "shpo"};
                    },
                    {"harmless: spec.evictability.namespaces.exclude[1]: namespace \"shpo\" does not exist"}},
        UnknownCase{
            "InArgs",
            [](auto& spec) {
              spec.strategies = {{"RemoveDuplicates", ""}, {"RemoveDuplicates", R"({"namespaces":{"include":["x"]}})"}};
            },
            {"spec.strategies[1].args.namespaces.include[0]: namespace \"x\" does not exist"}},
        UnknownCase{
            "InEvictableNamespaces",
            [](auto& spec) {
              spec.strategies = {{"LowNodeUtilization", R"({"evictableNamespaces":{"exclude":["shop","y"]}})"}};
            },
            {"harmless: spec.strategies[0].args.evictableNamespaces.exclude[1]: namespace \"y\" does not exist"}},
        UnknownCase{"InRetention",
                    [](auto& spec) {
                      spec.strategies = {
                          {"PodLifeTime", R"({"terminalPods":{"retention":[{"namespaces":{"include":["z"]}}]}})"}};
                    },
                    {"spec.strategies[0].args.terminalPods.retention[0].namespaces.include[0]: namespace \"z\" does "
                     "not exist"}}),
    [](const auto& test) { return test.param.name; });

TEST(UnknownNamespacesTest, ReportsNothingIfNoNamespaceIsKnown) {
  const auto cluster = ClusterBuilder().add(PodBuilder("p")).build();
  api::DeschedulerPolicySpec spec;
  spec.evictability.namespaces.include = {"x"};
  EXPECT_THAT(plan_of(spec, *cluster).warnings, IsEmpty());
}

TEST(UnknownNamespacesTest, AreReportedAndThePlanContinues) {
  const auto cluster = ClusterBuilder()
                           .add(NodeBuilder("n1"))
                           .add(NodeBuilder("n2"))
                           .add(PodBuilder("p").on("n1"))
                           .add_namespace("default", {})
                           .build();
  api::DeschedulerPolicySpec spec;
  spec.evictability.namespaces.exclude = {"x"};
  spec.strategies = {{"PodLifeTime", R"({"maxPodLifeTimeSeconds":1,"namespaces":{"include":["default","y"]}})"}};
  const auto plan =
      planner::plan_cycle({.spec = planner::PlanSpec(spec), .cluster = *cluster, .leaving = {}, .now = kNoon});
  EXPECT_EQ(plan.warnings.size(), 1U);
  EXPECT_EQ(plan.notes.size(), 1U) << "an excluded one does no harm";
  EXPECT_EQ(plan.moves.size(), 1U);
}

}  // namespace unknown_namespaces_test
