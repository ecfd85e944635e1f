#pragma once

/// Namespaces in which the API server does not let the operator move pods. Pure.

#include <memory>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace controllers {

/// Time after a Failed/Forbidden Evacuation in which no pod of its namespace is nominated.
inline constexpr base::minutes kForbiddenFor{10};

struct ForbiddenNamespace {
  std::string ns;
  std::string problem;  ///< for condition Degraded: the server's message, the end of the exclusion, and a remedy
};

/// Returns the namespaces in which the newest verdict of any Evacuation (of policies or manual) within the last
/// kForbiddenFor was Failed/Forbidden, without a success since. Ordered by name.
std::vector<ForbiddenNamespace> forbidden_namespaces(
    const std::vector<std::shared_ptr<const api::Evacuation>>& evacuations, base::TimePoint now);

}  // namespace controllers
