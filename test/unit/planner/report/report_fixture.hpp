#pragma once

#include <string>

#include "planner/report/report.hpp"
#include "test/builders/cluster.hpp"

namespace reporting_test {

using builders::ClusterBuilder;
using builders::NodeBuilder;
using builders::PodBuilder;

inline api::PlannedMove planned(std::string pod, std::string from, std::string to, std::int32_t wave = 1) {
  api::PlannedMove move;
  move.ns = "default";
  move.pod = std::move(pod);
  move.from = std::move(from);
  move.to = std::move(to);
  move.strategy = "Defragmentation";
  move.reason = "because";
  move.wave = wave;
  return move;
}

/// Cluster of four nodes with 4 cpu and 4000 bytes each. n1 is full. One pod of n2 can move to n1 once a pod of n1 has
/// moved to n3. n3 is held by a pod of its own, n4 has only its DaemonSet pod.
inline ClusterBuilder swap_cluster() {
  ClusterBuilder cluster;
  for (const char* node : {"n1", "n2", "n3", "n4"}) {
    cluster.add(NodeBuilder(node));
    cluster.add(PodBuilder(std::string("agent-") + node).on(node).cpu(100).owned_by("DaemonSet", "agent"));
  }
  cluster.add(PodBuilder("web-1").on("n1").cpu(1900).memory(1000));
  cluster.add(PodBuilder("web-2").on("n1").cpu(2000).memory(1000));
  cluster.add(PodBuilder("quorum-1").on("n2").cpu(1000).memory(100));
  cluster.add(PodBuilder("quorum-2").on("n3").cpu(1000).memory(100));
  return cluster;
}

inline planner::Plan swap_plan() {
  planner::Plan plan;
  plan.moves = {planned("web-1", "n1", "n3", 1), planned("quorum-1", "n2", "n1", 2)};
  planner::StrategyResult& result = plan.strategies.emplace_back();
  result.strategy = "Defragmentation";
  result.emptying = strategies::EmptyingReport{
      3, 1, 1, "requests of cpu", "", {{"n3", "default", "quorum-2", "AntiAffinity", "2 of 3 refuse"}}};
  return plan;
}

inline report::Report report_of(const ClusterBuilder& cluster, const planner::Plan& plan,
                                std::string_view policy = "defragment",
                                std::vector<planner::PodIdentity> leaving = {}) {
  const auto snapshot = cluster.build();
  return report::make_report(
      {.policy = policy, .now = builders::kNoon, .plan = plan, .cluster = *snapshot, .leaving = leaving});
}

inline report::Report swap_report() { return report_of(swap_cluster(), swap_plan()); }

/// `nodes` full nodes and the same number of held nodes, half of which are freed, as after a Defragmentation.
inline report::Report large_report(int nodes) {
  ClusterBuilder cluster;
  planner::Plan plan;
  for (int i = 0; i < nodes; ++i) {
    const std::string full = "full-" + std::to_string(i), open = "open-" + std::to_string(i);
    const std::string n = std::to_string(i);
    cluster.add(NodeBuilder(full)).add(NodeBuilder(open));
    cluster.add(PodBuilder("web-" + n).on(full).cpu(3900)).add(PodBuilder("quorum-" + n).on(open).cpu(1000));
    if (i % 2 == 0) plan.moves.push_back(planned("quorum-" + n, open, full));
  }
  return report_of(cluster, plan);
}

/// Hostile name: the API server would refuse it, but a dump can contain it.
inline const std::string kHostile =
    "</script><script>alert(1)</script><!--\x1b]0;owned\x07\xe2\x80\xa8\xe2\x80\xae\"'&]]>\xff\x01";

}  // namespace reporting_test
