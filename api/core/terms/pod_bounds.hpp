#pragma once

/// Bounds on the lists of a pod. Planning compares these lists with those of other pods and with all nodes, so one pod
/// with a very long list would stall planning for all pods.

#include "api/core/kinds.hpp"

namespace api {

/// Cost of comparing the term with one pod: 1, plus 1 for every 16 values, keys and namespaces in it.
std::size_t weight_of(const PodAffinityTerm& term);
/// Sum of weight_of() over all pod (anti-)affinity terms, required and preferred.
std::size_t pod_term_weight(const Affinity& affinity);
/// Sum of weight_of() over the terms that reach beyond namespace `ns`: by naming another namespace or by a namespace
/// selector.
std::size_t foreign_term_weight(const Affinity& affinity, std::string_view ns);
/// Sum over all node affinity terms: 1 for every 16 values and keys.
std::size_t node_term_weight(const Affinity& affinity);
/// Returns true if the term compares the pod's own labels with those of others (matchLabelKeys, mismatchLabelKeys).
bool compares_labels(const PodAffinityTerm& term);
bool compares_labels(const Affinity& affinity);

/// Value of Pod::oversized if all pods of the namespace together have too many affinity terms.
inline constexpr std::string_view kTermsOfNamespace = "spec.affinity of all pods of its namespace";

/// If a list of the pod is too long, sets `oversized` and removes affinity, tolerations and spread constraints. Never
/// removes containers, volumes or ports, because they determine what other pods can use.
void limit_lists(Pod& pod);
/// Returns true if limit_lists() would change the pod. Cheap: does not count the parts of terms.
bool exceeds_list_limits(const Pod& pod);
/// Removes affinity, tolerations and spread constraints, and sets `oversized` to `why`.
void drop_terms(Pod& pod, std::string_view why);

}  // namespace api
