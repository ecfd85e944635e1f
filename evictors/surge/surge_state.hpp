#pragma once

/// State that the evictor `surge` reads from the controller's documents: the pod's workload, its pods and what else
/// controls its size. Pure; documents are untrusted input. Internal to surge*.cpp.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/json/json.hpp"
#include "evictors/evictor.hpp"
#include "evictors/surge/workload.hpp"
#include "kube/resource.hpp"

namespace evictors::surge {

inline constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

/// Served as v1 by every server. v2 is a newer version of the same object.
inline constexpr kube::ResourceType kAutoscalers{"autoscaling", "v1", "horizontalpodautoscalers",
                                                 "HorizontalPodAutoscaler"};

/// Maximum number of replicas of a surged workload. With more replicas, one pod less is no outage.
inline constexpr std::int32_t kMaxReplicas = 100;

// Names of the reads.
inline constexpr std::string_view kReadReplicaSet = "replicaset";
inline constexpr std::string_view kReadDeployment = "deployment";
inline constexpr std::string_view kReadPods = "pods";
inline constexpr std::string_view kReadAutoscalers = "autoscalers";
inline constexpr std::string_view kReadBudgets = "budgets";
inline constexpr std::string_view kReadHolder = "holder";
inline constexpr std::string_view kReadClaim = "claim/";

// Keys of status.refs.
inline constexpr std::string_view kRefKind = "workloadKind";
inline constexpr std::string_view kRefName = "workload";
inline constexpr std::string_view kRefUid = "workloadUid";
inline constexpr std::string_view kRefReplicas = "replicas";        ///< replica count before the surge
inline constexpr std::string_view kRefMarked = "marked";            ///< the surge is known to have begun
inline constexpr std::string_view kRefReplacement = "replacement";  ///< UID of the pod that takes over

/// Result of a read.
enum class ReadResult { kNotRead, kYes, kGone, kUnreadable };

struct SurgeState {
  ReadResult found = ReadResult::kNotRead;  ///< result for the workload
  std::string problem;                      ///< reason for kUnreadable or `hopeless`
  bool hopeless = false;                    ///< pods of this kind of owner cannot be surged
  bool forbidden = false;                   ///< RBAC forbids reading the workload
  Workload workload;
  bool pods_known = false;
  std::vector<api::Pod> pods;  ///< pods of the workload, including the leaving one, neither terminating nor terminal
  api::Json old_template;      ///< template of the leaving pod's ReplicaSet, null if unknown

  bool has(ReadResult what) const { return found == what; }
};
SurgeState read_state(const EvictorContext& context);

/// Returns the next reads, given the documents so far.
std::vector<Read> wanted_reads(const EvictorContext& context, bool choosing);

/// Returns the HorizontalPodAutoscaler that controls the replica count, empty if none exists, nullopt if unknown.
std::optional<std::string> autoscaler_of(const EvictorContext& context, const Workload& workload);
/// PodDisruptionBudget that requires every pod of the workload.
struct Budget {
  std::string name;
  std::int32_t desired = 0;
  std::int32_t expected = 0;
  bool helped_by_one_more = false;
};
std::optional<Budget> blocking_budget(const EvictorContext& context);
/// Returns a volume that only one node can use at a time, empty if none exists.
std::string exclusive_volume(const EvictorContext& context);
/// Returns true if the Evacuation that set a foreign mark has ended or no longer exists.
bool holder_ended(const EvictorContext& context, const Mark& mark);

/// State of the extra pod and of the other pods, without the leaving one.
struct Replacement {
  const api::Pod* best = nullptr;       ///< new pod on another node, ready ones first; nullptr if none exists
  const api::Pod* misplaced = nullptr;  ///< new pod on the source node
  std::int32_t ready_others = 0;        ///< number of ready pods, without the leaving one
};
Replacement replacement_in(const SurgeState& view, const Mark& mark, const api::PodUid& leaving,
                           const api::NodeName& source);

/// Returns "0/3 nodes are available: …", empty if the pod is scheduled or the reason is unknown.
std::string unschedulable_because(const api::Pod& pod);

}  // namespace evictors::surge
