#pragma once

/// Properties of an Evacuation that the limits depend on. Pure functions of the object; the queue is in queue.hpp.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "api/pod_group.hpp"

namespace controllers {

/// Maximum number of pods of an admitted PodGroup. Needed because the number is controlled by the creator of pods and
/// Evacuations.
inline constexpr std::size_t kMaxPodGroup = api::kMaxPodsOfPodGroup;

/// Maximum number of manual Evacuations of one owner admitted concurrently, regardless of their concurrency groups.
/// Each one in Verifying costs time on each event of the owner's pods.
inline constexpr std::int64_t kMaxManualOfOwner = 64;

/// Surge pod that will run beside a pod for a while.
struct SurgePod {
  std::shared_ptr<const api::Pod> pod;  ///< the original pod
  std::set<std::string> siblings{};     ///< UIDs of existing pods of its controller; the surge pod is not among them
};

/// Request of a slot for an attempt of an Evacuation.
struct AdmissionRequest {
  api::ObjectKey key;
  std::string uid;  ///< UID of the Evacuation, empty if unknown
  std::string pod_uid;
  std::string node;
  std::string target_node;  ///< node where the pod is expected; empty if unknown, counts nowhere then
  std::string workload;     ///< concurrency group or UID of the controller; empty if no workload limit applies
  std::string owner;        ///< UID of the pod's controller, empty if none or unknown
  std::string policy;       ///< empty if none
  bool is_manual = false;   ///< not created by the operator
  std::int32_t priority = 0;
  bool held_by_pdb = false;  ///< cannot be evicted now, so others go first
  base::TimePoint created{};
  std::optional<base::TimePoint> queued_again{};  ///< time at which it returned a slot without progress (T36, T38)
  std::int32_t attempt = 1;                       ///< attempt that begins
  bool has_begun = false;                         ///< `attempt` runs without a slot and requests one again (T39)
  std::optional<std::int32_t> workload_size;      ///< replicas, for percentages
  std::vector<std::string> subjects{};            ///< cooldown subjects
  std::string pod_group;                          ///< "<namespace>/<PodGroup>" of the pod, empty if it leaves alone
  std::vector<api::ObjectKey> together{};         ///< Evacuations to admit together with this one, or not at all
  std::optional<SurgePod> surge_pod{};  ///< set if it needs free capacity, which all members of `together` get or none

  /// Start of its waiting time in the queue.
  base::TimePoint queued_since() const { return queued_again.value_or(created); }
};
/// Result of a slot request to the admission queue.
struct Slot {
  enum class State { kNotAsked, kGranted, kWaiting };
  State state = State::kNotAsked;
  std::optional<api::Blocker> limit;          ///< kWaiting: the full limit; nullopt if not known yet, see retry_at
  std::string reserved_node{};                ///< kGranted: node with the reserved capacity for a surge pod
  std::optional<base::TimePoint> retry_at{};  ///< kWaiting: earliest useful time of the next request
};

/// `pod` may be nullptr if unknown; the workload is then taken from the Evacuation alone.
AdmissionRequest admission_request(const api::Evacuation& evacuation, const api::Pod* pod,
                                   std::optional<std::int32_t> workload_size);

/// Returns the priority that counts. It is limited to `most` for a manual Evacuation, and for a priority raised after
/// the signature.
std::int32_t effective_priority(const api::Evacuation& evacuation, std::int32_t most);

/// Returns the node where the pod will be, as far as known: that of the replacement (status.outcome), otherwise that
/// of the remote side (status.targetNode), otherwise the planner's prediction (annotation
/// evacuator.dev/predicted-target, which the signature covers). Empty if unknown.
std::string target_node(const api::Evacuation& evacuation);

/// Whether its phase holds the slots of node, namespace, zone and cluster. False if it was not admitted: a pod that
/// left by itself before the next attempt takes no slot.
bool holds_slot(const api::Evacuation& evacuation);
/// Whether it holds the slots of the workload and the target node, which are kept until the replacement is Ready.
bool holds_arrival_slot(const api::Evacuation& evacuation);
/// True if it holds the slot of its workload. An Evacuation that goes on without a slot (T38) keeps it.
bool holds_workload_slot(const api::Evacuation& evacuation);
/// True if the slot of the Evacuation went to others, and its attempt goes on (T38).
bool goes_on_without_slot(const api::Evacuation& evacuation);

}  // namespace controllers
