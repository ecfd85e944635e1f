#pragma once

/// Which pods of a node are evacuated, in which order, and which stop the whole drain: kubectl drain's rules, without
/// its deletes. Pure.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"

namespace cmd::plugin {

/// The flags of kubectl drain that let pods through.
struct DrainRules {
  bool ignore_daemonsets = false;
  bool delete_emptydir_data = false;
  bool force = false;  ///< also pods that nothing will recreate; always by eviction, never by deletion
  std::set<std::string> ending_machines{};  ///< UIDs of launcher pods whose guest an eviction shuts down
  /// PodGroups of scheduling.k8s.io, of the namespaces of pods that name one; nullopt: the server has no such kind.
  std::optional<std::vector<api::SchedulingPodGroup>> pod_groups{};
};

enum class DrainFate {
  kEvacuate,
  kSkip,    ///< stays, or goes by itself
  kRefuse,  ///< the drain does not begin without the flag
};

struct DrainVerdict {
  DrainFate fate = DrainFate::kEvacuate;
  std::string reason;   ///< of a skip or refusal, for people
  std::string flag;     ///< of a refusal: what would let it through
  std::string warning;  ///< what the user has agreed to lose by a flag
  friend bool operator==(const DrainVerdict&, const DrainVerdict&) = default;
};
/// The first rule that has something to say, in this order: mirror pod, finished, terminating, DaemonSet, disks of a
/// virtual machine, a PodGroup of scheduling.k8s.io that leaves as a whole, emptyDir, nothing recreates it.
DrainVerdict judge(const api::Pod& pod, const DrainRules& rules);

/// How much it hurts when the pod goes; the later the worse.
enum class DrainRank { kReplicated, kSingle, kStateful, kUnmanaged };
std::string_view to_string(DrainRank rank);
/// `replicas` of its owner, when known.
DrainRank rank_of(const api::Pod& pod, std::optional<std::int32_t> replicas);

struct DrainMove {
  api::Pod pod;
  DrainRank rank = DrainRank::kReplicated;
  std::int32_t priority = 0;  ///< spec.priority of its Evacuation
  std::string warning;
};
struct DrainStay {
  api::ObjectKey pod;
  DrainVerdict verdict;
};
struct DrainPlan {
  std::vector<DrainMove> moves;  ///< in order
  std::vector<DrainStay> skipped;
  std::vector<DrainStay> refused;
};

/// The first of the queue gets this, above what policies use (0), each later class one less.
inline constexpr std::int32_t kDrainPriority = 1000;

/// Replicas that the owner wants; nullopt when unknown.
using ReplicasOf = std::function<std::optional<std::int32_t>(const api::Pod&)>;

/// Low PriorityClass first, inside one class replicated pods, then single replicas, then stateful ones, then those that
/// nothing recreates; ties by namespace and name.
DrainPlan plan_drain(std::vector<api::Pod> pods, const DrainRules& rules, const ReplicasOf& replicas_of);

}  // namespace cmd::plugin
