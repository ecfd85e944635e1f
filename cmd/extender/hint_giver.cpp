#include "cmd/extender/hint_giver.hpp"

#include <algorithm>

namespace cmd {

namespace placement = controllers::placement;

HintAssigner::HintAssigner(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods,
                           const kube::Store<api::Node>& nodes, const base::Clock& clock, const base::Clock& steady)
    : steady_(steady), hints_(evacuations, pods, nodes, clock, steady) {
  placement::add_placement_indexes(evacuations, pods, [this](const api::Pod& pod) { return mark_of(pod); });
}

std::optional<extender::PodHint> HintAssigner::hint_for(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.meta.controller();
  if (owner == nullptr || pod.meta.uid.empty()) return std::nullopt;
  placement::PodReview review;
  review.uid = pod.meta.uid;
  review.ns = pod.meta.ns;
  review.pod_name = pod.meta.name;
  review.owner = *owner;
  review.creates_pod = true;
  const auto evacuation = hints_.take(review);
  if (!evacuation) return std::nullopt;
  remember(pod.meta.uid, api::placement_mark(*evacuation));
  const api::PlacementHint& hint = *evacuation->spec.placement;
  return extender::PodHint{.node = hint.node_name.value,
                           .is_required = hint.policy == api::PlacementPolicy::kRequired,
                           .evacuation = evacuation->meta.key().to_string()};
}

/// Returns the mark of the hint assigned to a pod with a node. A pod without a node may have to ask again, so it has no
/// mark.
std::string HintAssigner::mark_of(const api::Pod& pod) const {
  if (pod.node_name.empty()) return {};
  const std::scoped_lock lock(mutex_);
  const auto given = given_.find(pod.meta.uid);
  return given == given_.end() ? std::string() : given->second.mark;
}

void HintAssigner::remember(const std::string& pod_uid, std::string mark) {
  const std::scoped_lock lock(mutex_);
  const base::TimePoint now = steady_.now();
  if (given_.size() >= kMaxRemembered)
    std::erase_if(given_, [&](const auto& each) { return each.second.until <= now; });
  if (given_.size() < kMaxRemembered) given_[pod_uid] = {std::move(mark), now + kRemembered};
}

}  // namespace cmd
