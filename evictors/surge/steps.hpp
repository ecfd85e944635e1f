#pragma once

/// Calls and classifications of the evictor `surge`. Each one is a pure function of observed state. Internal to
/// surge*.cpp.

#include <optional>
#include <string>
#include <string_view>

#include "evictors/surge/surge_state.hpp"

namespace evictors::surge {

inline constexpr std::string_view kParameterMode = "mode";  ///< Auto, ExtraReplica, RollingRestart
inline constexpr std::string_view kParameterWhen = "when";  ///< Outage, Always

struct Choice {
  std::optional<Mode> mode;
  std::string why_not;   ///< without mode: the reason and the fix
  bool unknown = false;  ///< without mode: a required document was not read (yet)
};
/// REQUIRES: context.pod != nullptr.
Choice choose(const EvictorContext& context, const SurgeState& view);

// Names of the actions.
inline constexpr std::string_view kBegin = "BeginSurge";
inline constexpr std::string_view kEnd = "EndSurge";
inline constexpr std::string_view kReleaseOrphan = "ReleaseOrphanedSurge";
inline constexpr std::string_view kMarkSurplus = "MarkSurplusPod";

/// Returns the mode chosen for this attempt, from status.adapter.
Mode mode_of(const EvictorContext& context);
/// Returns true if the workload has this Evacuation's mark.
bool is_ours(const EvictorContext& context, const SurgeState& view);
/// Returns true if the surge is known to have begun.
bool was_begun(const EvictorContext& context);

/// Returns one guarded patch with the replica count or the template, and the mark. It is a dry run if the spec requests
/// one.
Action begin_action(const EvictorContext& context, const SurgeState& view, ActionRole role);
/// Returns the next call that restores the workload. A ready surplus pod is marked first. The next call restores the
/// replica count unless another client has changed it. REQUIRES: this Evacuation's mark. `keep` is the UID of the pod
/// that took over. If empty, the surge is reverted and every pod that it added is removed.
Action end_action(const EvictorContext& context, const SurgeState& view, ActionRole role, std::string_view keep);
/// Returns the call that removes the surge of an ended Evacuation. REQUIRES: a mark.
Action release_action(const SurgeState& view);

/// Returns why the surge must not begin now, empty if it may.
std::string why_not_now(const SurgeState& view);
/// Returns what must still happen before the pod may be evicted, empty if nothing. REQUIRES: this Evacuation's mark.
std::string missing(const EvictorContext& context, const SurgeState& view);
std::optional<RemoteFailure> failure_of(const EvictorContext& context, const SurgeState& view);

/// Returns the ready pod that does the work of the pod that left, or nullptr.
const api::Pod* find_replacement(const EvictorContext& context, const SurgeState& view);
Verification verification_of(const EvictorContext& context, const SurgeState& view);

}  // namespace evictors::surge
