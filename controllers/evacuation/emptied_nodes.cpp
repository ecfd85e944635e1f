#include "controllers/evacuation/emptied_nodes.hpp"

#include "api/meta/well_known.hpp"
#include "api/origin.hpp"

namespace controllers::evacuation {
namespace {

/// Maximum time between the end of one wave of a plan and the start of the next.
constexpr base::minutes kBetweenWaves{2};

}  // namespace

std::string plan_index_key(const api::Evacuation& evacuation) {
  const std::string& policy = api::policy_of(evacuation);
  return policy.empty() ? policy : policy + "/" + evacuation.spec.source.strategy;
}

PlannedNodes planned_nodes(const std::vector<api::PlannedMove>& plan, const std::string& strategy,
                           const EmptiesNode& empties_node) {
  PlannedNodes nodes;
  for (const api::PlannedMove& move : plan) {
    if (move.strategy != strategy) continue;
    if (empties_node(move.strategy, move.reason)) nodes.emptied.insert(move.from);
    nodes.filled.insert(move.to);
  }
  return nodes;
}

std::set<std::string> emptied_nodes(const api::Evacuation& evacuation,
                                    const std::vector<std::shared_ptr<const api::Evacuation>>& same_plan,
                                    const PlannedNodes& planned) {
  const base::TimePoint since = evacuation.meta.creation_timestamp - kBetweenWaves;
  PlannedNodes now = planned;
  PlannedNodes before;
  now.emptied.insert(evacuation.spec.node_name.value);
  for (const auto& each : same_plan) {
    if (each->status.finished_at.value_or(since) < since) continue;
    PlannedNodes& nodes = each->status.finished_at ? before : now;
    nodes.emptied.insert(each->spec.node_name.value);
    nodes.filled.insert(each->meta.annotations.value(api::well_known::kPredictedTargetAnnotation));
  }
  for (const std::string& node : before.filled) before.emptied.erase(node);
  now.emptied.merge(before.emptied);
  for (const std::string& node : now.filled) now.emptied.erase(node);
  now.emptied.erase("");
  return std::move(now.emptied);
}

}  // namespace controllers::evacuation
