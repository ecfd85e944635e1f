#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "cmd/offline/dump.hpp"
#include "planner/plan/planner.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace cmd {

/// Additional output of a plan.
struct PlanRemarks {
  std::string caveats{};               ///< facts missing in the plan's input, empty if none
  std::string picture{};               ///< picture of the nodes, empty if none
  std::string now_source{};            ///< origin of the time
  std::set<std::string> ended_pods{};  ///< UIDs of terminated pods, which get no replacement
  bool is_wide = false;                ///< print the score of moves that have one
};

/// Prints a human-readable plan to standard output: skipped objects and problems of the input, moves, balance, freed
/// nodes, refusals and utilization. Escapes control characters in names and messages from the cluster.
void print_tables(const api::DeschedulerPolicy& policy, const Dump& dump, const planner::Plan& plan,
                  const scheduling::InputProblems& problems, const PlanRemarks& remarks, base::TimePoint now);

/// Encodes a plan as JSON: policy, now, nodes, pods, and the lists moves, refusals, refused, strategies, balance,
/// utilization and warnings.
api::Json plan_json(const api::DeschedulerPolicy& policy, const planner::Plan& plan, base::TimePoint now);

/// Encodes problems of the input: {total, first: [{object, field, message}]}.
api::Json problems_json(const scheduling::InputProblems& problems);

}  // namespace cmd
