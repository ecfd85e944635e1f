#pragma once

/// What the evictor `surge` sees: the pod's workload, its pods and who else has a say in its size, from the documents
/// that the controller read. Pure; the documents may be anything. Internal to surge*.cpp.

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

/// Served as v1 by every server; v2 is the same object.
inline constexpr kube::ResourceType kAutoscalers{"autoscaling", "v1", "horizontalpodautoscalers",
                                                 "HorizontalPodAutoscaler"};

/// A surge copies at most this many replicas; beyond it one pod less is no outage.
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
inline constexpr std::string_view kRefReplicas = "replicas";        ///< before the surge
inline constexpr std::string_view kRefMarked = "marked";            ///< the surge is known to have begun
inline constexpr std::string_view kRefReplacement = "replacement";  ///< uid of the pod that takes over

/// How a wanted object was found.
enum class ReadResult { kNotRead, kYes, kGone, kUnreadable };

struct SurgeState {
  ReadResult found = ReadResult::kNotRead;  ///< the workload
  std::string problem;                      ///< kUnreadable: why; or why there can be none, see `hopeless`
  bool hopeless = false;                    ///< the pod's kind of owner does not surge
  bool forbidden = false;                   ///< we may not read it
  Workload workload;
  bool pods_known = false;
  std::vector<api::Pod> pods;  ///< of the workload, neither terminating nor terminal, the leaving one included
  api::Json old_template;      ///< of the leaving pod's ReplicaSet; null: not known

  bool has(ReadResult what) const { return found == what; }
};
SurgeState view_of(const EvictorContext& context);

/// What must be read next, given what was read.
std::vector<Read> wanted_reads(const EvictorContext& context, bool choosing);

/// Why nobody but us may decide on the number of replicas; empty: nobody does. nullopt: not known.
std::optional<std::string> autoscaler_of(const EvictorContext& context, const Workload& workload);
/// A PDB that no full strength of the workload satisfies.
struct Budget {
  std::string name;
  std::int32_t desired = 0;
  std::int32_t expected = 0;
  bool helped_by_one_more = false;
};
std::optional<Budget> blocking_budget(const EvictorContext& context);
/// A volume that only one node can use at a time; empty: none.
std::string exclusive_volume(const EvictorContext& context);
/// The Evacuation that set a foreign mark has ended or is no more.
bool holder_ended(const EvictorContext& context, const Mark& mark);

/// Where the extra pod is, and what is there without the leaving one.
struct Replacement {
  const api::Pod* best = nullptr;       ///< new, on another node; ready before others; nullptr: none
  const api::Pod* misplaced = nullptr;  ///< new, but on the source node
  std::int32_t ready_others = 0;        ///< ready pods beside the leaving one
};
Replacement replacement_in(const SurgeState& view, const Mark& mark, const api::PodUid& leaving,
                           const api::NodeName& source);

/// "0/3 nodes are available: …"; empty: it is scheduled, or nobody says why not.
std::string unschedulable_because(const api::Pod& pod);

}  // namespace evictors::surge
