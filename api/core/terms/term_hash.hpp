#pragma once

/// Hashes by value of everything that determines a pod's placement. The seed differs between processes, so that tenants
/// cannot prepare colliding terms.

#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "api/core/kinds.hpp"

namespace api {

std::size_t hash_of(const PodAffinityTerm& term);
std::size_t hash_of(const TopologySpreadConstraint& constraint);
std::size_t hash_of(const std::vector<Toleration>& tolerations);
std::size_t hash_of(const Affinity& affinity);

/// Maps equal affinities to one address. The decoder's pool shares most affinities, but not all. Not thread-safe.
class EqualAffinities {
 public:
  /// Returns the first affinity passed that equals `affinity`. All affinities must outlive this object.
  const Affinity* intern(const Affinity* affinity);

 private:
  struct Hash {
    std::size_t operator()(const Affinity* affinity) const { return hash_of(*affinity); }
  };
  struct Equal {
    bool operator()(const Affinity* a, const Affinity* b) const { return *a == *b; }
  };
  std::unordered_map<const Affinity*, const Affinity*> known_;
  std::unordered_set<const Affinity*, Hash, Equal> distinct_;
};

}  // namespace api
