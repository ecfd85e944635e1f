#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/snapshot/cached_selector.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Nominates pods on nodes whose taints they do not tolerate (upstream-semantics.md#node-taints).
class RemovePodsViolatingNodeTaints final : public Strategy {
 public:
  static constexpr std::string_view kName = "RemovePodsViolatingNodeTaints";

  struct Args {
    PodScope scope;
    bool include_prefer_no_schedule = false;
    std::vector<std::string> excluded;                 ///< "key" or "key=value"
    std::optional<std::vector<std::string>> included;  ///< nullopt means all; empty means none
    friend bool operator==(const Args&, const Args&) = default;

    /// Errors are added to the errors of `args`.
    static Args read(api::StrictObject& args);
  };

  explicit RemovePodsViolatingNodeTaints(Args args) : args_(std::move(args)) {}
  std::string_view name() const override { return kName; }
  StrategyPhase phase() const override { return StrategyPhase::kDeschedule; }
  base::Status nominate(const StrategyContext& context, NominationSink& sink) const override;

 private:
  using IsConsidered = bool (RemovePodsViolatingNodeTaints::*)(const api::Taint& taint) const;

  bool is_considered(const api::Taint& taint) const;
  bool is_considered_upstream(const api::Taint& taint) const;
  bool is_chosen(const api::Taint& taint) const;
  /// Returns the node's first considered taint that the pod does not tolerate, or nullptr.
  const api::Taint* violation(const api::Pod& pod, const api::Node& node, IsConsidered considered) const;
  std::vector<PodIndex> violating_pods_on(NodeIndex node, IsConsidered considered, scheduling::CachedSelector& in_scope,
                                          const StrategyContext& context, NominationSink& sink) const;
  /// Nominates the lowest priority first, and only for a node without such a taint.
  void clear_nodes(const StrategyContext& context, NominationSink& sink) const;
  /// Nominates in the order of the listing, for any destination.
  void clear_nodes_upstream(const StrategyContext& context, NominationSink& sink) const;

  Args args_;
};

}  // namespace strategies
