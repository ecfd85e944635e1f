#pragma once

/// Where the API server does not let us move pods. Pure.

#include <memory>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace controllers {

/// Nothing more is nominated in a namespace for this long after an Evacuation in it was Failed/Forbidden.
inline constexpr base::minutes kForbiddenFor{10};

struct ForbiddenNamespace {
  std::string ns;
  std::string problem;  ///< for condition Degraded: what the server said, until when, and the way out
};

/// Namespaces in which the newest verdict of any Evacuation, of policies or people, within the last kForbiddenFor was
/// Failed/Forbidden and none succeeded since. Ordered by name.
std::vector<ForbiddenNamespace> forbidden_namespaces(
    const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations, base::TimePoint now);

}  // namespace controllers
