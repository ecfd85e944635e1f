#pragma once

/// Decides which pods of a node are evacuated, in which order, and which block the whole drain. Follows kubectl drain's
/// rules, but never deletes. Pure.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"

namespace cmd::plugin {

/// Flags of kubectl drain that permit evicting certain pods, and facts about the cluster.
struct DrainRules {
  bool ignore_daemonsets = false;
  bool delete_emptydir_data = false;
  bool force = false;  ///< also evict pods that no controller recreates; always by eviction, never by deletion
  std::set<std::string> shutdown_launchers{};  ///< UIDs of launcher pods whose guest shuts down on eviction
  /// PodGroups of scheduling.k8s.io in the namespaces of pods that reference one. nullopt if the server lacks the kind.
  std::optional<std::vector<api::SchedulingPodGroup>> pod_groups{};
};

enum class DrainAction {
  kEvacuate,
  kSkip,    ///< the pod stays, or leaves without an Evacuation
  kRefuse,  ///< the drain does not start without the flag
};

struct DrainVerdict {
  DrainAction fate = DrainAction::kEvacuate;
  std::string reason;   ///< human-readable reason for a skip or refusal
  std::string flag;     ///< flag that overrides a refusal
  std::string warning;  ///< loss that the user accepted with a flag
  friend bool operator==(const DrainVerdict&, const DrainVerdict&) = default;
};
/// Applies the first matching rule, in this order: mirror pod, finished, terminating, DaemonSet, disks of a virtual
/// machine, a PodGroup of scheduling.k8s.io that leaves as a whole, emptyDir, no controller.
DrainVerdict judge(const api::Pod& pod, const DrainRules& rules);

/// Impact of the pod's eviction, in ascending order.
enum class DrainRank { kReplicated, kSingle, kStateful, kUnmanaged };
std::string_view to_string(DrainRank rank);
/// Returns the rank of the pod. `replicas` is that of the pod's owner, nullopt if unknown.
DrainRank rank_of(const api::Pod& pod, std::optional<std::int32_t> replicas);

struct DrainMove {
  api::Pod pod;
  DrainRank rank = DrainRank::kReplicated;
  std::int32_t priority = 0;  ///< spec.priority of the Evacuation
  std::string warning;
};
struct BlockedPod {
  api::ObjectKey pod;
  DrainVerdict verdict;
};
struct DrainPlan {
  std::vector<DrainMove> moves;  ///< in drain order
  std::vector<BlockedPod> skipped;
  std::vector<BlockedPod> refused;
};

/// Priority of the first class in the queue, above that of policies (0). Each later class gets one less.
inline constexpr std::int32_t kDrainPriority = 1000;

/// Returns the replicas that the pod's owner requests, nullopt if unknown.
using ReplicasOf = std::function<std::optional<std::int32_t>(const api::Pod&)>;

/// Plans a drain. Order: low PriorityClass first; within a class replicated pods, then single replicas, then stateful
/// pods, then pods without a controller; ties by namespace and name.
DrainPlan plan_drain(std::vector<api::Pod> pods, const DrainRules& rules, const ReplicasOf& replicas_of);

}  // namespace cmd::plugin
