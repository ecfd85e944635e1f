#pragma once

#include "planner/scheduling/predicates.hpp"

namespace scheduling {

/// Checks one pod against one node. Returns nullopt if the pod fits.
inline std::optional<Refusal> first_refusal(const WhatIf& cluster, PodIndex pod, NodeIndex node, FitLevel level) {
  return FitQuery(cluster, pod, level).refusal(node);
}

}  // namespace scheduling
