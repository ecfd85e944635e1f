#pragma once

#include "api/json/field_path.hpp"
#include "planner/plan/plan_spec.hpp"
#include "planner/snapshot/cluster_snapshot.hpp"

namespace planner {

/// Namespaces that the policy names, in spec.evictability or in arguments of strategies, and that do not exist. The
/// plan continues.
struct UnknownNamespaces {
  api::FieldErrors included;  ///< match nothing, so the policy may do less than intended
  api::FieldErrors excluded;  ///< harmless, because there is nothing to exclude
};
/// Returns an empty result if the snapshot has no Namespace objects (a dump of pods and nodes), because nothing is
/// known.
UnknownNamespaces unknown_namespaces(const PlanSpec& spec, const scheduling::ClusterSnapshot& cluster);

}  // namespace planner
