#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"

namespace controllers::evacuation {

/// Key of kEvacuationsByPlan: verified Evacuations of one strategy of one policy. Empty: it is manual.
std::string plan_index_key(const api::Evacuation& evacuation);

/// What the stored plan of a policy says of nodes, in all its waves.
struct PlannedNodes {
  std::set<std::string> emptied;  ///< pods are to leave them, or they have the taint of nodes that are emptied
  std::set<std::string> filled;   ///< pods are expected on them
};
/// Does a move of that strategy for that reason leave a node that is to become empty?
using EmptiesNode = std::function<bool(const std::string& strategy, const std::string& reason)>;
/// The moves of that strategy only. Does not look at taints.
PlannedNodes planned_nodes(const std::vector<api::PlannedMove>& plan, const std::string& strategy,
                           const EmptiesNode& empties_node);

/// Nodes that `evacuation`'s plan empties: those of `planned`, those that `same_plan`, Evacuations with its
/// plan_index_key(), are to leave while it is there, and those left by the wave before it. A node that pods are
/// expected on is not emptied, unless they were expected by a wave that is over, and it is emptied now. Pure.
std::set<std::string> emptied_nodes(const api::Evacuation& evacuation,
                                    const std::vector<std::shared_ptr<const api::Evacuation>>& same_plan,
                                    const PlannedNodes& planned);

}  // namespace controllers::evacuation
