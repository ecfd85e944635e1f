#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "scheduling/snapshot/cluster_snapshot.hpp"

namespace scheduling {

/// A question about namespace and labels, asked once for all pods of a snapshot that share them: not even the pod's
/// object is looked at for the others, and in a big cluster that is what costs.
class CachedSelector {
 public:
  /// `ask` must look at nothing else of the pod. Keeps a reference to the snapshot.
  CachedSelector(const ClusterSnapshot& cluster, std::function<bool(const api::Pod&)> ask)
      : cluster_(cluster), ask_(std::move(ask)) {}

  bool operator()(PodIndex pod) {
    const std::uint32_t group = cluster_.label_group_of(pod);
    if (group >= answers_.size()) answers_.resize(group + 1, Answer::kUnknown);
    Answer& answer = answers_[group];
    if (answer == Answer::kUnknown) answer = ask_(cluster_.pod(pod)) ? Answer::kYes : Answer::kNo;
    return answer == Answer::kYes;
  }

 private:
  enum class Answer : std::uint8_t { kUnknown, kYes, kNo };

  const ClusterSnapshot& cluster_;
  std::function<bool(const api::Pod&)> ask_;
  std::vector<Answer> answers_;  ///< by label group
};

}  // namespace scheduling
