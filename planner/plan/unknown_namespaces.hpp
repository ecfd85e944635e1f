#pragma once

#include "api/json/field_path.hpp"
#include "planner/plan/plan_spec.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace planning {

/// The namespaces that the policy names, in spec.evictability or in a strategy's arguments, and that do not exist. The
/// plan goes on.
struct UnknownNamespaces {
  api::FieldErrors included;  ///< match nothing: the policy may do less than its author thinks
  api::FieldErrors excluded;  ///< harmless: there is nothing to leave alone
};
/// Nothing is known, so nothing is said, where the snapshot holds no Namespace objects (a dump of pods and nodes).
UnknownNamespaces unknown_namespaces(const PlanSpec& spec, const scheduling::ClusterSnapshot& cluster);

}  // namespace planning
