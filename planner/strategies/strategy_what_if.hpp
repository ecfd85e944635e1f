#pragma once

#include <optional>

#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Cluster after a strategy's accepted offers: the sink's view if the sink predicts placements, otherwise a copy with
/// the pods where the strategy expects them. Keeps a reference to the context.
class StrategyWhatIf {
 public:
  explicit StrategyWhatIf(const StrategyContext& context) : context_(context) {}

  const scheduling::WhatIf& cluster() const { return copy_ ? *copy_ : context_.cluster; }

  /// Call after each accepted offer. Returns the placement of the pod: that of the sink, or `expected` if the sink does
  /// not predict.
  NodeIndex place(PodIndex pod, NodeIndex expected);

 private:
  const StrategyContext& context_;
  std::optional<scheduling::WhatIf> copy_;  ///< set once the sink did not predict
};

}  // namespace strategies
