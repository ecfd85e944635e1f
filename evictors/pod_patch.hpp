#pragma once

#include <string_view>

#include "api/json/json.hpp"
#include "evictors/classify.hpp"
#include "evictors/evictor.hpp"

namespace evictors {

/// Returns a merge patch of annotations (nullptr values remove). UID and resourceVersion guard it, so it applies only
/// to this state of this pod. REQUIRES: context.pod.
Action patch_pod_annotations(const EvictorContext& context, ActionRole role, std::string_view name,
                             api::Json annotations);

/// Returns classify_patch() for the answer to such a patch. Adds the missing role to the message if the server forbids
/// it.
Classification classify_pod_patch(const CallResult& answer);

/// Returns true if `value` begins with a token of this Evacuation, from any attempt: "<uid>.<n>", alone or followed by
/// a non-digit. Evacuator may remove annotations with such a value.
bool is_our_token(const EvictorContext& context, std::string_view value);

/// Returns spec.reason as one bounded line for foreign annotations. Never empty.
std::string handoff_reason(const api::EvacuationSpec& spec);

/// Parameter `strict` of evictors that evict with the owner's consent. The eviction then has the resourceVersion of the
/// last read as an additional precondition.
inline constexpr std::string_view kStrict = "strict";

}  // namespace evictors
