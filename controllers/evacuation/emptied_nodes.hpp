#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/evacuation.hpp"

namespace controllers::evacuation {

/// Key of kEvacuationsByPlan: verified Evacuations of one strategy of one policy. Empty: it is manual.
std::string plan_index_key(const api::Evacuation& evacuation);

/// Nodes that `evacuation`'s plan empties: those that `same_plan`, Evacuations with its plan_index_key(), are to leave
/// while it is there, and those left by the wave before it. A node that one of them is expected on is not emptied.
/// Pure.
std::set<std::string> emptied_nodes(const api::Evacuation& evacuation,
                                    const std::vector<std::shared_ptr<const api::Evacuation>>& same_plan);

}  // namespace controllers::evacuation
