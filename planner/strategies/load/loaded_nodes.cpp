#include "planner/strategies/load/loaded_nodes.hpp"

#include <algorithm>
#include <cmath>

#include "api/meta/well_known.hpp"
#include "planner/strategies/listing.hpp"

namespace strategies {
namespace {

using api::well_known::kLoadedTaint;

/// Maximum load that one cycle moves, in points of the pool's mean load. Planning for more would taint nodes
/// needlessly.
constexpr double kMaxDemand = 0.25;
constexpr double kStep = 0.5;  ///< Step of the water level

double percent_of(std::int64_t amount, std::int64_t all) {
  return all > 0 ? std::clamp(static_cast<double>(amount) / static_cast<double>(all) * 100, 0.0, 100.0) : 100;
}

}  // namespace

LoadedNodes::LoadedNodes(const StrategyContext& context, NominationSink& sink, const LoadTable& taking,
                         LoadLimits limits)
    : context_(context), sink_(sink), taking_(taking), limits_(std::move(limits)) {}

/// Fullness as scored by NodeResourcesFit.
double LoadedNodes::fullness_of(NodeIndex node) const {
  const auto percent = [&](ResourceIndex resource) {
    return percent_of(context_.cluster.scored().of(resource)[node],
                      context_.cluster.base().allocatable().column(resource)[node]);
  };
  return (percent(kCpuIndex) + percent(kMemoryIndex)) / 2;
}

/// Assumes that of each source the pod with the highest usage within the excess leaves first.
LoadedNodes::Demand LoadedNodes::demand_of(const LoadTable& giving, std::span<const NodeIndex> sources) const {
  Demand demand;
  double load = 0;
  double fullness = 0;
  const ClusterSnapshot& cluster = context_.cluster.base();
  for (const NodeIndex source : sources) {
    const double excess = std::max(worst_excess(giving.percents(source), limits_.level), 0.0);
    demand.load += excess;
    double most = 0;
    PodIndex leaving = 0;
    for (const PodIndex pod : pods_on(context_, source, PodStates::kActive)) {
      for (std::size_t r = 0; r < limits_.level.size(); ++r) {
        const double share = giving.share(pod, source, r).value_or(0);
        if (share <= most || share > excess) continue;
        most = share;
        leaving = pod;
      }
    }
    if (most <= 0) continue;
    load += most;
    const auto& scored = cluster.scored_requests(leaving);
    fullness += (percent_of(scored.cpu, cluster.allocatable().column(kCpuIndex)[source]) +
                 percent_of(scored.memory, cluster.allocatable().column(kMemoryIndex)[source])) /
                2;
  }
  if (fullness > 0) demand.per_fullness = load / fullness;
  return demand;
}

std::vector<LoadedNodes::Node> LoadedNodes::open_to_pods() const {
  std::vector<Node> nodes;
  for (const NodeIndex node : taking_.known()) {
    if (context_.cluster.base().node(node).unschedulable) continue;
    nodes.push_back({node, -worst_excess(taking_.percents(node), limits_.level), fullness_of(node), is_low(node),
                     sink_.plan().bears(kLoadedTaint, node), sink_.plan().is_taint_promised(kLoadedTaint, node)});
  }
  return nodes;
}

/// Returns the fullness up to which the scheduler fills the nodes with enough capacity, until the demand is met. If it
/// is never met, returns the level that meets most of it.
double LoadedNodes::water_level(std::span<const Node> nodes, const Demand& demand) {
  const double wanted = std::min(demand.load, kMaxDemand * static_cast<double>(nodes.size()));
  double best = 0;
  double most = 0;
  for (double level = kStep; level <= 100 && most < wanted; level += kStep) {
    double met = 0;
    for (const Node& node : nodes) {
      const double load = std::max(level - node.fullness, 0.0) * demand.per_fullness;
      if (load <= node.room && !node.is_taint_promised) met += load;
    }
    if (met <= most) continue;
    most = met;
    best = level;
  }
  return best;
}

std::size_t LoadedNodes::min_open_nodes(std::size_t nodes) const {
  return static_cast<std::size_t>(std::ceil(kMinOpen * static_cast<double>(nodes)));
}

/// Reopens first the nodes that the scheduler does not reach anyway, then those with the most free capacity.
void LoadedNodes::keep_some_open(std::vector<Node>& nodes, double water) const {
  const auto open = static_cast<std::size_t>(std::ranges::count_if(nodes, &Node::is_open));
  std::size_t missing = min_open_nodes(nodes.size()) - std::min(open, min_open_nodes(nodes.size()));
  std::vector<Node*> closed;
  for (Node& node : nodes) {
    if (node.is_avoided && !node.is_taint_promised) closed.push_back(&node);
  }
  std::ranges::stable_sort(closed, {},
                           [&](const Node* node) { return std::pair(node->fullness < water, -node->room); });
  for (Node* const node : closed) {
    if (missing-- == 0) return;
    node->is_avoided = false;
  }
}

void LoadedNodes::avoid(const LoadTable& giving, std::span<const NodeIndex> sources) {
  std::vector<Node> nodes = open_to_pods();
  const Demand demand = demand_of(giving, sources);
  const double water = water_level(nodes, demand);
  for (Node& node : nodes) {
    const double meets_it = std::max(water - node.fullness, 0.0) * demand.per_fullness;
    if (meets_it > 0)
      node.is_avoided = meets_it > node.room;
    else if (node.is_low)
      node.is_avoided = false;
  }
  keep_some_open(nodes, water);
  std::vector<NodeIndex> avoided;
  for (const Node& node : nodes) {
    if (node.is_avoided) avoided.push_back(node.node);
  }
  if (!sink_.plan().avoid(kLoadedTaint, avoided)) return;
  std::vector<NodeIndex> pool;
  for (const Node& node : nodes) pool.push_back(node.node);
  // Counts on each call, because a node that was avoided for a refused offer is open again.
  sink_.plan().avoid_competitors(kLoadedTaint, [this, pool = std::move(pool)](NodeIndex node) {
    const auto open =
        std::ranges::count_if(pool, [&](NodeIndex each) { return !context_.cluster.has_soft_taint(each); });
    return static_cast<std::size_t>(open) > min_open_nodes(pool.size()) && taking_.knows(node) && !is_low(node) &&
           !sink_.plan().is_taint_promised(kLoadedTaint, node);
  });
}

}  // namespace strategies
