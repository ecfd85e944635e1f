#pragma once

/// Bounds on the lists of a pod. Planning compares them with the lists of other pods and with all nodes, so one pod
/// with a very long list would stop the planning of all other pods.

#include "api/core/kinds.hpp"

namespace api {

/// What comparing the term with one pod costs: 1, and 1 more for every 16 values, keys and namespaces in it.
std::size_t weight_of(const PodAffinityTerm& term);
/// Sum over all pod (anti-)affinity terms, required and preferred ones.
std::size_t pod_term_weight(const Affinity& affinity);
/// Sum over the terms that, for a pod of namespace `ns`, name another namespace or select namespaces by labels.
std::size_t foreign_term_weight(const Affinity& affinity, std::string_view ns);
/// Sum over all node affinity terms: 1 for every 16 values and keys.
std::size_t node_term_weight(const Affinity& affinity);
/// A term compares the pod's own labels with those of others (matchLabelKeys, mismatchLabelKeys).
bool compares_labels(const PodAffinityTerm& term);
bool compares_labels(const Affinity& affinity);

/// Pod::oversized of a pod whose namespace has too many affinity terms in all its pods.
inline constexpr std::string_view kTermsOfNamespace = "spec.affinity of all pods of its namespace";

/// Sets `oversized` if a list of the pod is too long, and drops its affinity, tolerations and spread constraints then.
/// Keeps containers, volumes and ports however many they are: what other pods can have depends on them.
void limit_lists(Pod& pod);
/// True if limit_lists() would change the pod. Cheap: it does not count the parts of terms.
bool has_too_long_lists(const Pod& pod);
/// The pod without its affinity, tolerations and spread constraints, and `oversized` set to `why`.
void drop_terms(Pod& pod, std::string_view why);

}  // namespace api
