#pragma once

/// How the lifetime strategies go through the cluster.

#include <functional>
#include <optional>
#include <vector>

#include "strategies/criteria.hpp"
#include "strategies/listing.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// What stands in the way of a pod that meets the criteria, beside evictability.
using Objection = std::function<std::optional<scheduling::Refusal>(PodIndex pod)>;

Subject subject_of(const Context& context, PodIndex pod);

/// One strategy's way through the cluster. Keeps references to everything but the objection.
class LifeTimeListing {
 public:
  LifeTimeListing(const Context& context, NominationSink& sink, const PodScope& scope, const Criteria& criteria,
                  Objection objection);

  /// Pods of `node`, in any state, that are in scope, meet the criteria and may leave, by name. Pods that are protected
  /// are reported.
  std::vector<PodIndex> pods_on(NodeIndex node);

  /// Offers such pods of all nodes, the oldest first. A node or namespace at its limit does not end it: the next pod
  /// may be elsewhere.
  void offer_oldest_first();

 private:
  bool is_wanted(PodIndex pod);
  bool goes_nowhere(PodIndex pod);

  const Context& context_;
  NominationSink& sink_;
  scheduling::LabelQuestion in_scope_;
  const Criteria& criteria_;
  Objection objection_;
};

}  // namespace strategies
