#pragma once

/// Assignment of placement hints to new pods.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/webhooks/placement/review.hpp"
#include "kube/runtime/store.hpp"

namespace controllers::placement {

/// Names of the indexes that Hints uses: Evacuations whose pod is leaving, by namespace and UID of its controller; and
/// pods, by their mark.
inline constexpr std::string_view kHintsByOwner = "placementHintsByOwner";
inline constexpr std::string_view kPodsByMark = "podsByPlacementMark";
/// Returns the mark of a pod that has no annotation with it, or an empty string. Called whenever the pod changes.
using MarkOf = std::function<std::string(const api::Pod& pod)>;
void add_placement_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods, MarkOf mark_of = {});

/// Whether the pod is leaving or about to be evicted, and the hint is unused and not expired at `now`. Pure.
bool is_open(const api::Evacuation& evacuation, base::TimePoint now);

/// Returns whether the spec is the one that the operator accepted; no other spec is authorized. Computes a hash. Pure.
bool is_as_accepted(const api::Evacuation& evacuation);

/// Returns whether the node accepts new pods: Ready, not cordoned, not being deleted. Pure.
bool takes_pods(const api::Node& node);

/// Placement hints in the caches. All replicas give the same answers, and a new leader starts without further state.
/// Each hint is for one pod. The pod's annotation shows that the hint is used; until the caches show the pod, this
/// class remembers it. Two replicas that review two pods at the same instant may both use a hint; then two pods have
/// the same preference. Only the kMaxInScope oldest open hints of an owner are considered. Thread-safe.
class Hints {
 public:
  /// The stores must have the indexes of add_placement_indexes(). All references must outlive this object. `steady`
  /// measures the time since a hint was given.
  Hints(const kube::Store<api::Evacuation>& evacuations, const kube::Store<api::Pod>& pods,
        const kube::Store<api::Node>& nodes, const base::Clock& clock, const base::Clock& steady)
      : evacuations_(evacuations), pods_(pods), nodes_(nodes), clock_(clock), steady_(steady) {}

  /// Returns the oldest usable hint for the pod, or nullptr. The hint must be for the pod's namespace and controller,
  /// for a StatefulSet's pod also for its name, and for a node that accepts pods. A repeated request gets the same
  /// hint. A dry run does not use up the hint.
  std::shared_ptr<const api::Evacuation> take(const PodReview& review);

  /// Time within which a created pod appears in the caches. After it, the pod counts as rejected.
  static constexpr base::seconds kVisibleWithin{10};
  static constexpr std::size_t kMaxInScope = 64;

 private:
  struct Given {
    std::string request;  ///< UID of the review request
    base::TimePoint until;
  };
  using Found = std::vector<std::shared_ptr<const api::Evacuation>>;
  void keep_open(Found& found, const PodReview& review) const;
  bool is_usable(const api::Evacuation& evacuation, const PodReview& review) const;

  const kube::Store<api::Evacuation>& evacuations_;
  const kube::Store<api::Pod>& pods_;
  const kube::Store<api::Node>& nodes_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  std::mutex mutex_;
  std::map<std::string, Given> given_;  ///< By UID of the Evacuation; guarded by mutex_
};

}  // namespace controllers::placement
