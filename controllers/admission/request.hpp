#pragma once

/// What limits need to know about an Evacuation. Pure functions of the object; the queue is queue.hpp.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"
#include "api/pod_group.hpp"

namespace controllers {

/// No PodGroup of more pods is ever admitted: whoever may make pods and Evacuations chooses how many there are.
inline constexpr std::size_t kMaxPodGroup = api::kMaxPodsOfPodGroup;

/// Manual Evacuations of one owner that are admitted at a time, whatever concurrency groups they name: each of them in
/// Verifying costs time at each event of the owner's pods.
inline constexpr std::int64_t kMaxManualOfOwner = 64;

/// The second pod that will run beside a pod for a while.
struct SurgePod {
  std::shared_ptr<const api::Pod> pod;  ///< of which
  std::set<std::string> siblings{};     ///< UIDs of the pods of its controller that are there: none of them is it
};

/// An Evacuation that wants to begin an attempt.
struct AdmissionRequest {
  api::ObjectKey key;
  std::string uid;  ///< of the Evacuation; empty: not known
  std::string pod_uid;
  std::string node;
  std::string target_node;  ///< where the pod is expected; empty: unknown, counts nowhere
  std::string workload;     ///< concurrency group or the controller's UID; empty: no workload limit
  std::string owner;        ///< UID of the pod's controller; empty: none, or not known
  std::string policy;       ///< empty: none
  bool is_manual = false;   ///< the operator did not make it
  std::int32_t priority = 0;
  bool held_by_pdb = false;  ///< cannot go now: those that can go first
  base::TimePoint created{};
  std::optional<base::TimePoint> queued_again{};  ///< it gave a slot back without progress then (T36, T38)
  std::int32_t attempt = 1;                       ///< the one that begins
  bool has_begun = false;                         ///< `attempt` runs without a slot and wants one again (T39)
  std::optional<std::int32_t> workload_size;      ///< replicas, for percentages
  std::vector<std::string> subjects{};            ///< of cooldowns
  std::string pod_group;                          ///< of the pod, in the namespace; empty: it leaves alone
  std::vector<api::ObjectKey> together{};         ///< the Evacuations that are admitted with this one, or none of them
  std::optional<SurgePod> surge_pod{};  ///< of those together: needs free capacity for it, as all of them or none

  /// Its age in the queue.
  base::TimePoint queued_since() const { return queued_again.value_or(created); }
};
/// `pod` may be nullptr (no workload known then).
AdmissionRequest admission_request(const api::Evacuation& evacuation, const api::Pod* pod,
                                   std::optional<std::int32_t> workload_size);

/// The priority that counts: what is made by hand has at most `most`, and so has what was raised after we signed it.
std::int32_t effective_priority(const api::Evacuation& evacuation, std::int32_t most);

/// The node where the pod will be, as far as known: the replacement's (status.outcome), else what the remote side shows
/// (status.targetNode), else what the planner predicted (annotation evacuator.dev/predicted-target, signed with the
/// rest of what the operator made). Empty: unknown.
std::string target_node(const api::Evacuation& evacuation);

/// Does its phase hold the slots of node, namespace, zone and cluster? Only what was admitted holds any: a pod that
/// left by itself while its Evacuation waited for the next attempt took none.
bool holds_slot(const api::Evacuation& evacuation);
/// Does it hold those of the workload and the target node? These wait for the replacement, too.
bool holds_arrival_slot(const api::Evacuation& evacuation);
/// True if it holds the slot of its workload. An Evacuation that goes on without a slot (T38) keeps it.
bool holds_workload_slot(const api::Evacuation& evacuation);
/// True if the slot of the Evacuation went to others, and its attempt goes on (T38).
bool goes_on_without_slot(const api::Evacuation& evacuation);

}  // namespace controllers
