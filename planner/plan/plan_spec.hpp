#pragma once

#include <optional>

#include "api/descheduler_policy.hpp"
#include "planner/scheduling/scoring/resource_scores.hpp"
#include "planner/strategies/catalog.hpp"

namespace planner {

/// The part of a DeschedulerPolicy's spec that planning reads, with the strategies' arguments parsed. Create it once,
/// when the policy is decoded. Contains no JSON, so planning cycles parse none. Immutable and safe to share between
/// threads.
struct PlanSpec {
  explicit PlanSpec(const api::DeschedulerPolicySpec& spec);

  std::optional<api::LabelSelector> node_selector;
  api::Compatibility compatibility;
  /// From spec.scheduler. If unset, HighNodeUtilization implies a scheduler that packs, because with one that spreads
  /// it would empty nodes indefinitely.
  scheduling::NodeScoring scoring;
  std::optional<int> scheduler_minor;  ///< minor version of Kubernetes 1; if absent, that of the server
  api::Evictability evictability;
  api::PolicyLimits limits;
  api::ConvergenceSettings convergence;
  strategies::StrategySpecs strategy_specs;

  /// Returns true if decisions must equal those of upstream's descheduler, including its faults.
  bool is_upstream() const { return compatibility == api::Compatibility::kUpstream; }
};

}  // namespace planner
