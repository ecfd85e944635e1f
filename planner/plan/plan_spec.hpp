#pragma once

#include <optional>

#include "api/descheduler_policy.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "planner/strategies/catalog.hpp"

namespace planning {

/// What planning reads of a DeschedulerPolicy's spec, with the arguments of the strategies parsed. Make it once, when
/// the policy is decoded. It holds no JSON, so a planning cycle cannot parse any. Nothing in it changes: safe to share
/// between threads.
struct PlanSpec {
  explicit PlanSpec(const api::DeschedulerPolicySpec& spec);

  std::optional<api::LabelSelector> node_selector;
  api::Compatibility compatibility;
  /// spec.scheduler. Unless that says, HighNodeUtilization is for clusters whose scheduler packs: with one that spreads
  /// it would empty nodes indefinitely.
  scheduling::NodeScoring scoring;
  std::optional<int> scheduler_minor;  ///< of Kubernetes 1; absent: the server's
  api::Evictability evictability;
  api::PolicyLimits limits;
  api::ConvergenceSettings convergence;
  strategies::StrategySpecs strategy_specs;

  /// Decide as upstream's descheduler does, faults included.
  bool is_upstream() const { return compatibility == api::Compatibility::kUpstream; }
};

}  // namespace planning
