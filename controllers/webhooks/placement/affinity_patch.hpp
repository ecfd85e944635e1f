#pragma once

/// Patch that adds a placement hint to a pod. Pure.

#include <cstddef>
#include <string_view>

#include "api/evacuation.hpp"
#include "api/json/json.hpp"

namespace controllers::placement {

/// Maximum number of required node terms. A pod with more gets no hint.
inline constexpr std::size_t kMaxNodeTerms = 64;

/// Limit of the API server for the annotations of an object, in bytes of keys and values together.
inline constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;

/// Returns a JSON patch (RFC 6902) for a new pod; empty if the hint cannot be added.
///  * Preferred: adds a preferred node term that matches the node by name, with the highest weight.
///  * Required: adds the node's name to each required node term that matches anything, because the terms are
///    alternatives. Adds a new term if there is none.
/// The patch also sets the annotation evacuator.dev/placement to `mark`. `pod` must be an object. A pod gets no patch
/// if it is bound, its affinity is malformed, it has more than kMaxNodeTerms terms, or the annotation does not fit.
/// The patch has at most kMaxNodeTerms + 1 operations.
api::Json hint_patch(const api::Json& pod, const api::PlacementHint& hint, std::string_view mark);

}  // namespace controllers::placement
