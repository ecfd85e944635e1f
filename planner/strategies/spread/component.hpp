#pragma once

#include <vector>

#include "planner/snapshot/cached_selector.hpp"
#include "planner/strategies/listing.hpp"
#include "planner/strategies/spread/remove_pods_violating_topology_spread_constraint.hpp"
#include "planner/strategies/spread/spread_tree.hpp"
#include "planner/strategies/spread/state.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// State shared by all components of a run.
struct SpreadRun {
  const StrategyContext& context;
  NominationSink& sink;
  const SpreadArgs& args;
  scheduling::CachedSelector in_scope;
  StrategyWhatIf what_if;
  std::vector<bool> looked_at;  ///< indexed by node
  std::vector<bool> full;       ///< indexed by node: per-node limit reached
  bool is_stopped = false;      ///< total limit reached
};

/// Rules that count the same pods.
struct SpreadMembers {
  std::vector<SpreadState*> states;
  std::vector<PodIndex> pods;
  std::int64_t pending = 0;  ///< further pods without a node
};

/// Rules of one namespace that share pods, directly or through other rules.
using SpreadComponent = std::vector<SpreadMembers>;

/// Returns, per node, the pods of a group and the capacity for further pods of any of its request sets, by all filters
/// of the scheduler except topology spread. Nodes excluded by a DoNotSchedule rule have no capacity. No pod is marked
/// movable. Without `node_fit`, all other nodes have unlimited capacity.
std::vector<NodePods> pods_and_capacity(const StrategyContext& context, const SpreadMembers& members, bool node_fit);

/// Offers pods until all rules of the component hold, or no move that the scheduler allows brings that nearer. Each
/// move shortens the distance (SpreadDistance) of all rules that count the pod; where all rules count the same pods and
/// their domains are nested, the distance is the fewest moves that are left. The scheduler's filter lets the
/// replacement in with the pods of that moment. No move leads to a state in which a rule is broken and the filter has
/// no node for a further pod. Where pods stay above limits because the scheduler prefers other nodes, a second pass
/// offers these pods again and also accepts a node that lowers the number of pods above limits while the distance
/// stays. Each pod moves at most once and is offered at most once per pass. Lowest eviction rank first, then from the
/// fullest domains. A move costs O(pods + nodes * rules).
void even_out(SpreadRun& run, const SpreadComponent& component);

}  // namespace strategies
