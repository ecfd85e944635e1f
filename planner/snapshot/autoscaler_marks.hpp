#pragma once

/// Marks that cluster-autoscaler and Karpenter write on nodes, and annotations that users set on pods and nodes for
/// these autoscalers (docs/concepts/autoscalers.md). Pure functions.

#include <optional>
#include <string_view>

#include "api/core/kinds.hpp"
#include "base/clock.hpp"

namespace scheduling {

inline constexpr std::string_view kSafeToEvictAnnotation = "cluster-autoscaler.kubernetes.io/safe-to-evict";
inline constexpr std::string_view kSafeVolumesAnnotation =
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
inline constexpr std::string_view kScaleDownDisabledAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
inline constexpr std::string_view kDoNotDisruptAnnotation = "karpenter.sh/do-not-disrupt";
inline constexpr std::string_view kToBeDeletedTaint = "ToBeDeletedByClusterAutoscaler";
inline constexpr std::string_view kDeletionCandidateTaint = "DeletionCandidateOfClusterAutoscaler";
inline constexpr std::string_view kDisruptedTaint = "karpenter.sh/disrupted";
inline constexpr std::string_view kOldDisruptionTaint = "karpenter.sh/disruption";

/// Whether an autoscaler or a deletion is removing the node.
enum class NodeRemoval {
  kNone,
  kCandidate,  ///< an autoscaler considers removing it: DeletionCandidateOfClusterAutoscaler
  kUnderWay,   ///< pods are leaving: one of the other taints, or the Node is being deleted
};
NodeRemoval removal_of(const api::Node& node);

/// Returns the name of the annotation that keeps autoscalers from removing the node, or nullopt if it has none.
std::optional<std::string_view> keeping_annotation(const api::Node& node);

/// Returns true if safe-to-evict is "false".
bool is_marked_unsafe(const api::Pod& pod);
/// Returns true if safe-to-evict is "on-completion" and the pod has not ended. Values of safe-to-evict other than
/// "false" and "on-completion" are ignored.
bool is_marked_to_complete(const api::Pod& pod);
/// Returns true if safe-to-evict-local-volumes lists the volume, for example "cache,tmp".
bool is_marked_safe_volume(const api::Pod& pod, std::string_view volume);

/// Returns true if do-not-disrupt is "true" or a duration (such as "2h") that has not elapsed since the pod's start.
/// Other values are ignored.
bool is_marked_undisruptable(const api::Pod& pod, base::TimePoint now);

}  // namespace scheduling
