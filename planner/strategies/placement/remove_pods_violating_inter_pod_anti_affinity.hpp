#pragma once

#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods until no two pods of the cluster violate a required anti-affinity, as far as pods may leave
/// (upstream-semantics.md#anti-affinity). Either side of a conflict may leave, the lowest priority first, for a node
/// where it violates none. Considers namespaceSelector, matchLabelKeys and mismatchLabelKeys.
struct RemovePodsViolatingInterPodAntiAffinity {
  static constexpr std::string_view kName = "RemovePodsViolatingInterPodAntiAffinity";
  static constexpr StrategyPhase kPhase = StrategyPhase::kDeschedule;

  PodScope scope;  ///< Scope of victims; in upstream mode also of the pods that they conflict with

  static RemovePodsViolatingInterPodAntiAffinity read(api::StrictObject& args) { return {read_scope(args)}; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const;
};

/// Upstream's selection: only the pod with the term leaves, both sides are in `scope`, and pods with the same name
/// never conflict.
void resolve_anti_affinity_upstream(const StrategyContext& context, NominationSink& sink, const PodScope& scope);

}  // namespace strategies
