#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace cmd {

/// Columns of an Evacuation, similar to `kubectl get evacuations -o wide`: NAMESPACE, POD, NODE, EVICTOR, PHASE,
/// PROGRESS, TARGET, BLOCKED-BY, AGE.
std::vector<std::string> evacuation_headers();
std::vector<std::string> evacuation_cells(const api::Evacuation& evacuation, base::TimePoint now);

/// Returns the first blocker, such as "PodDisruptionBudget api: needs 3 healthy pods and has 3". Empty if there is no
/// blocker.
std::string blocked_by(const api::Evacuation& evacuation);

}  // namespace cmd
