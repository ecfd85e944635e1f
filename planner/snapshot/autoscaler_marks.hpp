#pragma once

/// What cluster-autoscaler and Karpenter write on nodes, and what people write on pods and nodes for them
/// (docs/concepts/autoscalers.md). Pure.

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

/// Whether somebody is about to take the node away.
enum class NodeRemoval {
  kNone,
  kCandidate,  ///< an autoscaler has it in mind: DeletionCandidateOfClusterAutoscaler
  kUnderWay,   ///< its pods are leaving: the other taints, or the Node is being deleted
};
NodeRemoval removal_of(const api::Node& node);

/// The annotation that keeps autoscalers from removing the node; nullopt: none does.
std::optional<std::string_view> keeping_annotation(const api::Node& node);

/// safe-to-evict is "false".
bool is_marked_unsafe(const api::Pod& pod);
/// safe-to-evict is "on-completion", and the pod has not ended. Values but these two mean nothing here.
bool is_marked_to_complete(const api::Pod& pod);
/// safe-to-evict-local-volumes lists the volume: "cache,tmp".
bool is_marked_safe_volume(const api::Pod& pod, std::string_view volume);

/// do-not-disrupt is "true", or a duration (such as "2h") that has not passed since the pod's start. Other values mean
/// nothing.
bool is_marked_undisruptable(const api::Pod& pod, base::TimePoint now);

}  // namespace scheduling
