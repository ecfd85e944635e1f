#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "planner/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// Predicate on a pod's namespace and labels, evaluated once per set of pods that share both. The objects of the other
/// pods are not read, which saves most of the time in a large cluster.
class CachedSelector {
 public:
  /// `predicate` must depend only on the pod's namespace and labels. Keeps a reference to the snapshot.
  CachedSelector(const ClusterSnapshot& cluster, std::function<bool(const api::Pod&)> predicate)
      : cluster_(cluster), predicate_(std::move(predicate)) {}

  bool operator()(PodIndex pod) {
    const std::uint32_t group = cluster_.label_group_of(pod);
    if (group >= matches_.size()) matches_.resize(group + 1, Match::kUnknown);
    Match& match = matches_[group];
    if (match == Match::kUnknown) match = predicate_(cluster_.pod(pod)) ? Match::kYes : Match::kNo;
    return match == Match::kYes;
  }

 private:
  enum class Match : std::uint8_t { kUnknown, kYes, kNo };

  const ClusterSnapshot& cluster_;
  std::function<bool(const api::Pod&)> predicate_;
  std::vector<Match> matches_;  ///< indexed by label group
};

}  // namespace scheduling
