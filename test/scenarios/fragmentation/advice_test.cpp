/// Placement advice for every kind of fragmented cluster: it names the true cause, and a plan frees the predicted
/// number of nodes once the advice is followed. The test implements the advice itself, without the adviser's code.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "advisor/placement/advise.hpp"
#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"
#include "test/scenarios/fragmentation/clusters.hpp"
#include "test/scenarios/fragmentation/judge.hpp"

namespace advice_test {

using advisor::Cause;
using scheduling::SnapshotInput;

constexpr int kNodes = 20;
constexpr int kChecked = 2;  ///< number of predictions checked per kind

/// Returns the maximum number of plans. Plans of some kinds take seconds, so only the first changes are checked.
std::size_t max_plans(std::string_view kind) {
  for (const std::string_view slow : {"groups", "uneven", "tainted", "agents", "medley"}) {
    if (kind == slow) return 2;
  }
  return 6;
}

/// Applies the advice to one pod.
void follow(Cause cause, bool drops, api::Pod& pod) {
  auto affinity = pod.affinity ? std::make_shared<api::Affinity>(*pod.affinity) : nullptr;
  if (cause == Cause::kRequiredAntiAffinity && affinity) {
    for (const auto& term : drops ? std::vector<api::PodAffinityTerm>() : affinity->required_pod_anti_affinity)
      affinity->preferred_pod_anti_affinity.push_back({100, term});
    affinity->required_pod_anti_affinity = {};
    pod.affinity = affinity;
  }
  if (cause == Cause::kZoneSpread && drops) pod.topology_spread.clear();
  if (cause == Cause::kZoneSpread) {
    for (auto& constraint : pod.topology_spread) constraint.schedule_anyway = true;
  }
  if (cause == Cause::kNodeSelector) pod.node_selector = {};
  if (cause == Cause::kZonalVolume) pod.volumes.clear();
  if (cause == Cause::kBarePod && pod.meta.owner_references.empty())
    pod.meta.owner_references = {{"apps/v1", "ReplicaSet", "made", "made-" + pod.meta.name, true}};
}

bool is_meant(const advisor::Finding& finding, const api::Pod& pod) {
  if (finding.name.empty()) return true;
  const auto* owner = pod.meta.controller();
  return (owner == nullptr ? pod.meta.name : owner->name) == finding.name;
}

SnapshotInput followed(SnapshotInput cluster, const advisor::Finding& finding) {
  for (auto& each : cluster.pods) {
    if (!is_meant(finding, *each)) continue;
    api::Pod pod = *each;
    follow(finding.cause, finding.grade == advisor::Grade::kDropped, pod);
    each = std::make_shared<const api::Pod>(std::move(pod));
  }
  return cluster;
}

/// Plans like `evacuator simulate` and judges the plan with code that is independent of the planner.
fragmentation::Verdict simulated(const SnapshotInput& cluster) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", "{}"});
  const planner::PlanSpec spec(policy);
  const scheduling::ClusterSnapshot snapshot(cluster);
  const auto plan = planner::plan_cycle({.spec = spec,
                                         .cluster = snapshot,
                                         .leaving = {},
                                         .now = builders::kNoon,
                                         .options = {.spend_pdbs = false, .taint_value = "simulated"}});
  return fragmentation::judge(cluster, plan.moves);
}

/// Returns the main cause of fragmentation by its shape in clusters.cpp, nullopt if only the requests cause it.
std::optional<Cause> true_cause(std::string_view kind) {
  if (kind == "crowded" || kind == "nearly_full" || kind == "memory") return std::nullopt;
  if (kind == "zonal") return Cause::kZoneSpread;
  return Cause::kRequiredAntiAffinity;
}

/// Returns the findings in their order, for messages.
std::string listed(const advisor::PlacementReport& report) {
  std::string text;
  for (const advisor::Finding& each : report.findings) {
    text += fmt::format("{} {}: {} nodes by {} moves\n", to_string(each.cause), each.name,
                        each.then ? each.then->freed : -1, each.then ? each.then->moves : -1);
  }
  return fmt::format("now {} of {} by {} moves\n{}", report.now.freed, report.now.bound, report.now.moves, text);
}

class Advice : public testing::TestWithParam<std::string_view> {};

TEST_P(Advice, NamesTheTrueCauseAndPredictsCorrectly) {
  const SnapshotInput cluster = fragmentation::make_cluster(GetParam(), kNodes, 1);
  const auto report =
      advisor::advise_placement({.cluster = cluster, .now = builders::kNoon, .max_plans = max_plans(GetParam())});
  const auto first = std::ranges::find_if(report.findings, [](const auto& each) { return has_effect(each.cause); });
  if (const auto cause = true_cause(GetParam())) {
    ASSERT_NE(first, report.findings.end());
    EXPECT_EQ(first->cause, *cause) << listed(report);
  } else {
    EXPECT_TRUE(first == report.findings.end() || !first->then);
    EXPECT_THAT(report.now.bound_reason, testing::StartsWith("requests of"));
    EXPECT_EQ(report.now.freed, report.now.bound);
  }
  int checked = 0;
  for (const advisor::Finding& finding : report.findings) {
    if (!finding.then || ++checked > kChecked) continue;
    const auto verdict = simulated(followed(cluster, finding));
    EXPECT_NEAR(verdict.freed(), finding.then->freed, 1) << to_string(finding.cause) << " " << finding.name;
    // The judge treats every spread constraint as required.
    if (finding.cause != Cause::kZoneSpread) {
      EXPECT_THAT(verdict.broken, testing::IsEmpty());
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::string_view>& info) { return std::string(info.param); }

/// Fast kinds, for every test run. The others take up to a minute each: `make proof`.
const std::vector<std::string_view> kQuick{"classic", "sizes", "apps", "zones", "mixed", "spread", "memory", "small"};

std::vector<std::string_view> slow_kinds() {
  auto slow = fragmentation::kinds();
  std::erase_if(slow, [](std::string_view kind) { return std::ranges::find(kQuick, kind) != kQuick.end(); });
  return slow;
}

INSTANTIATE_TEST_SUITE_P(Kinds, Advice, testing::ValuesIn(kQuick), name_of);
INSTANTIATE_TEST_SUITE_P(DISABLED_SlowKinds, Advice, testing::ValuesIn(slow_kinds()), name_of);

}  // namespace advice_test
