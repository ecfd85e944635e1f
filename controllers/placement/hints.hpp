#pragma once

/// Which Evacuation's placement hint a new pod is given.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "base/clock.hpp"
#include "controllers/placement/review.hpp"
#include "kube/runtime/store.hpp"

namespace controllers::placement {

/// Names of the indexes that Hints asks: Evacuations whose pod leaves, by namespace and UID of its controller; pods, by
/// the mark that they bear.
inline constexpr std::string_view kHintsByOwner = "placementHintsByOwner";
inline constexpr std::string_view kPodsByMark = "podsByPlacementMark";
void add_placement_indexes(kube::Store<api::Evacuation>& evacuations, kube::Store<api::Pod>& pods);

/// Its pod is on its way out, or is about to be asked to go, and its hint is as it was accepted, untaken and not
/// expired at `now`. Pure.
bool is_open(const api::Evacuation& evacuation, base::TimePoint now);

/// The hints as the caches know them, so that every replica answers alike and a new leader needs to learn nothing. One
/// hint is for one pod: who took it shows on the pod, and for as long as the caches need to bring that it is remembered
/// here. Two replicas that are asked about two pods at the same instant may both give it away: then two pods have the
/// same preference. Thread-safe; takes time by the number of hints that are open for one owner, which the slots bound.
class Hints {
 public:
  /// The stores have add_placement_indexes(); all references must outlive it. `steady` measures how long ago a hint was
  /// given.
  Hints(const kube::Store<api::Evacuation>& evacuations, const kube::Store<api::Pod>& pods, const base::Clock& clock,
        const base::Clock& steady)
      : evacuations_(evacuations), pods_(pods), clock_(clock), steady_(steady) {}

  /// The hint for that pod: of its namespace and its controller, for a StatefulSet's pod also of its name; the oldest
  /// first. The same request gets the same answer again. A dry run takes nothing. nullptr: there is none.
  std::shared_ptr<const api::Evacuation> take(const PodReview& review);

  /// A pod that was created shows in the caches within this time, or was refused after all.
  static constexpr base::seconds kShowsWithin{10};

 private:
  struct Given {
    std::string request;  ///< UID
    base::TimePoint until;
  };
  bool is_free(const api::Evacuation& evacuation, const PodReview& review) const;
  void forget_old();

  const kube::Store<api::Evacuation>& evacuations_;
  const kube::Store<api::Pod>& pods_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  std::mutex mutex_;
  std::map<std::string, Given> given_;  ///< by UID of the Evacuation; guarded by mutex_
};

}  // namespace controllers::placement
