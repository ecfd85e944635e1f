#pragma once

/// Bounds on the affinity terms of all pods. Pure functions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scheduling {

/// Maximum weight (api::pod_term_weight()) of the pod (anti-)affinity terms in a cluster that planning considers. Pods
/// of one namespace with equal affinity count once, or once per label set if a term compares labels. Real clusters have
/// a few terms per workload.
inline constexpr std::size_t kMaxTermsInCluster = std::size_t{1} << 16;
/// Maximum weight of considered terms that select pods of other namespaces. These are compared with the labels of the
/// whole cluster.
inline constexpr std::size_t kMaxForeignTerms = 2048;

/// Weight of terms per namespace that is never ignored, regardless of how many namespaces share a bound.
inline constexpr std::size_t kMinTermsOfNamespace = 8;

/// Weight of the terms that pods of one namespace with equal affinity have.
struct TermUse {
  std::uint32_t ns;
  std::size_t terms;
};

/// Returns the positions in `uses` to ignore, in ascending order, so that the rest has a weight of at most `max`.
/// Namespaces share `max` evenly, but each has at least kMinTermsOfNamespace, so that namespaces with few terms lose
/// none. A namespace above its share loses its last uses.
std::vector<std::size_t> beyond_share(std::span<const TermUse> uses, std::size_t max);

}  // namespace scheduling
