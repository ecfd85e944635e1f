#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "api/meta/well_known.hpp"
#include "planner/plan/planner.hpp"
#include "test/builders/cluster.hpp"

/// The strategy Defragmentation in complete planning cycles. It asks the plan builder where replacements go.
namespace planner {
namespace defragmentation_fixture {

using builders::ClusterBuilder;
using builders::kNoon;
using builders::NodeBuilder;
using builders::PodBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

inline PodBuilder web(const std::string& name, const std::string& node, std::int64_t cpu = 1000) {
  return PodBuilder(name).on(node).cpu(cpu).label("app", "web");
}
/// Pod that shares labels and affinity with its siblings, like pods of one template.
inline PodBuilder quorum(const std::string& name, const std::string& node, std::int64_t cpu = 1000) {
  static const api::StringMap labels = {{"app", "quorum"}};
  static const std::shared_ptr<const api::Affinity> affinity =
      PodBuilder("").anti_affinity("app", "quorum", std::string(api::well_known::kHostnameLabel)).build().affinity;
  return PodBuilder(name).on(node).cpu(cpu).with([&](api::Pod& pod) {
    pod.meta.labels = labels;
    pod.affinity = affinity;
  });
}

struct PlanSettings {
  std::string args = "{}";
  PlanOptions options{.spend_pdbs = false, .taint_value = "p"};
  api::PerCycleLimits limits{};
};

inline Plan plan_of(const ClusterBuilder& builder, const PlanSettings& settings = {}) {
  api::DeschedulerPolicySpec policy;
  policy.strategies.push_back({"Defragmentation", settings.args});
  policy.limits.per_cycle = settings.limits;
  const PlanSpec spec(policy);
  EXPECT_THAT(spec.strategy_specs.errors, IsEmpty());
  const auto cluster = builder.build();
  return plan_cycle({.spec = spec, .cluster = *cluster, .leaving = {}, .now = kNoon, .options = settings.options});
}

inline const strategies::EmptyingReport& report_of(const Plan& plan) { return plan.strategies.at(0).emptying.value(); }

inline std::vector<std::string> moves_of(const Plan& plan) {
  std::vector<std::string> moves;
  for (const api::PlannedMove& move : plan.moves)
    moves.push_back(std::to_string(move.wave) + ": " + move.pod + " " + move.from + " > " + move.to);
  return moves;
}

/// One node full of ordinary pods and `open` nodes, each held by one pod.
inline ClusterBuilder fragmented(int open) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("full"));
  for (const char* name : {"web-1", "web-2", "web-3", "web-4"}) cluster.add(web(name, "full"));
  for (int i = 1; i <= open; ++i) {
    const std::string number = std::to_string(i);
    cluster.add(NodeBuilder("open-" + number)).add(quorum("quorum-" + number, "open-" + number));
  }
  return cluster;
}

inline ClusterBuilder three_nodes(const std::vector<PodBuilder>& pods) {
  ClusterBuilder cluster;
  cluster.add(NodeBuilder("n1")).add(NodeBuilder("n2")).add(NodeBuilder("n3"));
  for (const PodBuilder& pod : pods) cluster.add(pod);
  return cluster;
}

}  // namespace defragmentation_fixture
}  // namespace planner
