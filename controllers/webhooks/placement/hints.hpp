#pragma once

/// Which Evacuation's placement hint a new pod is given.

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

/// Names of the indexes that Hints asks: Evacuations whose pod leaves, by namespace and UID of its controller; pods, by
/// the mark that they bear.
inline constexpr std::string_view kHintsByOwner = "placementHintsByOwner";
inline constexpr std::string_view kPodsByMark = "podsByPlacementMark";
/// `mark_of` tells the mark of a pod that does not bear it itself, or ""; it is asked whenever the pod changes.
using MarkOf = std::function<std::string(const api::Pod& pod)>;
void add_placement_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods, MarkOf mark_of = {});

/// Its pod is on its way out, or is about to be asked to go, and its hint is untaken and not expired at `now`. Pure.
bool is_open(const api::Evacuation& evacuation, base::TimePoint now);

/// Its spec is what the operator accepted, which is what it is allowed to do. Takes a hash. Pure.
bool is_as_accepted(const api::Evacuation& evacuation);

/// A pod may be sent there: Ready, not cordoned, not on its way out. Pure.
bool takes_pods(const api::Node& node);

/// The hints as the caches know them, so that every replica answers alike and a new leader needs to learn nothing. One
/// hint is for one pod: who took it shows on the pod, and for as long as the caches need to bring that it is remembered
/// here. Two replicas that are asked about two pods at the same instant may both give it away: then two pods have the
/// same preference. Thread-safe. Of the open hints of one owner the kMaxInScope oldest are looked at.
class Hints {
 public:
  /// The stores have add_placement_indexes(); all references must outlive it. `steady` measures how long ago a hint was
  /// given.
  Hints(const kube::Store<api::Evacuation>& evacuations, const kube::Store<api::Pod>& pods,
        const kube::Store<api::Node>& nodes, const base::Clock& clock, const base::Clock& steady)
      : evacuations_(evacuations), pods_(pods), nodes_(nodes), clock_(clock), steady_(steady) {}

  /// The hint for that pod: of its namespace and its controller, for a StatefulSet's pod also of its name; the oldest
  /// first. Only for a node that takes pods. The same request gets the same answer again. A dry run takes nothing.
  /// nullptr: there is none.
  std::shared_ptr<const api::Evacuation> take(const PodReview& review);

  /// A pod that was created shows in the caches within this time, or was refused after all.
  static constexpr base::seconds kShowsWithin{10};
  static constexpr std::size_t kMaxInScope = 64;

 private:
  struct Given {
    std::string request;  ///< UID
    base::TimePoint until;
  };
  using Found = std::vector<std::shared_ptr<const api::Evacuation>>;
  void keep_open(Found& found, const PodReview& review) const;
  bool is_given_to_another(const api::Evacuation& evacuation, const PodReview& review) const;
  bool is_usable(const api::Evacuation& evacuation, const PodReview& review) const;
  void forget_old();

  const kube::Store<api::Evacuation>& evacuations_;
  const kube::Store<api::Pod>& pods_;
  const kube::Store<api::Node>& nodes_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  std::mutex mutex_;
  std::map<std::string, Given> given_;  ///< by UID of the Evacuation; guarded by mutex_
};

}  // namespace controllers::placement
