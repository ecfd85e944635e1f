#pragma once

#include <set>
#include <string>

#include "api/descheduler_policy.hpp"
#include "base/clock.hpp"
#include "cmd/offline/dump.hpp"
#include "planner/plan/planner.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace cmd {

/// What is printed with a plan.
struct PlanRemarks {
  std::string caveats{};               ///< what the plan does not know; "": nothing
  std::string picture{};               ///< of the nodes; "": none
  std::string now_source{};            ///< where the time comes from
  std::set<std::string> ended_pods{};  ///< by UID: nothing takes their place when they leave
  bool is_wide = false;                ///< with the score of each move, where moves have one
};

/// Prints a plan for people, to standard output: what was passed over or is wrong with the input, moves, balance, freed
/// nodes, refusals and utilization. Names and messages of the cluster do not steer the terminal.
void print_tables(const api::DeschedulerPolicy& policy, const Dump& dump, const planning::Plan& plan,
                  const scheduling::InputProblems& problems, const PlanRemarks& remarks, base::TimePoint now);

}  // namespace cmd
