#include "planning/rehearsal.hpp"

#include <algorithm>

#include "scheduling/predicates.hpp"

namespace planning {

using scheduling::NodeIndex;
using scheduling::PodIndex;

Placement take_off(scheduling::Overlay& cluster, TargetPredictor& predictor, PodIndex pod, const strategies::Goal& goal,
                   TargetChoice choice) {
  using enum scheduling::OldPod;
  const auto place = [&](scheduling::OldPod old_pod) -> Placement {
    Placement foreseen = predictor.predict(cluster, pod, goal, old_pod);
    if (!foreseen.competing_node || choice == TargetChoice::kScheduler) return foreseen;
    if (const auto hinted = predictor.predict_hinted(cluster, pod, goal, old_pod)) return {hinted, {}};
    return foreseen;
  };
  Placement placement;
  const bool is_replaced = has_replacement(cluster.base(), pod);
  const bool meets_it = is_replaced && is_replaced_at_once(cluster.base(), pod);
  if (meets_it) placement = place(kStays);
  cluster.move(pod, scheduling::kNoNode);
  if (is_replaced && (!meets_it || placement.fits_nowhere)) placement = place(kGone);
  return placement;
}

bool add_soft_taint(scheduling::Overlay& cluster, std::string_view key, std::span<const NodeIndex> nodes) {
  const auto known = std::ranges::find(cluster.soft_taints(), key, &scheduling::SoftTaint::key);
  if (known == cluster.soft_taints().end()) return false;
  scheduling::SoftTaint taint = *known;
  taint.nodes.insert(taint.nodes.end(), nodes.begin(), nodes.end());
  cluster.set_soft_taint(std::move(taint));
  return true;
}

std::optional<NodeIndex> PlanRehearsal::relocate(PodIndex pod, const strategies::Goal& goal) {
  const NodeIndex from = cluster_.node_of(pod);
  const bool was_moved = cluster_.is_moved(pod);
  const Placement placement = take_off(cluster_, predictor_, pod, goal, choice_of_(pod));
  if (placement.node) {
    cluster_.move(pod, *placement.node);
    return placement.node;
  }
  was_moved ? cluster_.move(pod, from) : cluster_.restore(pod);
  return std::nullopt;
}

void PlanRehearsal::avoid(std::string_view key, std::span<const NodeIndex> nodes) {
  add_soft_taint(cluster_, key, nodes);
}

}  // namespace planning
