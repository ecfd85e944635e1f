#include "planner/plan/planned_placement.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>

#include "api/core/pvc_risk.hpp"
#include "api/core/terms/pod_bounds.hpp"
#include "planner/scheduling/predicates.hpp"

namespace planner {
namespace {

/// Maximum number of pending pods for which a node is predicted. Enough for any working scheduler, and keeps cycles
/// short.
constexpr std::size_t kMaxPending = 200;
/// Maximum sum of cost_of() over pending pods. 200 typical pods cost less; of pods with 256 terms each only a few fit.
constexpr std::size_t kMaxPendingCost = 2000;

std::int32_t priority_of(const ClusterSnapshot& cluster, PodIndex pod) { return cluster.pod(pod).priority.value_or(0); }

bool waits_for_a_node(const ClusterSnapshot& cluster, PodIndex pod) {
  const api::Pod& object = cluster.pod(pod);
  return cluster.is_staying(pod) && object.node_name.empty() && !object.has_scheduling_gates &&
         object.oversized.empty();
}

/// Maximum cost of a pod that takes capacity freed by moves. Each move would require a prediction for it.
constexpr std::size_t kMaxWaitingCost = 16;
/// Maximum sum of cost_of() over pods of one namespace that are checked after one move without fitting.
constexpr std::size_t kMaxCostOfMove = 32;

/// Selects pods within both bounds, taking namespaces in turn so that none crowds out the others. `queue` is in the
/// scheduler's order, and so is the result.
std::vector<PodIndex> chosen_from(const ClusterSnapshot& cluster, const std::vector<PodIndex>& queue) {
  // Per pod: its rank in its namespace, its position in the queue.
  std::vector<std::pair<std::size_t, std::size_t>> turns;
  std::unordered_map<scheduling::NamespaceIndex, std::size_t> next_write;
  for (std::size_t place = 0; place < queue.size(); ++place)
    turns.emplace_back(next_write[cluster.namespace_of(queue[place])]++, place);
  std::ranges::sort(turns);
  std::vector<std::size_t> places;
  std::size_t cost = 0;
  for (const auto& [turn, place] : turns) {
    if (places.size() == kMaxPending) break;
    const std::size_t own_cost = cost_of(cluster.pod(queue[place]));
    if (cost + own_cost > kMaxPendingCost) continue;
    cost += own_cost;
    places.push_back(place);
  }
  std::ranges::sort(places);
  std::vector<PodIndex> chosen;
  for (const std::size_t place : places) chosen.push_back(queue[place]);
  return chosen;
}

/// Returns pending pods in the order of the scheduler's queue: by priority, then by age.
std::vector<PodIndex> pending_pods(const ClusterSnapshot& cluster) {
  std::vector<PodIndex> pods;
  for (const PodIndex pod : cluster.unscheduled_pods()) {
    if (waits_for_a_node(cluster, pod)) pods.push_back(pod);
  }
  std::ranges::sort(pods, {}, [&](PodIndex pod) {
    return std::tuple(-std::int64_t{priority_of(cluster, pod)}, cluster.created_at(pod), pod);
  });
  return chosen_from(cluster, pods);
}

bool has_free_capacity(const WhatIf& cluster, PodIndex pod, NodeIndex node) {
  return std::ranges::all_of(cluster.base().requests(pod),
                             [&](const auto& request) { return request.second <= cluster.free(node, request.first); });
}

}  // namespace

std::size_t cost_of(const api::Pod& pod) {
  const auto claims = static_cast<std::size_t>(std::ranges::count_if(pod.volumes, api::uses_claim));
  const std::size_t terms =
      pod.affinity ? api::pod_term_weight(*pod.affinity) + api::node_term_weight(*pod.affinity) : 0;
  return 1 + terms + pod.topology_spread.size() + pod.tolerations.size() / 16 + claims;
}

void PendingPods::place(WhatIf& cluster, TargetPredictor& predictor, const std::function<void()>& heartbeat) {
  const ClusterSnapshot& base = cluster.base();
  for (const PodIndex pod : pending_pods(base)) {
    if (heartbeat) heartbeat();
    if (const auto nominated = base.find_node(base.pod(pod).nominated_node.value)) {
      nominated_.push_back({pod, *nominated, priority_of(base, pod)});
      cluster.move(pod, *nominated);
    } else if (const auto node = predictor.predict(cluster, pod).node) {
      cluster.move(pod, *node);
    } else if (cost_of(base.pod(pod)) <= kMaxWaitingCost) {
      waiting_.push_back({pod});
    }
  }
}

void PendingPods::free_capacity_for(WhatIf& cluster, PodIndex pod) {
  const std::int32_t priority = priority_of(cluster.base(), pod);
  for (Nominated& each : nominated_) {
    if (each.priority >= priority || each.pod == pod) continue;
    cluster.move(each.pod, scheduling::kNoNode);
    each.is_off = true;
  }
}

void PendingPods::settle(WhatIf& cluster) {
  for (Nominated& each : nominated_) {
    if (each.is_off) cluster.move(each.pod, each.node);
    each.is_off = false;
  }
}

void PendingPods::take_capacity(WhatIf& cluster, PodIndex pod, NodeIndex node, std::int32_t least_priority) {
  if (node == scheduling::kNoNode) return;
  const ClusterSnapshot& base = cluster.base();
  std::set<std::array<std::uint32_t, 3>> hopeless;  // by owner, labels and requests, which siblings share
  std::unordered_map<scheduling::NamespaceIndex, std::size_t> spent;
  for (Waiting& each : waiting_) {
    if (each.instead_of != scheduling::kNoPod || priority_of(base, each.pod) < least_priority) continue;
    const auto owner = base.owner_of(each.pod);
    const std::array kind = {owner.value_or(0), base.label_group_of(each.pod), base.request_set_of(each.pod)};
    if (!has_free_capacity(cluster, each.pod, node) || (owner && hopeless.contains(kind))) continue;
    std::size_t& cost = spent[base.namespace_of(each.pod)];
    if (cost >= kMaxCostOfMove) continue;
    if (cluster.fit_query(each.pod, scheduling::FitLevel::kScheduler)->fits(node)) {
      cluster.move(each.pod, node);
      each.instead_of = pod;
      continue;
    }
    cost += cost_of(base.pod(each.pod));
    if (owner) hopeless.insert(kind);
  }
}

void PendingPods::give_back(WhatIf& cluster, PodIndex pod) {
  for (Waiting& each : waiting_) {
    if (each.instead_of != pod) continue;
    cluster.restore(each.pod);
    each.instead_of = scheduling::kNoPod;
  }
}

/// Capacity freed by the pod first goes to pending pods of the same or higher priority if the replacement is created
/// only after the pod is gone.
Placement predict_replacement(WhatIf& cluster, TargetPredictor& predictor, PodIndex pod, PendingPods& pending,
                              const Goal& goal, TargetChoice choice) {
  using enum scheduling::OldPod;
  const auto place = [&](scheduling::OldPod old_pod) -> Placement {
    Placement foreseen = predictor.predict(cluster, pod, goal, old_pod);
    if (!foreseen.competing_node || choice == TargetChoice::kScheduler) return foreseen;
    if (const auto hinted = predictor.predict_hinted(cluster, pod, goal, old_pod)) return {hinted, {}};
    return foreseen;
  };
  Placement placement;
  const NodeIndex from = cluster.node_of(pod);
  const bool is_replaced = has_replacement(cluster.base(), pod);
  const bool meets_it = is_replaced && is_replaced_at_once(cluster.base(), pod);
  pending.free_capacity_for(cluster, pod);
  if (meets_it) placement = place(kStays);
  cluster.move(pod, scheduling::kNoNode);
  if (is_replaced && (!meets_it || placement.fits_nowhere)) {
    pending.take_capacity(cluster, pod, from, priority_of(cluster.base(), pod));
    placement = place(kGone);
  }
  pending.settle(cluster);
  return placement;
}

bool add_soft_taint(WhatIf& cluster, std::string_view key, std::span<const NodeIndex> nodes) {
  const auto known = std::ranges::find(cluster.soft_taints(), key, &scheduling::SoftTaint::key);
  if (known == cluster.soft_taints().end()) return false;
  scheduling::SoftTaint taint = *known;
  taint.nodes.insert(taint.nodes.end(), nodes.begin(), nodes.end());
  cluster.set_soft_taint(std::move(taint));
  return true;
}

std::optional<NodeIndex> PlannedPlacement::relocate(PodIndex pod, const Goal& goal) {
  const NodeIndex from = cluster_.node_of(pod);
  const bool was_moved = cluster_.is_moved(pod);
  const Placement placement = predict_replacement(cluster_, predictor_, pod, pending_, goal, choice_of_(pod));
  if (placement.node) {
    cluster_.move(pod, *placement.node);
    pending_.take_capacity(cluster_, pod, from);
    return placement.node;
  }
  pending_.give_back(cluster_, pod);
  was_moved ? cluster_.move(pod, from) : cluster_.restore(pod);
  return std::nullopt;
}

void PlannedPlacement::restore(PodIndex pod) {
  pending_.give_back(cluster_, pod);
  cluster_.restore(pod);
}

void PlannedPlacement::avoid(std::string_view key, std::span<const NodeIndex> nodes) {
  add_soft_taint(cluster_, key, nodes);
}

}  // namespace planner
