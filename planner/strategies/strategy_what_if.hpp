#pragma once

#include <optional>

#include "planner/strategies/strategy.hpp"

namespace strategies {

/// The cluster as it would be after what a strategy offered with success: the sink's view if that predicts
/// placements, else a copy with the pods where the strategy expects them. Keeps a reference to the context.
class StrategyWhatIf {
 public:
  explicit StrategyWhatIf(const StrategyContext& context) : context_(context) {}

  const scheduling::WhatIf& cluster() const { return copy_ ? *copy_ : context_.cluster; }

  /// To be called after each accepted offer. Its result is the placement of the pod: `expected`, unless the sink says
  /// another one.
  NodeIndex place(PodIndex pod, NodeIndex expected);

 private:
  const StrategyContext& context_;
  std::optional<scheduling::WhatIf> copy_;  ///< once the sink did not say
};

}  // namespace strategies
