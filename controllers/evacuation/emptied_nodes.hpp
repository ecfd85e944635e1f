#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/descheduler_policy.hpp"
#include "api/evacuation.hpp"

namespace controllers::evacuation {

/// Key of kEvacuationsByPlan: verified Evacuations of one strategy of one policy. Empty for a manual Evacuation.
std::string plan_index_key(const api::Evacuation& evacuation);

/// Nodes in the stored plan of a policy, over all waves.
struct PlannedNodes {
  std::set<std::string> emptied;  ///< nodes that pods leave so that they become empty
  std::set<std::string> filled;   ///< nodes that pods are expected on
};
/// Returns whether a move of `strategy` for `reason` leaves a node that is to become empty.
using EmptiesNode = std::function<bool(const std::string& strategy, const std::string& reason)>;
/// Considers the moves of `strategy` only; ignores taints.
PlannedNodes planned_nodes(const std::vector<api::PlannedMove>& plan, const std::string& strategy,
                           const EmptiesNode& empties_node);

/// Nodes that `evacuation`'s plan empties: those in `planned`; those that `same_plan` (Evacuations with the same
/// plan_index_key()) leaves concurrently; and those that the previous wave left. A node on which pods are expected is
/// excluded, unless only a finished wave expected them and the node is emptied now. Pure.
std::set<std::string> emptied_nodes(const api::Evacuation& evacuation,
                                    const std::vector<std::shared_ptr<const api::Evacuation>>& same_plan,
                                    const PlannedNodes& planned);

}  // namespace controllers::evacuation
