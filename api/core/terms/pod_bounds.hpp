#pragma once

/// Bounds on the lists of a pod. Planning compares them with the lists of other pods and with all nodes, so one pod
/// with a very long list would stop the planning of all other pods.

#include "api/core/kinds.hpp"

namespace api {

/// Pod (anti-)affinity terms, required and preferred ones.
std::size_t pod_term_count(const Affinity& affinity);
/// Number of terms that, for a pod of namespace `ns`, name another namespace or select namespaces by labels.
std::size_t foreign_term_count(const Affinity& affinity, std::string_view ns);

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
