#pragma once

/// The PodGroup of an Evacuation's pod (docs/concepts/pod-groups.md): the other members, their progress, and the
/// consequences for this Evacuation. Pure functions of API objects, so a crash or leader change loses nothing.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"

namespace controllers::evacuation {

/// Another member of the PodGroup.
struct PodGroupMember {
  std::string pod;                                    ///< name of the pod
  std::string uid;                                    ///< UID of the pod
  std::int32_t order = 0;                             ///< lower values leave first
  std::shared_ptr<const api::Pod> live;               ///< nullptr if it has left or is leaving
  std::shared_ptr<const api::Evacuation> evacuation;  ///< relevant Evacuation of the pod, nullptr if none
  bool was_asked = false;  ///< existed when the PodGroup was admitted; if it has no Evacuation now, that was deleted
};

struct PodGroupView {
  std::string name;                     ///< empty if the pod leaves alone
  std::int32_t order = 0;               ///< order of this pod
  std::vector<PodGroupMember> members;  ///< the other members, by pod name
  bool too_large = false;               ///< more than kMaxPodGroup pods before it has begun; `members` is empty

  bool alone() const { return members.empty(); }
};

/// Whether `other` belongs to the same departure as `own`. Excludes Evacuations that ended before `own` was created,
/// whose pod left after an earlier admission, or that were created after `own` was admitted; also finished dry runs.
bool counts_for_pod_group(const api::Evacuation& own, const api::Evacuation& other);
/// Whether `a` takes precedence over `b` for the same pod: real before dry run, unfinished before finished, newer
/// before older.
bool takes_precedence(const api::Evacuation& a, const api::Evacuation& b);

/// Whether this change commits the PodGroup to leave (point of no return).
bool passes_pod_group_gate(const api::EvacuationStatus& before, const api::EvacuationStatus& after);

/// Whether its slot is stored.
bool has_begun(const PodGroupMember& member);
/// Whether it passed the gate or left, i.e. the PodGroup is past its point of no return.
bool is_leaving(const PodGroupMember& member);
/// Whether its pod has left its node or will not be asked to leave any more.
bool is_done_leaving(const PodGroupMember& member);
/// Whether its Evacuation ended or was deleted while the pod stayed in place.
bool has_stayed(const PodGroupMember& member);

/// Why the PodGroup cannot begin: lists members without an Evacuation, suspended or stayed. Empty if it can.
std::string not_requested(const PodGroupView& pod_group);
/// The first member that is not ready to leave, and its state. Empty if all are ready.
std::string not_prepared(const PodGroupView& pod_group);
/// A member of lower order that has not left yet. Empty if this member may leave.
std::string waits_for_earlier(const PodGroupView& pod_group);
/// Members to admit together with this one: those waiting before the gate for their first or next attempt.
std::vector<api::ObjectKey> admitted_together(const PodGroupView& pod_group);

/// Number of pods of the PodGroup that leave concurrently with `pod` and are covered by the PDB.
std::int32_t covered_together(const PodGroupView& pod_group, const api::PodDisruptionBudget& pdb);

}  // namespace controllers::evacuation
