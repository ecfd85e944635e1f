#pragma once

/// The PodGroup of an Evacuation's pod (docs/concepts/pod-groups.md): who else has to leave, how far they are, and what
/// that means for this one. Pure functions of API objects, so a crash or a new leader forgets nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/core/kinds.hpp"
#include "api/evacuation.hpp"

namespace controllers::evacuation {

/// Somebody else of the PodGroup.
struct PodGroupMember {
  std::string pod;                                    ///< its name
  std::string uid;                                    ///< of the pod
  std::int32_t order = 0;                             ///< who leaves first
  std::shared_ptr<const api::Pod> live;               ///< nullptr: it has left or is leaving
  std::shared_ptr<const api::Evacuation> evacuation;  ///< the one that counts; nullptr: nobody asked
  bool was_asked =
      false;  ///< it was there when the PodGroup was admitted: without Evacuation now, somebody deleted that
};

struct PodGroupView {
  std::string name;                     ///< empty: the pod leaves alone
  std::int32_t order = 0;               ///< of this pod
  std::vector<PodGroupMember> members;  ///< the others, by name of their pods
  bool too_large = false;               ///< more than kMaxPodGroup pods before it has begun: nobody is looked at

  bool alone() const { return members.empty(); }
};

/// Does `other` belong to the same leaving as `own`? Those that ended before `own` was created do not, nor those whose
/// pod left on an admission before that, nor those created after `own` was admitted, nor dry runs that are over.
bool counts_for_pod_group(const api::Evacuation& own, const api::Evacuation& other);
/// Of two Evacuations of one pod the one that counts: a real one before a dry run, unfinished before finished, then the
/// newer one.
bool tells_more(const api::Evacuation& a, const api::Evacuation& b);

/// The step from which there is no way back for the PodGroup.
bool passes_pod_group_gate(const api::EvacuationStatus& before, const api::EvacuationStatus& after);

/// It has begun: its slot is stored.
bool has_begun(const PodGroupMember& member);
/// It passed the gate (or left): there is no way back for the PodGroup.
bool is_leaving(const PodGroupMember& member);
/// Its pod is off its node, or will never be asked to leave again.
bool is_through(const PodGroupMember& member);
/// Ended, or was deleted, with its pod in place.
bool has_stayed(const PodGroupMember& member);

/// Why the PodGroup cannot begin: who was not asked to leave, waits for a person or has stayed; empty: all of them may.
std::string not_requested(const PodGroupView& pod_group);
/// The first member that is not ready to leave, and what it does; empty: all are.
std::string not_prepared(const PodGroupView& pod_group);
/// A member of lower order that has not left yet; empty: it is this one's turn.
std::string goes_before(const PodGroupView& pod_group);
/// Whom admission lets in together with this one: those that wait for their first or next attempt before the gate.
std::vector<api::ObjectKey> admitted_together(const PodGroupView& pod_group);

/// How many of the PodGroup leave at the same time as `pod` under one budget.
std::int32_t covered_together(const PodGroupView& pod_group, const api::PodDisruptionBudget& pdb);

}  // namespace controllers::evacuation
