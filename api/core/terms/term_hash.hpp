#pragma once

/// Hashes of what decides a pod's placement, by value and of all its parts. They differ from process to process, so
/// a tenant cannot prepare terms that collide.

#include <cstddef>

#include "api/core/kinds.hpp"

namespace api {

std::size_t hash_of(const PodAffinityTerm& term);
std::size_t hash_of(const TopologySpreadConstraint& constraint);
std::size_t hash_of(const std::vector<Toleration>& tolerations);
std::size_t hash_of(const Affinity& affinity);

}  // namespace api
