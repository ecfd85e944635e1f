#pragma once

/// The calls and classifications of the evictor `surge`, each a pure function of what was seen. Internal to surge*.cpp.

#include <optional>
#include <string>
#include <string_view>

#include "evictors/surge/surge_state.hpp"

namespace evictors::surge {

// Names of the actions.
inline constexpr std::string_view kBegin = "BeginSurge";
inline constexpr std::string_view kEnd = "EndSurge";
inline constexpr std::string_view kReleaseOrphan = "ReleaseOrphanedSurge";
inline constexpr std::string_view kMarkSurplus = "MarkSurplusPod";

/// The mode of this attempt, as chosen before: status.adapter.
Mode mode_of(const EvictorContext& context);
/// The workload carries our mark.
bool is_ours(const EvictorContext& context, const SurgeState& view);
bool intent_was(const EvictorContext& context, std::string_view action);
/// Was the surge begun, as far as we know?
bool was_begun(const EvictorContext& context);

/// Number or template, and the mark, in one guarded patch; as a dry run when the spec says so.
Action begin_action(const EvictorContext& context, const SurgeState& view, ActionRole role);
/// The next call on the way back to the workload as it was: a ready surplus pod is marked, then the number goes back
/// unless somebody has changed it. REQUIRES: our mark is there. `keep`: uid of the pod that took over; empty: the surge
/// is taken back, all that it made goes.
Action end_action(const EvictorContext& context, const SurgeState& view, ActionRole role, std::string_view keep);
/// Takes back what an Evacuation that has ended left. REQUIRES: a mark is there.
Action release_action(const SurgeState& view);

/// Why this is not the moment to begin; empty: it is.
std::string not_now(const SurgeState& view);
/// What still has to happen before the pod may be evicted; empty: nothing. REQUIRES: our mark is there.
std::string missing(const EvictorContext& context, const SurgeState& view);
std::optional<RemoteFailure> what_failed(const EvictorContext& context, const SurgeState& view);

/// After the pod left: the pod that does its work now; nullptr: none is ready.
const api::Pod* took_over(const EvictorContext& context, const SurgeState& view);
Verification verification_of(const EvictorContext& context, const SurgeState& view);

}  // namespace evictors::surge
