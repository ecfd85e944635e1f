#pragma once

/// What a placement hint adds to a pod. Pure.

#include <cstddef>
#include <string_view>

#include "api/evacuation.hpp"
#include "api/json/json.hpp"

namespace controllers::placement {

/// More required node terms than this are no honest pod's: it is left as it is.
inline constexpr std::size_t kMaxNodeTerms = 64;

/// The API server takes no object with more bytes of annotations, keys and values together.
inline constexpr std::size_t kMaxAnnotationBytes = 256 * 1024;

/// JSON patch (RFC 6902) for a new pod; empty: nothing can be added to it.
///  * Preferred: one more preferred node term for the node by its name, with the highest weight.
///  * Required: the node's name is added to each required node term that matches anything, as they are alternatives;
///    without any, a term of its own.
/// With it goes annotation evacuator.dev/placement with `mark`. `pod` is an object; a pod that is bound already, whose
/// affinity is no affinity, that has more than kMaxNodeTerms terms, or no space for the annotation gets nothing. The
/// patch has at most kMaxNodeTerms + 1 operations.
api::Json hint_patch(const api::Json& pod, const api::PlacementHint& hint, std::string_view mark);

}  // namespace controllers::placement
