#pragma once

/// Applies placement advice to a copy of a cluster. Pure.

#include <vector>

#include "advisor/placement/causes.hpp"

namespace advisor {

/// Returns a copy of the cluster with these changes applied. `causes` must come from find_causes() for the same
/// cluster.
scheduling::SnapshotInput apply_changes(const scheduling::SnapshotInput& cluster,
                                        const std::vector<const FoundCause*>& causes, Grade grade);

/// Returns true if a constraint of this cause can also be dropped completely.
bool has_grades(Cause cause);
/// Changes the texts and risk of the finding to those of dropping the constraint.
void drop_constraint(Finding& finding);

/// Return true if the pod has the constraint that apply_changes() would change.
bool has_required_anti_affinity(const api::Pod& pod);
/// Returns true for a DoNotSchedule constraint over hosts, or over other topologies.
bool has_hard_spread(const api::Pod& pod, bool over_hosts);

}  // namespace advisor
