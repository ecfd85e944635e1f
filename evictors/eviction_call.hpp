#pragma once

#include "evictors/evictor.hpp"

namespace evictors {

inline constexpr std::string_view kPostEviction = "PostEviction";
/// Parameter of every evictor that calls the eviction subresource. Sets the requester that KubeVirt records.
inline constexpr std::string_view kRequestedBy = "requestedBy";

/// Returns POST …/eviction for the pod in the context. The call always has the pod's UID as a precondition and the
/// token for the audit log, and is a dry run if the spec requests one. `resource_version` (strict handoff) adds a
/// second precondition unless empty.
Action post_eviction(const EvictorContext& context, std::string resource_version = {});

/// Returns an error for an invalid `requestedBy` and for every parameter that is not in `known`.
api::FieldErrors check_parameters(const Parameters& parameters, const api::FieldPath& path,
                                  const std::vector<std::string_view>& known);

/// Adds an error if the parameter `of` has a value outside `allowed`.
void check_value(const Parameters::value_type& parameter, std::string_view of,
                 const std::vector<std::string_view>& allowed, const api::FieldPath& path, api::FieldErrors& errors);

/// Returns true if the pod has the `mode` annotation of the two-way handoff, with any value.
bool wants_handoff(const api::Pod& pod);
/// Returns true if the pod announces upstream's background protocol, in which an eviction call is only a request.
bool wants_background(const api::Pod& pod);

}  // namespace evictors
