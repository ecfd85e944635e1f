#pragma once

/// Applies placement advice to a copy of a pod. Pure.

#include "advisor/placement/report.hpp"
#include "api/core/kinds.hpp"

namespace advisor {

/// Returns the changed pod. Requires has_effect(cause); causes about budgets or requests change other objects and are
/// not supported.
api::Pod changed_pod(Cause cause, Grade grade, const api::Pod& pod);

/// Returns true if a constraint of this cause can also be dropped completely.
bool has_grades(Cause cause);

/// Return true if the pod has the constraint that changed_pod() would change.
bool has_required_anti_affinity(const api::Pod& pod);
bool has_hard_spread(const api::Pod& pod, bool over_hosts);
bool is_pinned(const api::Pod& pod);

}  // namespace advisor
