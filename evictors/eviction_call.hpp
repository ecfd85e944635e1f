#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

inline constexpr std::string_view kPostEviction = "PostEviction";
/// Parameter of every evictor that calls the eviction subresource: who KubeVirt is told has asked.
inline constexpr std::string_view kRequestedBy = "requestedBy";

/// POST …/eviction of the pod in the context: always with its UID as precondition, with the token for the audit log, as
/// a dry run when the spec says so. `resource_version` (strict handoff) is empty otherwise.
Action post_eviction(const EvictorContext& context, std::string resource_version = {});

/// Complaints about `requestedBy` and about any parameter that is not in `known`.
api::FieldErrors check_parameters(const std::vector<std::pair<std::string, std::string>>& parameters,
                                  const api::FieldPath& path, const std::vector<std::string_view>& known);

/// The pod asks for the two-way handoff (its `mode` annotation, whatever its value).
bool wants_handoff(const api::Pod& pod);
/// An eviction call on this pod may only be a request: upstream's background protocol.
bool wants_background(const api::Pod& pod);

}  // namespace evictors
