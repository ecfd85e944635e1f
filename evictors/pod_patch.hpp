#pragma once

#include <string_view>

#include "api/json/json.hpp"
#include "evictors/classify.hpp"
#include "evictors/evictor.hpp"

namespace evictors {

/// A merge patch of annotations (nullptr values remove) that only hits this very state of this very pod: guarded by UID
/// and resourceVersion. REQUIRES: context.pod.
Action patch_pod_annotations(const EvictorContext& context, ActionRole role, std::string_view name,
                             api::Json annotations);

/// classify_patch() of such a patch's answer. A server that forbids it is told with the role that is missing.
Classification classify_pod_patch(const CallResult& answer);

/// `value` begins with a token of this Evacuation, whatever the attempt: "<uid>.<n>", alone or followed by anything
/// that is no digit. What carries it is ours to remove.
bool is_our_token(const EvictorContext& context, std::string_view value);

/// spec.reason as one bounded line for foreign annotations; never empty.
std::string handoff_reason(const api::EvacuationSpec& spec);

/// The parameter `strict` of evictors that call the eviction after somebody's word: the call then also demands the
/// resourceVersion of the last look.
inline constexpr std::string_view kStrict = "strict";

}  // namespace evictors
