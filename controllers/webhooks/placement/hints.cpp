#include "controllers/webhooks/placement/hints.hpp"

#include <algorithm>
#include <tuple>

#include "api/meta/well_known.hpp"
#include "controllers/evacuation/origin/spec_hash.hpp"

namespace controllers::placement {
namespace {

using api::EvacuationPhase;

std::string owner_key(std::string_view ns, std::string_view owner_uid) {
  return std::string(ns).append("/").append(owner_uid);
}

/// Returns whether the eviction is recorded or done, or the pod's owner is handling it.
bool is_leaving(const api::EvacuationStatus& status) {
  switch (status.phase) {
    case EvacuationPhase::kRequesting: return status.intent && !status.intent->resolved;
    case EvacuationPhase::kInProgress:
    case EvacuationPhase::kEvicting:
    case EvacuationPhase::kVerifying: return true;
    case EvacuationPhase::kPending:
    case EvacuationPhase::kPreparing:
    case EvacuationPhase::kAborting:
    case EvacuationPhase::kBackoff:
    case EvacuationPhase::kSucceeded:
    case EvacuationPhase::kFailed:
    case EvacuationPhase::kCancelled: return false;
  }
  return false;
}

/// A StatefulSet recreates a pod with the same name; other controllers choose new names.
bool is_meant_for(const api::Evacuation& evacuation, const PodReview& review) {
  if (review.owner.kind != "StatefulSet") return true;
  return review.pod_name == evacuation.spec.pod_ref.name;
}

}  // namespace

void add_placement_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods, MarkOf mark_of) {
  evacuations.add_index(std::string(kHintsByOwner), [](const api::Evacuation& each) -> std::vector<std::string> {
    const auto& owner = each.status.pod_owner;
    if (!each.spec.placement || !owner || !is_leaving(each.status)) return {};
    return {owner_key(each.meta.ns, owner->uid)};
  });
  pods.add_index(std::string(kPodsByMark), [mark_of](const api::Pod& each) -> std::vector<std::string> {
    const std::string* borne = each.meta.annotations.find(api::well_known::kPlacementAnnotation);
    const std::string mark = borne != nullptr ? *borne : mark_of ? mark_of(each) : std::string();
    if (mark.empty()) return {};
    return {owner_key(each.meta.ns, mark)};
  });
}

bool is_open(const api::Evacuation& evacuation, base::TimePoint now) {
  const api::EvacuationStatus& status = evacuation.status;
  if (!evacuation.spec.placement || evacuation.spec.dry_run || status.placement || !is_leaving(status)) return false;
  if (!status.started_at || now >= *status.started_at + evacuation.spec.placement->expires_after) return false;
  return evacuation.spec_problem.empty() && !status.spec_hash.empty();
}

bool is_as_accepted(const api::Evacuation& evacuation) {
  return has_spec_hash(evacuation.spec, evacuation.status.spec_hash);
}

bool takes_pods(const api::Node& node) { return node.is_ready() && !node.unschedulable && !node.meta.is_terminating(); }

std::shared_ptr<const api::Evacuation> Hints::take(const PodReview& review) {
  if (review.owner.uid.empty()) return nullptr;
  Found found = evacuations_.by_index(kHintsByOwner, owner_key(review.ns, review.owner.uid));
  if (found.empty()) return nullptr;
  const std::scoped_lock lock(mutex_);
  std::erase_if(given_, [now = steady_.now()](const auto& each) { return each.second.until <= now; });
  keep_open(found, review);
  const auto usable = std::ranges::find_if(found, [&](const auto& each) { return is_usable(*each, review); });
  if (usable == found.end()) return nullptr;
  if (!review.dry_run) given_[(*usable)->meta.uid] = {review.uid, steady_.now() + kVisibleWithin};
  return *usable;
}

/// Keeps the oldest open hints for the pod, in order. REQUIRES: mutex_ held.
void Hints::keep_open(Found& found, const PodReview& review) const {
  const base::TimePoint now = clock_.now();
  std::erase_if(found, [&](const auto& each) {
    const auto given = given_.find(each->meta.uid);
    const bool is_given_to_another = given != given_.end() && given->second.request != review.uid;
    return is_given_to_another || !is_meant_for(*each, review) || !is_open(*each, now);
  });
  std::ranges::sort(found, {}, [](const auto& each) {
    return std::tuple(each->status.started_at.value_or(base::TimePoint()), std::string_view(each->meta.name));
  });
  if (found.size() > kMaxInScope) found.resize(kMaxInScope);
}

/// REQUIRES: mutex_ held.
bool Hints::is_usable(const api::Evacuation& evacuation, const PodReview& review) const {
  const auto node = nodes_.get({"", evacuation.spec.placement->node_name.value});
  if (!node || !takes_pods(*node)) return false;
  const auto marked = pods_.by_index(kPodsByMark, owner_key(evacuation.meta.ns, api::placement_mark(evacuation)));
  const bool is_taken = !given_.contains(evacuation.meta.uid) && std::ranges::any_of(marked, [&](const auto& pod) {
    const auto* owner = pod->meta.controller();
    return owner != nullptr && owner->uid == review.owner.uid;
  });
  return !is_taken && is_as_accepted(evacuation);
}

}  // namespace controllers::placement
