#pragma once

/// Hashes of what decides a pod's placement, by value and of all its parts. They differ from process to process, so
/// a tenant cannot prepare terms that collide.

#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "api/core/kinds.hpp"

namespace api {

std::size_t hash_of(const PodAffinityTerm& term);
std::size_t hash_of(const TopologySpreadConstraint& constraint);
std::size_t hash_of(const std::vector<Toleration>& tolerations);
std::size_t hash_of(const Affinity& affinity);

/// Gives equal affinities one address: the decoder's pool shares most of them, but not all. One thread.
class EqualAffinities {
 public:
  /// The first affinity asked for that is equal. REQUIRES: all of them outlive this object.
  const Affinity* first_equal(const Affinity* affinity);

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
