#pragma once

/// Helpers for strategies that iterate over the cluster node by node and offer pods one by one.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/snapshot/cached_selector.hpp"
#include "planner/strategies/common_args.hpp"
#include "planner/strategies/strategy.hpp"

namespace strategies {

/// Pods of a node that a strategy considers. Pods that already move are always excluded.
enum class PodStates { kActive, kAll };
std::vector<PodIndex> pods_on(const StrategyContext& context, NodeIndex node, PodStates states);

/// Selects the pods of the cluster that the scope includes. Keeps references to both arguments.
scheduling::CachedSelector pods_in(const PodScope& scope, const StrategyContext& context);

/// Returns the pod's required node affinity, or nullptr if it has none.
const std::vector<api::NodeSelectorTerm>* required_terms(const api::Pod& pod);
bool have_same_required_terms(const api::Pod& a, const api::Pod& b);

/// Returns, by index, whether each node is in scope.
std::vector<bool> nodes_in_scope(const StrategyContext& context);

/// Returns the first position among `count` ones, from `first` on and around the end, that `accepts` accepts.
template <typename F>
std::optional<std::size_t> find_around(std::size_t count, std::size_t first, F&& accepts) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (first + i) % count;
    if (accepts(at)) return at;
  }
  return std::nullopt;
}

/// Reason of refusals after NominationSink::is_out_of_time().
inline constexpr Refusal kCycleTimeout{
    "CycleTimeout", "the cycle has spent its time, or the namespace its share: the next cycle evaluates it"};

/// Returns why the first evictability filter or the cycle's time keeps the pod, or nullopt if both let it go. Does not
/// report the refusal.
std::optional<Refusal> protection_refusal(const StrategyContext& context, NominationSink& sink, PodIndex pod);
/// Returns why the second evictability filter (EvictabilityRules::refusal_before_eviction()) or the cycle's time keeps
/// the pod, or nullopt if both let it go. Does not report the refusal.
std::optional<Refusal> last_protection_of(const StrategyContext& context, NominationSink& sink, PodIndex pod);
/// Returns a refusal if evictableNamespaces.exclude, `excluded`, names the pod's namespace.
std::optional<Refusal> refusal_of_namespace(const std::vector<std::string>& excluded, const api::Pod& pod);

/// Reports the refusal of the pod to the sink. Returns false if there is none.
bool is_refused(NominationSink& sink, PodIndex pod, const std::optional<Refusal>& refusal);
/// Returns true if both evictability filters let the pod go. Otherwise reports the refusal.
bool may_leave(const StrategyContext& context, NominationSink& sink, PodIndex pod);
/// Returns true if the cycle has time for the pod. Otherwise reports the refusal.
bool has_time_for(NominationSink& sink, PodIndex pod);

/// Returns why the node is out of the strategy's scope, or nullopt if it is in scope.
std::optional<Refusal> why_out_of_scope(const StrategyContext& context, NodeIndex node);
/// Explains by rule why the pod fits none of the nodes that `is_better` accepts. Includes nodes out of the policy's
/// scope, but not the pod's own. `cluster` contains the placement at that time. Returns "" if there is no such node or
/// one of them fits the pod.
std::string why_on_none_of(const StrategyContext& context, const WhatIf& cluster, PodIndex pod, const Goal& is_better);

/// Returns the placement that the sink predicts for an accepted pod, or nullopt if the sink does not predict.
std::optional<NodeIndex> placement_of(const StrategyContext& context, PodIndex pod);

/// Cluster after a strategy's accepted offers: the sink's view if the sink predicts placements, otherwise a copy with
/// the pods where the strategy expects them. Keeps a reference to the context.
class StrategyWhatIf {
 public:
  explicit StrategyWhatIf(const StrategyContext& context) : context_(context) {}

  const WhatIf& cluster() const { return copy_ ? *copy_ : context_.cluster; }

  /// Call after each accepted offer. Returns the placement of the pod: that of the sink, or `expected` if the sink does
  /// not predict.
  NodeIndex place(PodIndex pod, NodeIndex expected);

 private:
  const StrategyContext& context_;
  std::optional<WhatIf> copy_;  ///< set once the sink did not predict
};

/// Offers `pods` of one node in order, until the node's limit is reached. Returns false if the strategy must stop
/// because of the total limit. `goal` returns the placements that help a pod; any placement helps if it is empty.
bool offer_all(NominationSink& sink, const std::vector<PodIndex>& pods,
               const std::function<std::string(PodIndex)>& reason, const std::function<Goal(PodIndex)>& goal = {});

}  // namespace strategies
