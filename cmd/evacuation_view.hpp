#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/evacuation.hpp"
#include "base/clock.hpp"

namespace cmd {

/// The cells of one Evacuation as `kubectl get evacuations -o wide` shows the most telling of them:
/// NAMESPACE, POD, NODE, EVICTOR, PHASE, PROGRESS, TARGET, BLOCKED-BY, AGE.
std::vector<std::string> evacuation_headers();
std::vector<std::string> evacuation_cells(const api::Evacuation& evacuation, base::TimePoint now);

/// "PodDisruptionBudget api: needs 3 healthy pods and has 3" of the first blocker, "" when nothing blocks.
std::string blocked_by(const api::Evacuation& evacuation);

}  // namespace cmd
