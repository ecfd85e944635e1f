#pragma once

#include "api/descheduler_policy.hpp"
#include "api/field_path.hpp"
#include "scheduling/cluster_snapshot.hpp"

namespace planning {

/// A complaint about each namespace that the policy names, in spec.evictability or in a strategy's arguments, and that
/// does not exist: it matches nothing, so the policy may do less, or protect less, than its author thinks. The plan
/// goes on. Nothing is known, so nothing is said, where the snapshot holds no Namespace objects (a dump of pods and
/// nodes).
api::FieldErrors unknown_namespaces(const api::DeschedulerPolicySpec& spec, const scheduling::ClusterSnapshot& cluster);

}  // namespace planning
