#pragma once

/// How most strategies go through the cluster: node by node, pods that may leave, one offer after the other.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/snapshot/cached_selector.hpp"
#include "strategies/common_args.hpp"
#include "strategies/strategy.hpp"

namespace strategies {

/// Which of a node's pods a strategy looks at. Pods that move already are never among them.
enum class PodStates { kActive, kAll };
std::vector<PodIndex> pods_on(const Context& context, NodeIndex node, PodStates states);

/// Which pods of the cluster the scope includes. Keeps references to both.
scheduling::CachedSelector pods_in(const PodScope& scope, const Context& context);

/// True if both evictability filters let the pod go. Otherwise the refusal is reported.
bool may_leave(const Context& context, NominationSink& sink, PodIndex pod);

/// Where the sink foresees the pod after it accepted it; nullopt: it does not say.
std::optional<NodeIndex> placement_of(const Context& context, PodIndex pod);

/// What the common limit reactions ask for after an offer.
enum class Next { kPod, kNode, kStop };
/// A node at its limit: go to the next node. The total limit: stop. Anything else: the next pod.
Next after(Verdict verdict);

/// Offers `pods` of one node in order. False: stop. `goal`: where it would help a pod to land; empty: anywhere.
bool offer_all(NominationSink& sink, const std::vector<PodIndex>& pods,
               const std::function<std::string(PodIndex)>& reason, const std::function<Goal(PodIndex)>& goal = {});

}  // namespace strategies
